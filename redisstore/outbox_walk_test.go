package redisstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// An outboxWalk ends jobs in some partitions, which others follow in other queues, while several carriers take single steps. Each call may be sent again
// much later. What it expects is a count for each job that follows: how often it was added in what its target has now.
type outboxWalk struct {
	*bench
	random   *rand.Rand
	mode     outboxMode
	now      time.Time
	ended    map[protocol.Partition]map[string]protocol.Partition // source → ID of what follows, in the source's present history → its target
	added    map[protocol.Partition]map[string]int                // target → ID → how often it was added, in the target's present history
	carriers []map[[2]protocol.Partition]*outboxTrip
	late     []func() // copies of calls
	saved    map[protocol.Partition]savedSlot
	jobs     int
	notes    []string
}

// An outboxTrip is what a carrier knows of a line.
type outboxTrip struct {
	mark  string
	asked time.Time
	batch protocol.OutboxBatch
}

// A savedSlot is an earlier state of a partition, with what was expected then.
type savedSlot struct {
	at    time.Time
	slot  slotSnapshot
	ended map[string]protocol.Partition
	added map[string]int
}

type outboxMode int

const (
	nothingGoesBack outboxMode = iota // the clock may step, and queues are deleted
	targetsGoBack                     // by less than a minute
	sourcesGoBack
)

var outboxQueues = []string{"one", "two", "three"}

// Without a loss every job is added exactly once. If a target goes back by less than a minute, every job is in it in the end, once. If a source goes back,
// every job that follows an end which it still has is added, some of them twice.
func TestRandomStepsOfCarriersAddEachJob(t *testing.T) {
	seeds, steps := storesuite.WalkSize(9, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls|settableClock|repairing, func(b *bench) {
			b.use(newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"one": 2, "two": 2, "three": 2}}))
			w := &outboxWalk{
				bench: b, random: rand.New(rand.NewPCG(seed, 33)), mode: outboxMode(seed % 3), now: b.serverTime(),
				ended: map[protocol.Partition]map[string]protocol.Partition{}, added: map[protocol.Partition]map[string]int{}, saved: map[protocol.Partition]savedSlot{},
			}
			for range 3 {
				w.carriers = append(w.carriers, map[[2]protocol.Partition]*outboxTrip{})
			}
			for _, p := range w.partitions() {
				w.ended[p], w.added[p] = map[string]protocol.Partition{}, map[string]int{}
				if _, err := b.store.Partitions(b.Context(), p.Queue); err != nil {
					b.Fatal(err)
				}
			}
			for step := range steps {
				w.step()
				if step%100 == 99 {
					w.verify(seed, step)
					w.rest()
					w.compare(seed, step)
					w.verify(seed, step)
				}
				if t.Failed() {
					t.Logf("seed %d, mode %d, the last steps:\n%s", seed, w.mode, strings.Join(w.notes[max(0, len(w.notes)-60):], "\n"))
					return
				}
			}
		})
	}
}

func (w *outboxWalk) partitions() (all []protocol.Partition) {
	for _, queue := range outboxQueues {
		all = append(all, protocol.Partition{Queue: queue}, protocol.Partition{Queue: queue, Index: 1})
	}
	return all
}

func (w *outboxWalk) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

func (w *outboxWalk) fatal(err error) {
	w.Helper()
	if err != nil && !errors.Is(err, errStopped) {
		w.Fatal(err)
	}
}

// goingBack returns the queue whose partitions go back. It is only a target, or only a source, because a partition that is both loses what it has taken.
func (w *outboxWalk) goingBack() string {
	switch w.mode {
	case targetsGoBack:
		return "three"
	case sourcesGoBack:
		return "one"
	}
	return ""
}

// line returns a random source and one of its targets: a job and those that follow it are in partitions with the same index.
func (w *outboxWalk) line() (source, target protocol.Partition) {
	for {
		index, order := w.random.IntN(2), w.random.Perm(3)
		source, target = protocol.Partition{Queue: outboxQueues[order[0]], Index: index}, protocol.Partition{Queue: outboxQueues[order[1]], Index: index}
		if goes := w.goingBack(); goes == "" || (w.mode != targetsGoBack || source.Queue != goes) && (w.mode != sourcesGoBack || target.Queue != goes) {
			return source, target
		}
	}
}

