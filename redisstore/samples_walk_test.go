package redisstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A sampleWalk makes random calls and takes samples, and computes the expected sums itself.
type sampleWalk struct {
	*bench
	random  *rand.Rand
	made    int
	now     time.Time     // of miniredis; zero: another server, which has its own clock
	shifted time.Duration // there the records of samples are set back instead

	looked   time.Time        // the last sampled minute; zero: none
	first    map[string]int64 // the totals at the first sample
	measured map[string]int64 // the measurements that the store has accepted, by field and key
	minutes  map[string]map[string]int64
	hours    map[string]map[string]int64
	sent     map[string]*protocol.Measured // the last sent one of each session
	held     map[string][]protocol.TakenJob
	names    map[string]bool
}

// With any missed, repeated or lost calls and any steps of the clock: the changes in the entries are the changes of the totals, and the
// measurements are in them once.
func TestRandomSamplesContainEveryChangeOnce(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &sampleWalk{
				bench: b, random: rand.New(rand.NewPCG(seed, 11)), measured: map[string]int64{}, minutes: map[string]map[string]int64{}, hours: map[string]map[string]int64{},
				sent: map[string]*protocol.Measured{}, held: map[string][]protocol.TakenJob{}, names: map[string]bool{},
			}
			if b.SetClock != nil {
				w.now = time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
				w.SetClock(w.now)
			}
			for range steps {
				w.step()
				w.check()
			}
		})
	}
}

func (w *sampleWalk) step() {
	session := fmt.Sprint("s", w.random.IntN(3))
	switch n := w.random.IntN(20); {
	case n < 3:
		for range 1 + w.random.IntN(5) {
			w.made++
			w.Enqueue(storesuite.Job(fmt.Sprintf("job%05d", w.made)))
		}
	case n < 6:
		w.held[session] = append(w.held[session], w.Take(session, 1+w.random.IntN(3))...)
	case n < 9:
		w.settleOne(session)
	case n < 12:
		w.measure(session)
	case n == 12:
		w.close(session)
	case n == 13: // like the counts of place.lua and the others
		w.client.HIncrBy(w.Context(), w.keys().counters, "/skipped", int64(w.random.IntN(3)))
		w.client.HIncrBy(w.Context(), w.keys().counters, "/missed", int64(w.random.IntN(3)))
	case n < 16:
		w.pass(time.Duration(w.random.IntN(90)) * time.Second)
	case n == 16:
		w.pass(time.Duration([]int{5, 60, 200, 26 * 60}[w.random.IntN(4)]) * time.Minute)
	case n == 17 && w.SetClock != nil:
		w.pass(-time.Duration(w.random.IntN(300)) * time.Second)
	default:
		w.sample(1 + w.random.IntN(2))
	}
}

func (w *sampleWalk) settleOne(session string) {
	if len(w.held[session]) == 0 {
		return
	}
	taken := w.held[session][0]
	w.held[session] = w.held[session][1:]
	w.Settle(session, []protocol.Settlement{
		{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone},
		{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Failed: true, Body: []byte("\x01b"), Delay: time.Second},
		{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead, Failed: true, Body: []byte("\x01b")},
		{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleCancelled},
	}[w.random.IntN(4)])
}

// measure sends the measurements of a session, in a separate call: new ones, the last sent ones again, or both.
func (w *sampleWalk) measure(session string) {
	if w.Numbers[session] == 0 {
		return // it has not begun
	}
	last, alive := w.sent[session], w.client.ZScore(w.Context(), w.keys().sessions, session).Err() == nil
	if last == nil || w.random.IntN(3) > 0 {
		last = w.newMeasured(last)
		w.sent[session] = last
		if alive {
			w.count(last)
		}
	}
	for range 1 + w.random.IntN(2) {
		w.Work(session, protocol.WorkCall{Measured: last})
	}
}

func (w *sampleWalk) newMeasured(last *protocol.Measured) *protocol.Measured {
	m := &protocol.Measured{Number: 1}
	if last != nil {
		m.Number = last.Number + 1
	}
	for range w.random.IntN(4) {
		took := time.Duration(w.random.Int64N(int64(6 * time.Minute)))
		m.Run.Add(took)
		m.Wait.Add(took / 100)
		name := protocol.MeasuredName{Name: fmt.Sprint("job-", len(m.Names), w.random.IntN(100)), Done: 1, Failed: int64(w.random.IntN(2))}
		name.Run.Add(took)
		m.Names = append(m.Names, name)
	}
	return m
}

