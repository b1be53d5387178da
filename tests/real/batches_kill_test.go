//go:build real && unix

package real_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/redistest"
)

var killedBatches = flag.Int("batches", 0, "how many batches TestBatchesEndOnceWhenProcessesAreKilled makes; 0: 40, with the tag long 200")

// batchProgram is the configuration of a process that creates batches, or handles their members.
type batchProgram struct {
	Addr    string
	From    int // the first batch to create
	Batches int
}

// batchQueues are where the members are; batchEnds is where the jobs are added that follow batches.
var batchQueues = []string{"one", "two", "three"}

const batchEnds = "ends"

func batchName(i int) string { return fmt.Sprintf("batch%03d", i) }

// sizeOf is how many items the i-th batch has; some have none.
func sizeOf(i int) int { return i * 7 % 23 }

// memberKeys are the keys of the i-th batch's members: those of its items, of the jobs that follow the first item of three, and of the growth of the second one.
func memberKeys(i int) (keys []string) {
	for k := range sizeOf(i) {
		keys = append(keys, fmt.Sprintf("%s/%d", batchName(i), k))
		if k%3 == 0 {
			keys = append(keys, fmt.Sprintf("%s/%d.next", batchName(i), k))
		}
		if k == 1 {
			keys = append(keys, fmt.Sprintf("%s/%d.grown", batchName(i), k))
		}
	}
	return keys
}

// batchCreator creates batches, and sends an event for each. Where another one was killed it makes the same call again.
func batchCreator(c *childproc.Child) error {
	var p batchProgram
	if err := c.Config(&p); err != nil {
		return err
	}
	enqueuer := chime.NewEnqueuer(program{Addr: p.Addr}.store(), chime.EnqueuerOptions{})
	for i := p.From; i < p.Batches; i++ {
		c.Say("creates %d", i)
		_, err := enqueuer.EnqueueBatch(context.Background(), chime.Batch{
			ID: batchName(i), Done: chime.Item{Name: "done", Args: batchName(i), Options: []chime.EnqueueOption{chime.Queue(batchEnds)}},
			Ended: chime.Item{Name: "ended", Args: batchName(i), Options: []chime.EnqueueOption{chime.Queue(batchEnds)}},
			Items: func(yield func(chime.Item, error) bool) {
				for k := range sizeOf(i) {
					if !yield(batchMember(i, k), nil) {
						return
					}
				}
			},
		})
		if err != nil {
			return err
		}
		c.Say("created %d", i)
	}
	<-c.Signals
	return nil
}

func batchMember(i, k int) chime.Item {
	key := fmt.Sprintf("%s/%d", batchName(i), k)
	item := chime.Item{Name: "member", Args: key, Options: []chime.EnqueueOption{chime.ID(key), chime.Queue(batchQueues[k%3])}}
	if k%3 == 0 {
		next := chime.Item{Name: "member", Args: key + ".next", Options: []chime.EnqueueOption{chime.Queue(batchQueues[k/3%3]), chime.SameBatch()}}
		item.Options = append(item.Options, chime.OnDone(next))
	}
	return item
}

// batchWorker handles members and the jobs that follow batches. It sends an event at the end of each run.
func batchWorker(c *childproc.Child) error {
	var p batchProgram
	if err := c.Config(&p); err != nil {
		return err
	}
	store := program{Addr: p.Addr}.store()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	worker := chime.NewWorker(store, chime.WorkerOptions{
		Concurrency: 8, SessionTTL: quickTTL, MaxCrashes: 100, Logger: errorsOnly,
		Queues: map[string]int{batchQueues[0]: 1, batchQueues[1]: 1, batchQueues[2]: 1, batchEnds: 1},
	})
	handle := func(what string) chime.Handler {
		return func(ctx context.Context, job *chime.Job) error {
			var key string
			if err := job.Decode(&key); err != nil {
				return err
			}
			c.Say("begins %s %s at %d fence %d", what, key, time.Now().UnixMicro(), job.Fence)
			if strings.HasSuffix(key, "/1") && what == "member" { // it grows its batch once, whoever runs it
				options := []chime.EnqueueOption{chime.InBatch(job), chime.ID(key + ".grown"), chime.Once(time.Hour), chime.Queue(batchQueues[2])}
				if _, err := enqueuer.Enqueue(ctx, "member", key+".grown", options...); err != nil {
					return err
				}
			}
			c.Say("%s %s at %d fence %d", what, key, time.Now().UnixMicro(), job.Fence)
			return nil
		}
	}
	for _, what := range []string{"member", "ended", "done"} {
		worker.Handle(what, handle(what))
	}
	return run(c, worker)
}

// batchCarrier carries what follows, and reports and ends batches, beside the workers.
func batchCarrier(c *childproc.Child) error {
	var p batchProgram
	if err := c.Config(&p); err != nil {
		return err
	}
	return run(c, chime.NewScheduler(program{Addr: p.Addr}.store(), chime.SchedulerOptions{LeaderTTL: quickTTL, SafetyTick: time.Second, Logger: errorsOnly}))
}

// batchRuns are the runs that processes have reported.
type batchRuns struct {
	mu      sync.Mutex
	created int
	begun   map[string]map[string][]string // "member", "ended" or "done" → key → the fences of its runs
	members map[string]int64               // key → when its first run that was complete ended, Unix µs
	ends    map[string]map[string]int64    // "ended" or "done" → batch → when its first run began
}