func (w *outboxWalk) step() {
	source, target := w.line()
	switch n := w.random.IntN(100); {
	case n < 25:
		w.end(source, target.Queue)
	case n < 35:
		w.address(source)
	case n < 55:
		w.advanceTrip(w.carriers[w.random.IntN(3)], source, target)
	case n < 75:
		w.carryTrip(w.carriers[w.random.IntN(3)], source, target)
	case n < 80 && len(w.late) > 0:
		at := w.random.IntN(len(w.late))
		w.note("a copy of call %d", at)
		w.late[at]()
	case n < 82:
		w.runJobs(target)
	case n < 85:
		w.block(source, target)
	case n < 90:
		w.passTime()
	case n < 97 && w.mode != nothingGoesBack:
		p := protocol.Partition{Queue: w.goingBack(), Index: source.Index}
		if n < 94 {
			w.saved[p] = w.save(p)
		} else {
			w.goBackTo(p)
		}
	default:
		w.deleteQueue(source.Queue)
	}
}

// block notes that a line is blocked, or is not blocked any more.
func (w *outboxWalk) block(source, target protocol.Partition) {
	line := []string{target.Queue, target.Path(), target.Path()}[w.random.IntN(3)]
	w.fatal(w.store.BlockOutbox(w.Context(), source, line, time.Minute, []string{"refused", "refused", "refused", ""}[w.random.IntN(4)]))
}

// end ends a job of a source, once or twice, and another one follows it.
func (w *outboxWalk) end(source protocol.Partition, queue string) {
	id := ""
	for id == "" || protocol.PartitionOf(id, 2) != source.Index {
		w.jobs++
		id = fmt.Sprint("j", w.jobs)
	}
	session := "s" + id
	item := protocol.EnqueueItem{ID: id, Body: []byte("\x01" + id)}
	w.fatal(w.store.Enqueue(w.Context(), []protocol.EnqueueCall{{Partition: source, Caller: "e" + id, Number: 1, Items: []protocol.EnqueueItem{item}}})[0].Err)
	call := protocol.WorkCall{Partition: source, Worker: "w", Session: session, Number: 1, TTL: time.Hour, Take: 500}
	taken := w.store.Work(w.Context(), []protocol.WorkCall{call})[0]
	w.fatal(taken.Err)
	settle := protocol.WorkCall{Partition: source, Worker: "w", Session: session, Number: 2, TTL: time.Hour}
	for _, job := range taken.Taken { // others are jobs that were carried here: they run
		s := protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone}
		if job.ID == id {
			s.Follower = &protocol.Follower{Body: []byte("\x01follows"), Queue: queue}
			follows := protocol.FollowerID(id, protocol.EndDone, job.Fence, "")
			w.ended[source][follows] = protocol.Partition{Queue: queue, Index: source.Index}
			w.note("%s ends in %s: %s follows in %s", id, source.Path(), follows, queue)
		}
		settle.Settle = append(settle.Settle, s)
	}
	for range 1 + w.random.IntN(2) {
		w.fatal(w.store.Work(w.Context(), []protocol.WorkCall{settle})[0].Err)
	}
	w.fatal(w.store.CloseSession(w.Context(), source, session, nil))
}

// runJobs ends all jobs of a partition, so that a second one of the same ID would be added.
func (w *outboxWalk) runJobs(p protocol.Partition) {
	w.jobs++
	session := fmt.Sprint("r", w.jobs)
	call := protocol.WorkCall{Partition: p, Worker: "w", Session: session, Number: 1, TTL: time.Hour, Take: 500}
	taken := w.store.Work(w.Context(), []protocol.WorkCall{call})[0]
	w.fatal(taken.Err)
	if len(taken.Taken) == 0 {
		return
	}
	settle := protocol.WorkCall{Partition: p, Worker: "w", Session: session, Number: 2, TTL: time.Hour}
	for _, job := range taken.Taken {
		settle.Settle = append(settle.Settle, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone})
	}
	w.fatal(w.store.Work(w.Context(), []protocol.WorkCall{settle})[0].Err)
	w.fatal(w.store.CloseSession(w.Context(), p, session, nil))
	w.note("%d jobs of %s have run", len(taken.Taken), p.Path())
}