// count records the expected counts of the store.
func (w *sampleWalk) count(m *protocol.Measured) {
	add := func(field string, d *protocol.Durations) {
		for i, n := range d {
			w.measured[field+strconv.Itoa(i)] += n
		}
	}
	add("L", &m.Lateness)
	add("W", &m.Wait)
	add("R", &m.Run)
	for _, name := range m.Names {
		w.measured["nd"] += name.Done
		w.measured["nf"] += name.Failed
		add("n", &name.Run)
	}
}

// close ends a session with its last measurements. A later copy of them counts nothing, nor does a copy of an earlier call.
func (w *sampleWalk) close(session string) {
	if w.Numbers[session] == 0 || len(w.held[session]) > 0 {
		return
	}
	m := w.newMeasured(w.sent[session])
	if w.client.ZScore(w.Context(), w.keys().sessions, session).Err() == nil {
		w.count(m)
	}
	for range 2 {
		if err := w.store.CloseSession(w.Context(), storesuite.DefaultPartition, session, m); err != nil {
			w.Fatal(err)
		}
	}
	if before := w.sent[session]; before != nil {
		if err := w.store.run(w.Context(), w.client, w.store.measureCall(storesuite.DefaultPartition, session, before))[0].Err(); err != nil {
			w.Fatal(err)
		}
	}
	delete(w.Numbers, session)
	delete(w.sent, session)
	// sessions are used once; this one's name is reused, so that its number restarts
	w.client.ZRem(w.Context(), w.keys().callers, session)
}

// pass lets time pass, or steps the clock back. On a server with its own clock the records of samples are set back by whole hours.
func (w *sampleWalk) pass(d time.Duration) {
	if w.SetClock != nil {
		w.now = w.now.Add(d)
		w.SetClock(w.now)
		return
	}
	back := d.Truncate(time.Hour).Milliseconds()
	if back <= 0 {
		back = time.Hour.Milliseconds()
	}
	k := w.keys()
	for _, field := range []string{"minute", "since", "hour", "from"} {
		if w.client.HExists(w.Context(), k.sampled, field).Val() {
			w.client.HIncrBy(w.Context(), k.sampled, field, -back)
		}
	}
	for _, key := range []string{k.minutes, k.hours} {
		entries := w.client.XRange(w.Context(), key, "-", "+").Val()
		w.client.Del(w.Context(), key)
		for _, entry := range entries {
			ms, _ := strconv.ParseInt(strings.TrimSuffix(entry.ID, "-0"), 10, 64)
			if err := w.client.XAdd(w.Context(), &redis.XAddArgs{Stream: key, ID: fmt.Sprint(ms-back, "-0"), Values: entry.Values}).Err(); err != nil {
				w.Fatal(err)
			}
		}
	}
	w.shifted += time.Duration(back) * time.Millisecond
	w.looked = w.looked.Add(-time.Duration(back) * time.Millisecond)
}

// sample takes a sample, and repeats it at once, which does nothing.
func (w *sampleWalk) sample(missing int) {
	totals := w.totals()
	answer := w.store.Sample(w.Context(), []protocol.Partition{storesuite.DefaultPartition}, missing)[0]
	if answer.Err != nil {
		w.Fatal(answer.Err)
	}
	minute := answer.Now.Truncate(time.Minute).Add(-time.Minute)
	if w.SetClock != nil {
		minute = w.now.Truncate(time.Minute).Add(-time.Minute)
	}
	due := w.looked.IsZero() || minute.Sub(w.looked) >= time.Duration(missing)*time.Minute
	if answer.Taken != due {
		w.Fatalf("%v after the minute %v of the last sample, with %d missing, a sample is taken: %v", minute, w.looked, missing, answer.Taken)
	}
	if !due {
		return
	}
	if w.looked = minute; w.first == nil {
		w.first = totals
	}
	if again := w.store.Sample(w.Context(), []protocol.Partition{storesuite.DefaultPartition}, 1)[0]; again.Err != nil || again.Taken && w.SetClock != nil {
		w.Fatalf("the same minute again is taken: %v, %v", again.Taken, again.Err)
	}
	w.wantSums("the entries by the minute", w.sums(w.keys().minutes, w.minutes), totals)
}

func (w *sampleWalk) totals() map[string]int64 {
	s := w.Stats()
	counters := reply(w.client.HMGet(w.Context(), w.keys().counters, "/skipped", "/missed").Val())
	return map[string]int64{"e": s.Enqueued, "d": s.Done, "f": s.Failed, "r": s.Retried, "x": s.Died, "k": s.Cancelled, "s": counters.number(0), "m": counters.number(1)}
}

