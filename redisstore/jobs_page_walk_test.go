package redisstore

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A pageWalk moves jobs of a queue of several partitions at random while it reads the pages of one state, and records where each job is.
type pageWalk struct {
	*bench
	random     *rand.Rand
	partitions int
	base       time.Time // about which delayed jobs are due: far away

	jobs    map[string]*walkJob
	made    int
	calls   int64
	session map[string]*walkSession
}

type walkJob struct {
	state   string    // empty: it has ended
	moves   int       // how often it was moved, or put at its place again
	due     time.Time // of a delayed job with a known instant
	session string
	fence   int64
}

type walkSession struct {
	partition protocol.Partition
	number    int64
}

const wideQueue = "wide"

func newPageWalk(b *bench, seed uint64, partitions int) *pageWalk {
	b.use(newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{wideQueue: partitions}}))
	if n, err := b.store.Partitions(b.Context(), wideQueue); err != nil || n != partitions {
		b.Fatal(n, err)
	}
	return &pageWalk{
		bench: b, random: rand.New(rand.NewPCG(seed, 2)), partitions: partitions, base: b.serverTime().Add(time.Hour).Truncate(time.Second),
		jobs: map[string]*walkJob{}, session: map[string]*walkSession{},
	}
}

// in returns the IDs of the jobs in a state, in order.
func (w *pageWalk) in(state string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if w.jobs[id].state == state {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *pageWalk) move(id, state string) *walkJob {
	j := w.jobs[id]
	if j == nil {
		j = &walkJob{}
		w.jobs[id] = j
	}
	*j = walkJob{state: state, moves: j.moves + 1}
	return j
}

func (w *pageWalk) partitionOf(id string) protocol.Partition {
	return protocol.Partition{Queue: wideQueue, Index: protocol.PartitionOf(id, w.partitions)}
}

// step makes a random change, up to size times.
func (w *pageWalk) step(size int) {
	n := 1 + w.random.IntN(size)
	switch w.random.IntN(8) {
	case 0, 1:
		w.add(n)
	case 2, 3:
		w.take(n)
	case 4, 5:
		w.settle(n)
	case 6:
		w.again(n)
	case 7:
		w.vanish(n)
	}
}

// add enqueues new jobs, half of them for later, very many at the same instant.
func (w *pageWalk) add(n int) {
	for range n {
		w.made++
		w.enqueueOn(fmt.Sprintf("job%d", w.made), w.random.IntN(2) == 0)
	}
}

// again enqueues some ended jobs again.
func (w *pageWalk) again(n int) {
	ended := w.in("")
	for range min(n, len(ended)) {
		if id := ended[w.random.IntN(len(ended))]; w.jobs[id].state == "" {
			w.enqueueOn(id, w.random.IntN(2) == 0)
		}
	}
}

func (w *pageWalk) enqueueOn(id string, later bool) {
	item := storesuite.Own(id)
	state := protocol.JobWaiting
	if later {
		item.At = w.base.Add(time.Duration(w.random.IntN(3)) * time.Millisecond)
		state = protocol.JobDelayed
	}
	w.calls++
	answer := w.store.Enqueue(w.Context(), []protocol.EnqueueCall{{Partition: w.partitionOf(id), Caller: "walk", Number: w.calls, Items: []protocol.EnqueueItem{item}}})[0]
	if answer.Err != nil || answer.Existing[0] {
		w.Fatalf("enqueue %s: %+v", id, answer)
	}
	w.move(id, state).due = item.At
}

// take takes waiting and parked jobs in one of three sessions of a partition.
func (w *pageWalk) take(n int) {
	index := w.random.IntN(w.partitions)
	call := protocol.WorkCall{Take: n, Ahead: w.random.IntN(n + 1)}
	if w.random.IntN(3) == 0 {
		call.Serve = storesuite.WalkParks[:1+w.random.IntN(2)]
	}
	w.workOn(fmt.Sprintf("s%d-%d", index, w.random.IntN(3)), index, call)
}

// settle settles some jobs of a session, in every way.
func (w *pageWalk) settle(n int) {
	bySession := map[string][]string{}
	for _, state := range []string{protocol.JobRunning, protocol.JobTaken} {
		for _, id := range w.in(state) {
			bySession[w.jobs[id].session] = append(bySession[w.jobs[id].session], id)
		}
	}
	if len(bySession) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(bySession))
	name := names[w.random.IntN(len(names))]
	held := bySession[name]
	w.random.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	var call protocol.WorkCall
	for _, id := range held[:min(n, len(held))] {
		if w.jobs[id].state == protocol.JobTaken && w.random.IntN(2) == 0 {
			call.Begun = append(call.Begun, protocol.BegunJob{ID: id, Fence: w.jobs[id].fence})
			continue
		}
		s := protocol.Settlement{ID: id, Fence: w.jobs[id].fence, Kind: protocol.SettleDone}
		switch w.random.IntN(6) {
		case 0:
			s.Kind, s.Delay, s.Failed = protocol.SettleLater, 2*time.Hour, true
		case 1:
			s.Kind = protocol.SettleBack
		case 2, 3:
			s.Kind, s.Name = protocol.SettlePark, storesuite.WalkParks[w.random.IntN(2)]
		case 4:
			s.Kind = protocol.SettleDead
		}
		call.Settle = append(call.Settle, s)
	}
	w.workOn(name, w.session[name].partition.Index, call)
}