// address puts some of the first entries of a source into the lines of their targets.
func (w *outboxWalk) address(source protocol.Partition) {
	lines, err := w.store.ReadOutbox(w.Context(), source, "")
	w.fatal(err)
	for _, line := range lines.Lines {
		if len(line.Members) == 0 {
			continue
		}
		var to []protocol.Addressed
		for _, member := range line.Members[:1+w.random.IntN(len(line.Members))] {
			to = append(to, protocol.Addressed{Member: member, Index: source.Index})
		}
		send := func() {
			n, err := w.store.AddressOutbox(w.Context(), source, line.Line, to)
			w.note("addressed %d of %d in %s for %s: %v", n, len(to), source.Path(), line.Line, err)
		}
		send()
		w.late = append(w.late, send)
	}
}

func (w *outboxWalk) trip(carrier map[[2]protocol.Partition]*outboxTrip, source, target protocol.Partition) *outboxTrip {
	key := [2]protocol.Partition{source, target}
	if carrier[key] == nil {
		carrier[key] = &outboxTrip{}
	}
	return carrier[key]
}

// advanceTrip notes the mark that a carrier has, and reads what it carries next.
func (w *outboxWalk) advanceTrip(carrier map[[2]protocol.Partition]*outboxTrip, source, target protocol.Partition) {
	trip := w.trip(carrier, source, target)
	mark, asked, want := trip.mark, trip.asked, 1+w.random.IntN(4)
	send := func() (batch protocol.OutboxBatch) {
		for range 50 {
			var err error
			if batch, err = w.store.AdvanceOutbox(w.Context(), source, target, mark, asked, want); err != nil {
				w.fatal(err)
			}
			if !batch.Again {
				break
			}
		}
		w.note("advanced %s for %s with %q: after %q, %d entries, left %v, lost %v", source.Path(), target.Path(), mark, batch.After, len(batch.Entries), batch.Left, batch.Lost)
		return batch
	}
	trip.batch = send()
	trip.mark, trip.asked = "", time.Time{}
	w.late = append(w.late, func() { send() })
}

// carryTrip carries what a carrier has read, or asks for the mark.
func (w *outboxWalk) carryTrip(carrier map[[2]protocol.Partition]*outboxTrip, source, target protocol.Partition) {
	trip := w.trip(carrier, source, target)
	batch := trip.batch
	trip.batch = protocol.OutboxBatch{}
	if batch.After == "" {
		batch.Entries = nil
	}
	send := func() string {
		before := w.jobsOf(target, batch.Entries)
		answer, err := w.store.Carry(w.Context(), source, target, batch.After, batch.Entries)
		w.fatal(err)
		w.note("carried %d from %s to %s after %q: %+v", len(batch.Entries), source.Path(), target.Path(), batch.After, answer)
		for id := range w.jobsOf(target, batch.Entries) {
			if !before[id] {
				w.added[target][id]++
			}
		}
		return answer.Mark
	}
	mark := send()
	w.late = append(w.late, func() { send() })
	if w.random.IntN(4) > 0 { // else its answer is lost
		trip.mark, trip.asked = mark, batch.Now
	}
}

func (w *outboxWalk) jobsOf(p protocol.Partition, entries []protocol.OutboxEntry) map[string]bool {
	found, k := map[string]bool{}, w.store.keys.partition(p)
	for _, e := range entries {
		if w.client.HExists(w.Context(), k.jobs, e.ID).Val() {
			found[e.ID] = true
		}
	}
	return found
}

// passTime moves the clock: by up to a few seconds, and if nothing goes back, also far, in both directions.
func (w *outboxWalk) passTime() {
	by := time.Duration(w.random.IntN(3000)) * time.Millisecond
	if w.mode == nothingGoesBack {
		by = []time.Duration{by, time.Minute, -time.Hour, 2 * time.Hour}[w.random.IntN(4)]
	}
	w.now = w.now.Add(by)
	w.SetClock(w.now)
	w.note("the clock moves by %v", by)
}

