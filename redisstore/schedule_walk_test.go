package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A scheduleWalk makes random calls of three workers about schedules of each overlap policy, some ordinary jobs among them,
// and records what must hold.
type scheduleWalk struct {
	*bench
	random   *rand.Rand
	policies map[string]string // by schedule
	revision map[string]int64
	last     map[string]time.Time // placed, of each schedule
	placed   map[string]bool      // occurrences
	began    map[string]bool      // those taken as new ones
	bodies   map[string]string    // of those that got one
	held     map[string]map[string]protocol.TakenJob
	lives    map[string]int    // of each worker: its sessions so far
	ended    map[string]string // job → how the walk ended it
	jobs     int
}

// Whatever is called in whatever order, repeated or interrupted: each placed occurrence is new at most once and ends in one way,
// which the record of runs has; a schedule whose runs may not overlap has at most one in flight, the one named in open; runs that
// did not happen are given back; and no key keeps anything.
func TestRandomCallsEndEachOccurrenceOnce(t *testing.T) {
	for seed := range uint64(6) {
		onEveryServer(t, func(b *bench) {
			w := &scheduleWalk{
				bench: b, random: rand.New(rand.NewPCG(seed, 2)),
				policies: map[string]string{}, revision: map[string]int64{}, last: map[string]time.Time{},
				placed: map[string]bool{}, began: map[string]bool{}, bodies: map[string]string{},
				held: map[string]map[string]protocol.TakenJob{}, lives: map[string]int{}, ended: map[string]string{},
			}
			w.begin()
			for range 200 {
				w.step()
			}
			w.drain()
		})
	}
}

func (w *scheduleWalk) begin() {
	for i, policy := range []string{"allow", "skip", "wait", "cancel", "skip", "wait"} {
		name := fmt.Sprintf("%s%d", policy, i)
		w.policies[name], w.last[name] = policy, ago(5*time.Hour)
		w.revision[name] = w.scheduled(name, policy, w.last[name]).Revision
		w.placed[occurrenceID(name, w.last[name])] = true
	}
}

func (w *scheduleWalk) step() {
	worker := fmt.Sprintf("w%d", w.random.IntN(3))
	switch w.random.IntN(8) {
	case 0, 1:
		w.placeSome(false)
	case 2:
		w.hurry()
	case 3:
		w.crash(worker)
	case 4:
		w.jobs++
		w.enqueue(job(fmt.Sprintf("job%05d", w.jobs)))
	default:
		w.call(worker, false, 0)
	}
	w.check()
}

// placeSome places the next one to three occurrences of schedules that are owed some, all of them due.
func (w *scheduleWalk) placeSome(all bool) {
	names := w.client.ZRange(w.Context(), w.keys().owed, 0, -1).Val()
	found, err := w.store.Find(w.Context(), names)
	if err != nil {
		w.Fatal(err)
	}
	for i, name := range names {
		if !all && w.random.IntN(2) == 0 {
			continue
		}
		var at []time.Time
		for range 1 + w.random.IntN(3) {
			w.last[name] = w.last[name].Add(time.Second)
			at = append(at, w.last[name])
			w.placed[occurrenceID(name, w.last[name])] = true
		}
		owed := protocol.Owed{Partition: defaultPartition, Name: name, Cursor: found[i].Cursor}
		if placed := w.place(owed, w.revision[name], 0, at...); placed.Placed != len(at) {
			w.Fatalf("%s is owed but placed %+v, want %d", name, placed, len(at))
		}
	}
}

// hurry makes due what is delayed, retries among it.
func (w *scheduleWalk) hurry() {
	for _, id := range w.client.ZRange(w.Context(), w.keys().due, 0, -1).Val() {
		w.client.ZAdd(w.Context(), w.keys().due, redisZ(float64(ago(time.Minute).UnixMilli()+int64(w.random.IntN(5))), id))
	}
}

// session is the one that a worker has now.
func (w *scheduleWalk) session(worker string) string {
	return fmt.Sprintf("%s-%d", worker, w.lives[worker])
}

// crash lets a worker's session lapse and has it reaped.
func (w *scheduleWalk) crash(worker string) {
	w.call(worker, false, time.Millisecond)
	session := w.session(worker)
	if w.numbers[session] == 0 {
		return // it has never held a job
	}
	lapsed := w.untilLapsed()
	w.want("lapsed", lapsed.Session, session)
	w.reap(lapsed, w.random.Int64N(1000))
	delete(w.held, session)
	w.lives[worker]++
}