func (r *batchRuns) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var i int
	if _, err := fmt.Sscanf(line, "created %d", &i); err == nil {
		r.created = max(r.created, i+1)
		return
	}
	words := strings.Fields(line)
	var at int64
	for n, word := range words {
		if word == "at" {
			_, _ = fmt.Sscan(words[n+1], &at)
		}
	}
	switch {
	case len(words) < 4:
	case words[0] == "member":
		if r.members[words[1]] == 0 {
			r.members[words[1]] = at
		}
	case words[0] == "begins":
		if r.begun[words[1]] == nil {
			r.begun[words[1]] = map[string][]string{}
		}
		r.begun[words[1]][words[2]] = append(r.begun[words[1]][words[2]], words[len(words)-1])
		if words[1] == "member" {
			return
		}
		if r.ends[words[1]][words[2]] == 0 {
			r.ends[words[1]][words[2]] = at
		}
	}
}

// Creators, workers and a scheduler are killed at random until all batches are created. All but creators carry what follows, and report and end batches. Each job
// that follows a batch is added once, after all members have run, and each of its runs has a fence of its own.
func TestBatchesEndOnceWhenProcessesAreKilled(t *testing.T) {
	batches := long.Seeds(40, 200)
	if *killedBatches > 0 {
		batches = *killedBatches
	}
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	runs := &batchRuns{begun: map[string]map[string][]string{}, members: map[string]int64{}, ends: map[string]map[string]int64{"ended": {}, "done": {}}}
	random := rand.New(rand.NewPCG(1, 33))
	p := batchProgram{Addr: server.Addr(), Batches: batches}
	starts := func(role string) func() *childproc.Process {
		return func() *childproc.Process {
			runs.mu.Lock()
			p.From = runs.created
			runs.mu.Unlock()
			return childproc.Follow(t, role, p, runs.add)
		}
	}
	roles := []string{"batch creator", "batch worker", "batch worker", "batch worker", "batch carrier"}
	var processes []*childproc.Process
	for _, role := range roles {
		processes = append(processes, starts(role)())
	}
	kills, next := map[string]int{}, time.Now()
	until(t, "all batches have ended", func() bool {
		runs.mu.Lock()
		created, over := runs.created, len(runs.ends["ended"]) == batches && len(runs.ends["done"]) == batches
		runs.mu.Unlock()
		if now := time.Now(); now.After(next) && created < batches {
			next = now.Add(time.Duration(100+random.IntN(400)) * time.Millisecond)
			at := random.IntN(len(roles))
			processes[at].Kill()
			kills[roles[at]]++
			processes[at] = starts(roles[at])()
		}
		return over
	})
	until(t, "nothing is left", func() bool {
		left := int64(0)
		for _, queue := range append([]string{batchEnds}, batchQueues...) {
			stats := countsOf(t, client, queue)
			left += stats.Waiting + stats.Delayed + stats.InFlight()
		}
		return left == 0
	})
	wantBatchRuns(t, runs, batches)
	added := countsOf(t, client, batchEnds).Done
	if added != int64(2*batches) {
		t.Errorf("%d jobs that follow batches are done, want %d", added, 2*batches)
	}
	all, members := chime.NewBatches(program{Addr: server.Addr()}.store()), int64(0)
	for i := range batches {
		info, err := all.Get(t.Context(), batchName(i))
		if err != nil || info.State != chime.BatchDone || info.Total != int64(len(memberKeys(i))) || info.Done != info.Total {
			t.Fatalf("%s is %+v, %v, want done with %d members", batchName(i), info, err, len(memberKeys(i)))
		}
		members += info.Done
	}
	fmt.Printf("%d batches with %d members; killed: %v\n%-8s %8s %8s %8s\n", batches, members, kills, "job", "added", "begun", "again")
	for _, what := range []string{"member", "done", "ended"} {
		begun, count := 0, int64(batches)
		for _, fences := range runs.begun[what] {
			begun += len(fences)
		}
		if what == "member" {
			count = members
		}
		fmt.Printf("%-8s %8d %8d %8d\n", what, count, begun, begun-len(runs.begun[what]))
	}
}

// wantBatchRuns checks that all members have run before the jobs that follow their batch.
func wantBatchRuns(t *testing.T, runs *batchRuns, batches int) {
	t.Helper()
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for what, begun := range runs.begun {
		for key, fences := range begun {
			if n := len(slices.Compact(slices.Sorted(slices.Values(fences)))); n != len(fences) {
				t.Errorf("%s of %s has begun %d times under %d fences", what, key, len(fences), n)
			}
		}
	}
	for what, ends := range runs.ends {
		if names := slices.Sorted(maps.Keys(ends)); len(names) != batches {
			t.Errorf("%q has run for %d batches, want %d: %v", what, len(names), batches, names)
		}
	}
	for i := range batches {
		for _, key := range memberKeys(i) {
			ran := runs.members[key]
			if ran == 0 {
				t.Errorf("%s has not run", key)
			}
			for what, began := range runs.ends {
				if at := began[batchName(i)]; at < ran {
					t.Errorf("%s of %s began %v before the end of %s", what, batchName(i), time.Duration(ran-at)*time.Microsecond, key)
				}
			}
		}
	}
}