func (w *outboxWalk) isOf(p protocol.Partition) func(key string) bool {
	prefix := w.store.keys.partition(p).prefix
	return func(key string) bool { return strings.HasPrefix(key, prefix) }
}

func (w *outboxWalk) save(p protocol.Partition) savedSlot {
	w.note("%s is saved", p.Path())
	return savedSlot{w.now, w.slotSnapshot(w.isOf(p)), maps.Clone(w.ended[p]), maps.Clone(w.added[p])}
}

// goBackTo brings a partition back to an earlier state. As a target it loses what was added since, as a source what has ended since: each only in its mode.
func (w *outboxWalk) goBackTo(p protocol.Partition) {
	saved, ok := w.saved[p]
	delete(w.saved, p)
	if !ok || w.now.Sub(saved.at) > 50*time.Second {
		return
	}
	w.note("%s goes back", p.Path())
	w.bench.goBack(w.isOf(p), saved.slot)
	w.ended[p], w.added[p] = saved.ended, saved.added
}

func (w *outboxWalk) deleteQueue(queue string) {
	if w.mode != nothingGoesBack {
		return
	}
	for index := range 2 {
		w.runJobs(protocol.Partition{Queue: queue, Index: index})
	}
	remains, err := w.store.DeleteQueue(w.Context(), queue)
	if errors.Is(err, protocol.ErrNotFound) {
		return
	}
	w.fatal(err)
	w.note("%s deleted, unless it has %v", queue, remains)
}

// rest carries everything.
func (w *outboxWalk) rest() {
	carrier := map[[2]protocol.Partition]*outboxTrip{}
	for range 3 { // what one has may be for another one that is read later
		for _, source := range w.partitions() {
			for {
				lines, err := w.store.ReadOutbox(w.Context(), source, "")
				w.fatal(err)
				if !slices.ContainsFunc(lines.Lines, func(line protocol.OutboxLine) bool { return len(line.Members) > 0 }) {
					break
				}
				w.address(source)
			}
			for _, queue := range outboxQueues {
				target := protocol.Partition{Queue: queue, Index: source.Index}
				if target == source {
					continue
				}
				trip := w.trip(carrier, source, target)
				for turn := 0; ; turn++ {
					answer, err := w.store.Carry(w.Context(), source, target, "", nil)
					w.fatal(err)
					trip.mark, trip.asked = answer.Mark, time.Time{}
					w.advanceTrip(carrier, source, target)
					if len(trip.batch.Entries) == 0 {
						break
					}
					w.carryTrip(carrier, source, target)
					if turn > 1000 {
						w.Fatalf("the line from %s to %s does not come to rest", source.Path(), target.Path())
					}
				}
			}
		}
	}
}

// verify finds nothing in the outboxes but lines that are blocked and have entries.
func (w *outboxWalk) verify(seed uint64, step int) {
	for _, f := range w.Verify(false) {
		if f.Kind == protocol.FoundOutbox && !strings.Contains(f.Detail, "refused") {
			w.Errorf("seed %d, step %d: found %+v", seed, step, f)
		}
	}
}

// compare compares what was added with what was expected.
func (w *outboxWalk) compare(seed uint64, step int) {
	for source, ended := range w.ended {
		k := w.store.keys.partition(source)
		if n := w.client.ZCard(w.Context(), k.outbox).Val(); n > 0 {
			w.Errorf("seed %d, step %d: %d entries wait in %s", seed, step, n, source.Path())
		}
		if values, kept := w.client.HLen(w.Context(), k.outgoing).Val(), w.client.ZCard(w.Context(), k.delivered).Val(); values != kept {
			w.Errorf("seed %d, step %d: %s has %d values of %d entries", seed, step, source.Path(), values, kept)
		}
		for _, field := range w.client.HKeys(w.Context(), k.carried).Val() {
			if strings.HasPrefix(field, "!") {
				w.Errorf("seed %d, step %d: %s has the note %s, and no entry waits", seed, step, source.Path(), field)
			}
		}
		for id, target := range ended {
			if n := w.added[target][id]; n < 1 || n > 1 && w.mode != sourcesGoBack {
				w.Errorf("seed %d, step %d: %s, which follows in %s, was added %d times, want once", seed, step, id, target.Path(), n)
			}
		}
	}
}