func (w *pageWalk) workOn(name string, index int, call protocol.WorkCall) {
	s := w.session[name]
	if s == nil {
		s = &walkSession{partition: protocol.Partition{Queue: wideQueue, Index: index}}
		w.session[name] = s
	}
	s.number++
	call.Partition, call.Worker, call.Session, call.Number, call.TTL = s.partition, "worker-"+name, name, s.number, time.Hour
	answer := w.store.Work(w.Context(), []protocol.WorkCall{call})[0]
	if answer.Err != nil || len(answer.Refused) > 0 {
		w.Fatalf("call of %s: %v, refused %v", name, answer.Err, answer.Refused)
	}
	if s.number == 1 && len(answer.Taken) == 0 {
		s.number = 0
	}
	for _, s := range call.Settle {
		w.move(s.ID, map[protocol.SettleKind]string{
			protocol.SettleLater: protocol.JobDelayed, protocol.SettleBack: protocol.JobWaiting, protocol.SettlePark: protocol.JobParked, protocol.SettleDead: protocol.JobDead,
		}[s.Kind])
	}
	for _, begun := range call.Begun {
		j := w.move(begun.ID, protocol.JobRunning)
		j.session, j.fence = name, begun.Fence
	}
	for _, taken := range answer.Taken {
		state := protocol.JobTaken
		if taken.Begun {
			state = protocol.JobRunning
		}
		j := w.move(taken.ID, state)
		j.session, j.fence = name, taken.Fence
	}
}

// vanish removes neighbours from the sorted sets, as a sweep or a manual edit does.
func (w *pageWalk) vanish(n int) {
	index := w.random.IntN(w.partitions)
	k := w.store.keys.partition(protocol.Partition{Queue: wideQueue, Index: index})
	key := []string{k.due, k.dead}[w.random.IntN(2)]
	size := int(w.client.ZCard(w.Context(), key).Val())
	if size == 0 {
		return
	}
	from := w.random.IntN(size)
	for _, id := range w.client.ZRange(w.Context(), key, int64(from), int64(from+n)).Val() {
		w.client.ZRem(w.Context(), key, id)
		w.client.HDel(w.Context(), k.jobs, id)
		w.move(id, "")
	}
}

// page reads a page and compares it with the present state.
func (w *pageWalk) page(call protocol.JobPageCall) protocol.JobPage {
	w.Helper()
	page, err := w.store.PageJobs(w.Context(), call)
	if err != nil {
		w.Fatalf("page of %s after %q: %v", call.State, call.After, err)
	}
	if len(page.Jobs) > call.Limit {
		w.Fatalf("a page of %s has %d jobs, want %d at most", call.State, len(page.Jobs), call.Limit)
	}
	for _, job := range page.Jobs {
		j := w.jobs[job.ID]
		switch {
		case j == nil || j.state != call.State || job.State != call.State:
			w.Fatalf("%s is shown as %s, and it is %+v", job.ID, call.State, j)
		case string(job.Body) != "\x01"+job.ID:
			w.Fatalf("%s comes with the body %q", job.ID, job.Body)
		case !j.due.IsZero() && !job.At.Equal(j.due):
			w.Fatalf("%s is due at %v, want %v", job.ID, job.At, j.due)
		case j.session != "" && (job.Worker != "worker-"+j.session || job.Fence != j.fence):
			w.Fatalf("%s is held by %s under %d, want worker-%s under %d", job.ID, job.Worker, job.Fence, j.session, j.fence)
		}
	}
	return page
}

