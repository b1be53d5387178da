package redisstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// An openEntry is the stored entry of a schedule's flight.
type openEntry struct {
	id, fence, worker, session, policy, behind string
}

// free reports whether the entry lets the schedule's next occurrence run: it has no occurrence, or its occurrence waits for a retry.
func (e openEntry) free() bool { return e.id == "" || e.fence == "-" }

// A picture has the places of everything in the store between two calls.
type picture struct {
	// job or occurrence → due, ready, behind, dead, a session, "parked <name>"; absent: in no place. What waits in line for the turn of its group is
	// in due if it was not taken, else in ready: the same rules hold for it.
	where  map[string]string //
	due    map[string]float64
	held   map[string]string // fence, "-" before it: taken ahead
	open   map[string]openEntry
	behind map[string][]string // schedule → its occurrences behind, oldest first
	owed   map[string]float64
	found  map[string]protocol.Stored
	bodies map[string]string
	runs   map[string][]protocol.RunRecord // schedule → its history, the newest first
	days   map[string]dayCounts            // schedule → its days
	rest   string                          // other keys that a repeated call must not change
}

// passedOver is added to the score of a name in owed that waits for the end of a flight before its catch-up is placed.
const passedOver = 1 << 50

// look reads the store. An ID in two places ends the test.
func (w *scheduleWalk) look() *picture {
	w.Helper()
	ctx, keys, pipe := w.Context(), w.keys(), w.client.Pipeline()
	p := &picture{
		where: map[string]string{}, due: map[string]float64{}, held: map[string]string{}, open: map[string]openEntry{},
		behind: map[string][]string{}, owed: map[string]float64{}, found: map[string]protocol.Stored{},
	}
	due, owed := pipe.ZRangeWithScores(ctx, keys.due, 0, -1), pipe.ZRangeWithScores(ctx, keys.owed, 0, -1)
	ready, behind := pipe.LRange(ctx, keys.ready, 0, -1), pipe.ZRange(ctx, keys.prefix+"behind", 0, -1)
	dead, open := pipe.ZRange(ctx, keys.dead, 0, -1), pipe.HGetAll(ctx, keys.open)
	bodies, counters, crashes := pipe.HGetAll(ctx, keys.jobs), pipe.HGetAll(ctx, keys.counters), pipe.HGetAll(ctx, keys.crashes)
	definitions, cursors, runs := pipe.HGetAll(ctx, keys.schedules), pipe.HGetAll(ctx, keys.cursors), pipe.XLen(ctx, keys.runs)
	if _, err := pipe.Exec(ctx); err != nil {
		w.Fatal(err)
	}
	put := func(id, where string) {
		if before := p.where[id]; before != "" {
			w.fatal("%s is in %s and in %s", id, before, where)
		}
		p.where[id] = where
	}
	for _, z := range due.Val() {
		put(z.Member.(string), "due")
		p.due[z.Member.(string)] = z.Score
	}
	lined := w.client.ZRange(ctx, keys.line, 0, -1).Val()
	for _, member := range lined {
		id := lineID(member)
		if _, _, occurs := protocol.CutOccurrence(id); occurs && bodies.Val()[id] == "" && crashes.Val()[id] == "" {
			put(id, "due")
		} else {
			put(id, "ready")
		}
	}
	void := w.client.ZRange(ctx, keys.stale, 0, -1).Val()
	for _, id := range ready.Val() {
		if !slices.Contains(void, id) {
			put(id, "ready")
		}
	}
	for _, member := range behind.Val() {
		name, instant, _ := strings.Cut(member, "\t")
		put(name+"@"+instant, "behind")
		p.behind[name] = append(p.behind[name], name+"@"+instant)
	}
	for _, id := range dead.Val() {
		put(id, "dead")
	}
	for _, name := range storesuite.WalkParks {
		for _, id := range w.client.ZRange(ctx, keys.parked(name), 0, -1).Val() {
			put(id, "parked "+name)
		}
	}
	for session := range w.held {
		for id, fence := range w.client.HGetAll(ctx, keys.inflight(session)).Val() {
			if len(id) > 1 {
				put(id, session)
				p.held[id] = fence
			}
		}
	}
	for name, text := range open.Val() {
		fields := strings.Split(text, "\t")
		if len(fields) != 6 {
			w.fatal("open of %s is %q, want six fields", name, text)
		}
		p.open[name] = openEntry{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]}
	}
	for _, z := range owed.Val() {
		p.owed[z.Member.(string)] = z.Score
	}
	names := w.names()
	found, err := w.store.Find(ctx, names)
	if err != nil {
		w.Fatal(err)
	}
	for i, name := range names {
		p.found[name] = found[i]
	}
	p.bodies, p.runs, p.days = bodies.Val(), map[string][]protocol.RunRecord{}, map[string]dayCounts{}
	lasts, histories := w.client.HGetAll(ctx, keys.last).Val(), w.client.HGetAll(ctx, keys.history).Val()
	if broken := brokenHistories(histories); len(broken) > 0 {
		w.fatal("%s", strings.Join(broken, "\n"))
	}
	for name, text := range histories {
		if strings.Contains(name, "\t") {
			continue
		}
		entry := parseHistory(text)
		p.runs[name], p.days[name] = parseRuns(name, allRuns(histories, entry)), dayCounts{}
		p.runs[name] = p.runs[name][:min(len(p.runs[name]), keptRuns(lasts[name]))] // older ones of the same field may still be stored
		p.days[name].add(entry.days)
	}
	p.rest = fmt.Sprint(p.bodies, counters.Val(), crashes.Val(), definitions.Val(), cursors.Val(), runs.Val(), lasts, histories, ready.Val(), due.Val(), owed.Val(), open.Val(), behind.Val(), lined, w.client.HGetAll(ctx, keys.places).Val(),
		w.client.HGetAll(ctx, keys.groups).Val(), w.client.ZRange(ctx, keys.turns, 0, -1).Val())
	return p
}