// sums adds up the changes in all entries that a stream ever had, which seen keeps by their minute, as they would be without shifting.
func (w *sampleWalk) sums(key string, seen map[string]map[string]int64) map[string]int64 {
	var last int64
	for _, entry := range w.client.XRange(w.Context(), key, "-", "+").Val() {
		ms, _ := strconv.ParseInt(strings.TrimSuffix(entry.ID, "-0"), 10, 64)
		if ms <= last {
			w.Fatalf("%s: entry %s comes after one of %d", key, entry.ID, last)
		}
		last = ms
		numbers := map[string]int64{}
		for field, value := range entry.Values {
			addEntry(numbers, field, value.(string))
		}
		id := fmt.Sprint(ms + w.shifted.Milliseconds())
		if before, known := seen[id]; known && !maps.Equal(before, numbers) {
			w.Fatalf("%s: entry %s was %v and is %v", key, entry.ID, before, numbers)
		}
		seen[id] = numbers
	}
	all := map[string]int64{}
	for _, numbers := range seen {
		for field, n := range numbers {
			all[field] += n
		}
	}
	return all
}

// addEntry adds a field of an entry.
func addEntry(to map[string]int64, field, text string) {
	if field != "M" {
		addField(to, field, text)
		return
	}
	for measured := strings.Split(text, "\t"); len(measured) > 1; measured = measured[2:] {
		addField(to, measured[0], measured[1])
	}
}

// addField adds a field of an entry or of the measurements: numbers by field, sums by field and key, those of all names together.
func addField(to map[string]int64, field, text string) {
	if field[0] == 'n' {
		field = "n"
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if strings.Contains("edfrxksmz", field) {
			to[field] += n
		}
		return
	}
	for sum := range strings.FieldsSeq(text) {
		key, number, _ := strings.Cut(sum, ":")
		n, _ := strconv.ParseInt(number, 10, 64)
		to[field+key] += n
	}
}

// wantSums checks that changes are those of the totals since the first sample.
func (w *sampleWalk) wantSums(what string, got, totals map[string]int64) {
	for _, field := range slices.Sorted(maps.Keys(totals)) {
		if want := totals[field] - w.first[field]; got[field] != want {
			w.Fatalf("%s have %d of %q, want %d", what, got[field], field, want)
		}
	}
}

// check verifies what always holds.
func (w *sampleWalk) check() {
	k := w.keys()
	minutes, hours := w.sums(k.minutes, w.minutes), w.sums(k.hours, w.hours)
	underWay, _ := w.client.HGet(w.Context(), k.sampled, "hour").Int64()
	for at, numbers := range w.minutes {
		ms, _ := strconv.ParseInt(at, 10, 64)
		if ms -= w.shifted.Milliseconds(); underWay > 0 && ms >= underWay {
			for field, n := range numbers {
				hours[field] += n
			}
		}
	}
	pending := maps.Clone(minutes)
	for field, text := range w.client.HGetAll(w.Context(), k.measured).Val() {
		if field != "names" {
			addField(pending, field, text)
		}
	}
	for field, n := range minutes {
		if hours[field] != n {
			w.Fatalf("the entries by the hour, and the current hour, have %d of %q, those by the minute %d", hours[field], field, n)
		}
	}
	for field, n := range w.measured {
		if pending[field] != n {
			w.Fatalf("the entries, and the pending changes, have %d of %q, want %d", pending[field], field, n)
		}
	}
	for _, entry := range w.client.XRange(w.Context(), k.hours, "-", "+").Val() {
		measured, _ := entry.Values["M"].(string)
		if names := strings.Count("\t"+measured, "\tn"); names > protocol.MaxMeasured+1 {
			w.Fatalf("the hour %s has %d names", entry.ID, names)
		}
	}
	if entries := w.client.XRange(w.Context(), k.minutes, "-", "+").Val(); len(entries) > 2 {
		second, _ := strconv.ParseInt(strings.TrimSuffix(entries[1].ID, "-0"), 10, 64)
		if old := w.looked.Add(-protocol.KeptMinutes - time.Hour); time.UnixMilli(second).Before(old) {
			w.Fatalf("the second entry is of %v, more than a day and two hours before %v", time.UnixMilli(second).UTC(), w.looked)
		}
	}
}