// call settles some of what a worker holds and takes more, and makes the same call again now and then.
func (w *scheduleWalk) call(worker string, draining bool, ttl time.Duration) {
	session := w.session(worker)
	held := w.held[session]
	if held == nil {
		held = map[string]protocol.TakenJob{}
		w.held[session] = held
	}
	call := protocol.WorkCall{Take: w.random.IntN(8), Sleep: w.random.IntN(2) == 0, TTL: ttl}
	call.Ahead = w.random.IntN(call.Take + 1)
	if draining || w.random.IntN(2) == 0 {
		call.Serve = walkParks
	}
	for _, job := range held {
		if draining || w.random.IntN(2) == 0 {
			call.Settle = append(call.Settle, w.settlement(job, draining))
		}
	}
	answer := w.work(session, call)
	if len(answer.Refused) > 0 {
		w.Fatalf("refused %v of %+v", answer.Refused, call.Settle)
	}
	if w.numbers[session] > 0 && w.random.IntN(3) == 0 {
		w.checkRepeated(call, answer, w.repeat(session, call))
	}
	for _, s := range call.Settle {
		delete(held, s.ID)
		if s.Kind == protocol.SettleDone || s.Kind == protocol.SettleDead || s.Kind == protocol.SettleMissed {
			w.ended[s.ID] = string(rune(s.Kind))
		} else if len(s.Body) > 0 {
			w.bodies[s.ID] = string(s.Body)
		}
	}
	for _, job := range answer.Taken {
		w.checkTaken(job)
		held[job.ID] = job
	}
}

// checkRepeated checks that a repeated call takes the same jobs and names only schedules that are owed.
func (w *scheduleWalk) checkRepeated(call protocol.WorkCall, first, again protocol.WorkAnswer) {
	if fmt.Sprint(again.Taken) != fmt.Sprint(first.Taken) || again.Err != nil {
		w.Fatalf("repeated %+v: %v, took %+v, want %+v", call, again.Err, again.Taken, first.Taken)
	}
	names := w.client.ZRange(w.Context(), w.keys().owed, 0, -1).Val()
	for _, owed := range again.Owed {
		if !slices.Contains(names, owed.Name) {
			w.Fatalf("a repeated call says that %s is owed; owed are %v", owed.Name, names)
		}
	}
}

// checkTaken checks a job that was just taken.
func (w *scheduleWalk) checkTaken(job protocol.TakenJob) {
	name, _, occurrence := strings.Cut(job.ID, "@")
	switch {
	case w.ended[job.ID] != "":
		w.Fatalf("%s was taken after its end (%s)", job.ID, w.ended[job.ID])
	case !occurrence:
		if string(job.Body) != "\x01"+job.ID && string(job.Body) != w.bodies[job.ID] || job.New {
			w.Fatalf("took %+v, want its body", job)
		}
	case !w.placed[job.ID]:
		w.Fatalf("%s was taken and never placed", job.ID)
	case string(job.Body) != w.bodies[job.ID]:
		w.Fatalf("%s came with the body %q, want %q", job.ID, job.Body, w.bodies[job.ID])
	case (job.Body == nil) != strings.Contains(string(job.Definition), `"job":"j"`):
		w.Fatalf("%s of %s came with the definition %q and the body %q", job.ID, name, job.Definition, job.Body)
	case job.New && w.began[job.ID]:
		w.Fatalf("%s is new a second time", job.ID)
	}
	if job.New {
		w.began[job.ID] = true
	}
}

func (w *scheduleWalk) settlement(job protocol.TakenJob, draining bool) protocol.Settlement {
	s := protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone}
	outcome, body := "done", []byte("\x01again "+job.ID)
	if !draining {
		switch w.random.IntN(10) {
		case 0, 1:
			s.Kind, s.Delay, s.Failed, s.Body, outcome = protocol.SettleLater, time.Duration(w.random.IntN(3000))*time.Microsecond, true, body, "failed"
		case 2:
			s.Kind, s.Delay, s.Body, outcome = protocol.SettleLater, time.Hour, body, "snoozed"
		case 3:
			s.Kind, outcome = protocol.SettleBack, ""
		case 4:
			s.Kind, s.Name, outcome = protocol.SettlePark, walkParks[w.random.IntN(2)], ""
		case 5:
			s.Kind, s.Failed, s.Body, outcome = protocol.SettleDead, true, body, "dead"
		case 6:
			if job.New {
				s.Kind, outcome = protocol.SettleMissed, "missed"
			}
		}
	}
	if strings.Contains(job.ID, "@") && outcome != "" {
		s.Run = &protocol.RunRecord{Started: time.Now(), Ended: time.Now(), Outcome: outcome}
	}
	return s
}

