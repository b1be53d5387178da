package redisstore

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// An orderedJob is a dead job of some partition.
type orderedJob struct {
	queue     string
	partition int
	id        string
	score     float64
}

// orderedQueues registers queues with these numbers of partitions.
func (b *bench) orderedQueues(partitions map[string]int) (names []string) {
	b.use(newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: partitions}))
	for name, want := range partitions {
		if n, err := b.store.Partitions(b.Context(), name); err != nil || n != want {
			b.Fatal(n, err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// addDead adds dead jobs, and returns them from the first to the last.
func (b *bench) addDead(jobs []orderedJob) []orderedJob {
	b.Helper()
	for _, j := range jobs {
		k := b.store.keys.partition(protocol.Partition{Queue: j.queue, Index: j.partition})
		b.client.HSet(b.Context(), k.jobs, j.id, "\x01x")
		b.client.ZAdd(b.Context(), k.dead, redisZ(j.score, j.id))
	}
	slices.SortFunc(jobs, func(x, y orderedJob) int {
		return cmp.Or(cmp.Compare(x.score, y.score), cmp.Compare(x.queue, y.queue), cmp.Compare(x.partition, y.partition), cmp.Compare(x.id, y.id))
	})
	return jobs
}

func idsOf(jobs []orderedJob) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.id)
	}
	return ids
}

// ordered reads all pages from a cursor on. between is called after each page with the jobs so far.
func (b *bench) ordered(call protocol.JobPageCall, between func(shown []protocol.FoundJob)) (shown []protocol.FoundJob) {
	b.Helper()
	for pages := 0; ; pages++ {
		page, err := b.store.PageJobs(b.Context(), call)
		if err != nil {
			b.Fatal(err)
		}
		if len(page.Jobs) > call.Limit || pages > 10_000 {
			b.Fatalf("page %d has %d jobs, want %d at most", pages, len(page.Jobs), call.Limit)
		}
		shown = append(shown, page.Jobs...)
		if call.After = page.Next; call.After == "" {
			return shown
		}
		if between != nil {
			between(shown)
		}
	}
}

func foundIDs(jobs []protocol.FoundJob) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// Many jobs of one instant on several partitions are the hard case: the pages then continue by queue, partition and member.
func TestJobsOfAllQueuesAndPartitionsComeInOneOrder(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		queues := b.orderedQueues(map[string]int{"a": 3, "b": 1, "c": 2})
		random := rand.New(rand.NewPCG(1, 7))
		var jobs []orderedJob
		for i := range 300 {
			queue := queues[random.IntN(3)]
			jobs = append(jobs, orderedJob{queue, random.IntN(map[string]int{"a": 3, "b": 1, "c": 2}[queue]), fmt.Sprintf("d%03d", i), float64(1_000_000 + random.IntN(12)*1000)})
		}
		jobs = b.addDead(jobs)
		oldest := idsOf(jobs)
		newest := slices.Clone(oldest)
		slices.Reverse(newest)
		for _, limit := range []int{1, 7, 50, 299, 300, 500} {
			call := protocol.JobPageCall{Queues: queues, State: protocol.JobDead, Limit: limit, Order: protocol.OrderNewest}
			shown := b.ordered(call, nil)
			if got := foundIDs(shown); !slices.Equal(got, newest) {
				b.Errorf("pages of %d, newest first: got %v, want %v", limit, got, newest)
			}
			call.Order = protocol.OrderOldest
			if got := foundIDs(b.ordered(call, nil)); !slices.Equal(got, oldest) {
				b.Errorf("pages of %d, oldest first: got %v, want %v", limit, got, oldest)
			}
			middle := shown[len(shown)/2] // the same place in the other order
			call.After = middle.Next
			at := slices.Index(oldest, middle.ID)
			if got := foundIDs(b.ordered(call, nil)); !slices.Equal(got, oldest[at+1:]) {
				b.Errorf("pages of %d after %s in the other order: got %v, want %v", limit, middle.ID, got, oldest[at+1:])
			}
		}
		for _, j := range b.ordered(protocol.JobPageCall{Queues: queues, State: protocol.JobDead, Limit: 100, Order: protocol.OrderNewest}, nil) {
			at := slices.IndexFunc(jobs, func(o orderedJob) bool { return o.id == j.ID })
			if jobs[at].queue != j.Queue || !j.At.Equal(time.UnixMilli(int64(jobs[at].score))) {
				b.Errorf("%s is shown on %s at %v, want %+v", j.ID, j.Queue, j.At, jobs[at])
			}
		}
		since, before := time.UnixMilli(1_003_000), time.UnixMilli(1_007_000)
		var within []string
		for _, j := range jobs {
			if j.score >= 1_003_000 && j.score < 1_007_000 {
				within = append(within, j.id)
			}
		}
		for _, order := range []string{protocol.OrderOldest, protocol.OrderNewest} {
			call := protocol.JobPageCall{Queues: queues, State: protocol.JobDead, Limit: 13, Order: order, Since: since, Before: before}
			if got := foundIDs(b.ordered(call, nil)); !slices.Equal(got, within) {
				b.Errorf("%s within bounds: got %v, want %v", order, got, within)
			}
			slices.Reverse(within)
		}
		call := protocol.JobPageCall{Queue: "a", State: protocol.JobDead, Limit: 500, Order: protocol.OrderNewest}
		want := slices.DeleteFunc(slices.Clone(jobs), func(j orderedJob) bool { return j.queue != "a" })
		slices.Reverse(want)
		if got := foundIDs(b.ordered(call, nil)); !slices.Equal(got, idsOf(want)) {
			b.Errorf("of queue a alone: got %v, want %v", got, idsOf(want))
		}
	})
}