// read reads all pages of a state, with steps in between, and fails if a job that has not moved is not shown exactly once.
func (w *pageWalk) read(state string, limit, size int) {
	w.Helper()
	moves := map[string]int{}
	for _, id := range w.in(state) {
		moves[id] = w.jobs[id].moves
	}
	shown, restarts := map[string]int{}, 0
	var order []protocol.FoundJob
	for after, pages := "", 0; ; pages++ {
		page := w.page(protocol.JobPageCall{Queue: wideQueue, State: state, After: after, Limit: limit})
		for _, job := range page.Jobs {
			shown[job.ID]++
		}
		order = append(order, page.Jobs...)
		if page.Restarted {
			restarts++
		}
		if page.Next == "" {
			break
		}
		if after = page.Next; w.random.IntN(8) == 0 && len(page.Jobs) > 0 { // a page may end anywhere
			cut := w.random.IntN(len(page.Jobs))
			for _, job := range page.Jobs[cut+1:] {
				shown[job.ID]--
			}
			order = order[:len(order)-len(page.Jobs)+cut+1]
			after = page.Jobs[cut].Next
		}
		if pages > 5000 {
			w.Fatalf("the pages of %s have no end", state)
		}
		for range w.random.IntN(3) {
			w.step(size)
		}
	}
	for id, before := range moves {
		if j := w.jobs[id]; j.moves == before && shown[id] != 1 {
			w.Fatalf("%s was %s all the time (partition %d) and is shown %d times by pages of %d, with %d restarts; want once", id, state, w.partitionOf(id).Index, shown[id], limit, restarts)
		}
	}
	if state == protocol.JobDelayed || state == protocol.JobDead {
		in := func(a, b protocol.FoundJob) int {
			return cmp.Or(cmp.Compare(w.partitionOf(a.ID).Index, w.partitionOf(b.ID).Index), a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
		}
		if !slices.IsSortedFunc(order, in) {
			w.Fatalf("the %s jobs are not in order", state)
		}
	}
}

var allStates = []string{protocol.JobWaiting, protocol.JobDelayed, protocol.JobRunning, protocol.JobTaken, protocol.JobParked, protocol.JobDead}

func TestWhatDoesNotMoveIsShownExactlyOnce(t *testing.T) {
	for seed := range uint64(3) {
		onServersWith(t, randomCalls, func(b *bench) {
			w := newPageWalk(b, seed, []int{1, 3}[seed%2])
			size := []int{5, 150, 30}[seed]
			for range 40 {
				w.step(max(size, 30))
			}
			for range long.Seeds(1, 3) {
				for _, state := range allStates {
					w.read(state, 1+w.random.IntN(40), size)
				}
			}
			w.findAll()
		})
	}
}

// findAll compares the result of FindJobs for every job with the present state.
func (w *pageWalk) findAll() {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(w.jobs)), 100) {
		found, err := w.store.FindJobs(w.Context(), wideQueue, ids)
		if err != nil || len(found) != len(ids) {
			w.Fatalf("found %d of %d: %v", len(found), len(ids), err)
		}
		for i, id := range ids {
			j := w.jobs[id]
			if found[i].State != j.state || (found[i].ID == "") != (j.state == "") || found[i].Fence != j.fence {
				w.Fatalf("%s is found as %+v, want %+v", id, found[i], j)
			}
			queues, err := w.store.QueuesOf(w.Context(), id, []string{"unknown", wideQueue})
			if wanted := map[bool]int{true: 1}[j.state != ""]; err != nil || len(queues) != wanted {
				w.Fatalf("%s, of %+v, may be on %q, %v", id, j, queues, err)
			}
		}
	}
}