// check compares open with what the walk knows to be in flight, and owed with what it has placed: a schedule is in owed, or the
// occurrence at its cursor is in due and was not taken.
func (w *scheduleWalk) check() {
	open := w.client.HGetAll(w.Context(), w.keys().open).Val()
	inFlight := map[string]protocol.TakenJob{}
	for _, held := range w.held {
		for id, job := range held {
			name, _, occurrence := strings.Cut(id, "@")
			if !occurrence || w.policies[name] == "allow" {
				continue
			}
			if other, ok := inFlight[name]; ok {
				w.Fatalf("%s and %s are in flight together", id, other.ID)
			}
			inFlight[name] = job
		}
	}
	owed := w.client.ZRange(w.Context(), w.keys().owed, 0, -1).Val()
	for name := range w.policies {
		last := occurrenceID(name, w.last[name])
		untaken := w.client.ZScore(w.Context(), w.keys().due, last).Err() == nil &&
			!w.client.HExists(w.Context(), w.keys().jobs, last).Val() && !w.client.HExists(w.Context(), w.keys().crashes, last).Val()
		if untaken == slices.Contains(owed, name) {
			w.Fatalf("%s waits and was not taken: %v; owed are %v", last, untaken, owed)
		}
		job, ok := inFlight[name]
		if want := fmt.Sprintf("%s\t%d\t", job.ID, job.Fence); ok && !strings.HasPrefix(open[name], want) {
			w.Fatalf("%s is in flight, but open is %q, want %s…", job.ID, open[name], want)
		}
		if parts := strings.Split(open[name], "\t"); !ok && open[name] != "" && parts[1] != "0" && (parts[1] != "-" || parts[4] != "c") {
			w.Fatalf("nothing of %s is in flight, but open is %q", name, open[name])
		}
	}
}

// drain takes and ends all jobs, and compares what is left with what the walk recorded.
func (w *scheduleWalk) drain() {
	deadline := time.Now().Add(20 * time.Second)
	for {
		w.hurry()
		for _, worker := range []string{"w0", "w1", "w2"} {
			w.call(worker, true, 0)
			w.check()
		}
		s := w.stats()
		if s.Waiting+s.Delayed+s.Running+s.Parked == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.Fatalf("not drained: %+v", s)
		}
	}
	dead := 0
	for i := 1; i <= w.jobs; i++ {
		id := fmt.Sprintf("job%05d", i)
		if w.ended[id] == "" {
			w.Errorf("%s never ended", id)
		}
	}
	for _, how := range w.ended {
		if how == "x" {
			dead++
		}
	}
	keys := w.keys()
	if n := w.client.ZCard(w.Context(), keys.behind).Val(); n != 0 {
		w.Errorf("%d wait behind %v", n, w.client.ZRange(w.Context(), keys.behind, 0, -1).Val())
	}
	for key, want := range map[string]int{keys.open: 0, keys.crashes: 0, keys.jobs: dead} {
		if n := w.client.HLen(w.Context(), key).Val(); int(n) != want {
			w.Errorf("%s has %d fields %v, want %d", key, n, w.client.HKeys(w.Context(), key).Val(), want)
		}
	}
	w.compare()
}

// compare compares the record of runs and the counters with what was placed, begun and ended.
func (w *scheduleWalk) compare() {
	ends := map[string][]string{}
	for _, entry := range w.client.XRange(w.Context(), w.keys().runs, "-", "+").Val() {
		outcome := fmt.Sprint(entry.Values["outcome"])
		if outcome != "failed" && outcome != "snoozed" {
			id := fmt.Sprint(entry.Values["schedule"], "@", entry.Values["planned"])
			ends[id] = append(ends[id], outcome)
		}
	}
	counts := map[string]map[string]int64{}
	for name := range w.policies {
		counts[name] = map[string]int64{}
	}
	for id := range w.placed {
		name, _, _ := strings.Cut(id, "@")
		if len(ends[id]) != 1 {
			w.Errorf("%s ended as %v, want one end", id, ends[id])
			continue
		}
		outcome := ends[id][0]
		counts[name]["placed"]++
		counts[name][outcome]++
		if w.began[id] {
			counts[name]["started"]++
		}
		if own := map[string]string{"d": "done", "x": "dead", "m": "missed"}[w.ended[id]]; own != "" && own != outcome || own == "" && outcome != "skipped" && outcome != "superseded" {
			w.Errorf("%s ended as %s, and the walk ended it as %q", id, outcome, own)
		}
		if outcome == "superseded" && w.policies[name] != "cancel" {
			w.Errorf("%s was superseded under %s", id, w.policies[name])
		}
		if outcome == "skipped" && w.began[id] {
			w.Errorf("%s was skipped and begun", id)
		}
	}
	for name := range w.policies {
		found, err := w.store.Find(w.Context(), []string{name})
		if err != nil {
			w.Fatal(err)
		}
		f, c := found[0], counts[name]
		got := fmt.Sprint(f.Started, f.Skipped, f.Missed, f.Superseded, f.Cursor.Used)
		want := fmt.Sprint(c["started"], c["skipped"], c["missed"], c["superseded"], c["placed"]-c["skipped"]-c["missed"])
		w.want("started, skipped, missed, superseded, used of "+name, got, want)
	}
}