// Whatever leaves between two pages, the job of the cursor included, the others are shown once and in order.
func TestPagesInOneOrderContinueBehindJobsThatHaveLeft(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		queues := b.orderedQueues(map[string]int{"a": 2, "b": 1})
		var jobs []orderedJob
		for i := range 1200 { // more than the window of a search, and all of one instant
			jobs = append(jobs, orderedJob{queues[i%2], i / 2 % 2 * (1 - i%2), fmt.Sprintf("d%04d", i*7919%1200), 1_000_000})
		}
		want := idsOf(b.addDead(jobs))
		slices.Reverse(want)
		shown := b.ordered(protocol.JobPageCall{Queues: queues, State: protocol.JobDead, Limit: 100, Order: protocol.OrderNewest}, func(shown []protocol.FoundJob) {
			for _, j := range shown[len(shown)-80:] {
				for index := range 2 {
					b.client.ZRem(b.Context(), b.store.keys.partition(protocol.Partition{Queue: j.Queue, Index: index}).dead, j.ID)
				}
			}
		})
		if got := foundIDs(shown); !slices.Equal(got, want) {
			b.Errorf("got %d jobs, or another order; want %d", len(got), len(want))
		}
	})
}

func TestAPageInOrderRefusesWhatItCannotContinue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		queues := b.orderedQueues(map[string]int{"a": 1})
		b.addDead([]orderedJob{{"a", 0, "d1", 1e6}, {"a", 0, "d2", 2e6}})
		unordered, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "a", State: protocol.JobDead, Limit: 1})
		if err != nil {
			b.Fatal(err)
		}
		for _, after := range []string{unordered.Next, "x", "!"} {
			var invalid *protocol.InvalidError
			if _, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queues: queues, State: protocol.JobDead, Limit: 1, Order: protocol.OrderNewest, After: after}); !errors.As(err, &invalid) {
				b.Errorf("after %q: got %v, want an InvalidError", after, err)
			}
		}
		if _, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "unknown", State: protocol.JobDead, Limit: 1, Order: protocol.OrderNewest}); !errors.Is(err, protocol.ErrNotFound) {
			b.Errorf("of an unknown queue: got %v, want ErrNotFound", err)
		}
		page, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queues: []string{"a", "unknown"}, State: protocol.JobDead, Limit: 9, Order: protocol.OrderNewest})
		if got := strings.Join(foundIDs(page.Jobs), " "); err != nil || got != "d2 d1" {
			b.Errorf("with an unknown queue: got %s, %v; want d2 d1", got, err)
		}
	})
}
