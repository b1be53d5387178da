package workers_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// A manyWalk runs workers with handlers of several jobs and a plain one on a queue. Jobs of all names are enqueued and cancelled, calls fail in all ways,
// and workers drain, or vanish while jobs gather and run. A model judges what happens.
type manyWalk struct {
	*fixture.Fixture
	seed   uint64
	random *rand.Rand
	made   int

	mu    sync.Mutex
	model *manyModel
	live  []*manyWorker
	all   []*manyWorker
}

type manyWorker struct {
	modelWorker
	store *hookstore.Store
	stop  func() error
	taken map[string]time.Time // jobs that have not begun -> when they were taken
	busy  int
}

func TestAWalkOfCallsDoesWhatItsModelDoes(t *testing.T) {
	for _, seed := range long.Draw(4, 150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				w := &manyWalk{Fixture: f, seed: seed, random: rand.New(rand.NewPCG(seed, 33))}
				w.model = &manyModel{t: t, names: map[string]*modelName{}, jobs: map[string]*modelJob{}, calls: map[*modelCall]bool{}, groups: map[string]int{}}
				w.run(t)
			})
		})
	}
}

const (
	walkTTL     = 3 * time.Second
	walkTimeout = 4 * time.Second
	walkBackoff = 2 * time.Second
)

func (w *manyWalk) run(t *testing.T) {
	w.setUp(t)
	for range 2 {
		w.start()
	}
	for range 40 {
		for range 1 + w.random.IntN(3) {
			w.act(t)
		}
		fixture.Pass([]time.Duration{0, 10 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second}[w.random.IntN(5)])
		w.check()
		if t.Failed() {
			break
		}
	}
	w.start()
	for range 60 {
		if fixture.Pass(time.Minute); w.open() == 0 || t.Failed() {
			break
		}
	}
	w.check()
	for _, worker := range w.all {
		worker.store.RepairNodes()
		w.drain(worker)
	}
	fixture.Pass(time.Minute)
	w.judge(t)
}

// setUp draws the names and the limits.
func (w *manyWalk) setUp(t *testing.T) {
	for i := range 3 {
		many := chime.Many{
			Size: 1 + w.random.IntN(12), Wait: time.Duration(w.random.IntN(4)) * 400 * time.Millisecond, Bytes: 200 + w.random.IntN(4000), ByGroup: w.random.IntN(2) == 0,
			Together: w.random.IntN(3) == 0,
		}
		name := fmt.Sprint("many", i)
		w.model.names[name] = &modelName{name, many}
	}
	w.model.names["plain"] = &modelName{name: "plain"}
	queues, partitions := chime.NewQueues(w.Server.Store()), 1
	var err error
	switch w.seed % 4 {
	case 0:
		w.Partition("default", 1)
		w.model.limit = 2 + w.random.IntN(6)
		err = queues.Limit(t.Context(), "default", chime.Limit{Running: w.model.limit})
	case 1:
		w.Partition("default", 1)
		w.model.groups["a"], w.model.groups["b"], w.model.ordered = 1+w.random.IntN(3), 1, "b"
		err = errors.Join(queues.SetGroup(t.Context(), "default", "a", chime.GroupRule{Running: w.model.groups["a"]}),
			queues.SetGroup(t.Context(), "default", "b", chime.GroupRule{Ordered: chime.On}))
	default:
		partitions = 1 + w.random.IntN(2)
		w.Partition("default", partitions)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a worker.
func (w *manyWalk) start() {
	me := &manyWorker{modelWorker: modelWorker{number: len(w.all), slots: 1 + w.random.IntN(4)}, store: w.Hooked(), taken: map[string]time.Time{}}
	me.store.QueuesAreNodes()
	worker := chime.NewWorker(me.store, chime.WorkerOptions{
		Concurrency: me.slots, SessionTTL: walkTTL, DrainTimeout: 2 * time.Second, MaxCrashes: 9, Logger: fixture.Quiet(), Observers: []*chime.Observer{w.observer(me)},
		Defaults: []chime.HandlerOption{chime.Timeout(walkTimeout), chime.Backoff(func(int) time.Duration { return walkBackoff })},
	})
	for _, name := range w.model.names {
		if name.many.Size > 0 {
			worker.HandleMany(name.name, name.many, func(ctx context.Context, jobs []*chime.Job) error { return w.handle(ctx, me, name, jobs) })
			continue
		}
		worker.Handle(name.name, func(ctx context.Context, job *chime.Job) error { return w.handle(ctx, me, name, []*chime.Job{job}) })
	}
	w.mu.Lock()
	w.live, w.all = append(w.live, me), append(w.all, me)
	w.mu.Unlock()
	me.stop = fixture.Start(worker)
}

// observer notes which jobs a worker has taken, and how many slots are busy.
func (w *manyWalk) observer(me *manyWorker) *chime.Observer {
	left := func(events []chime.JobEvent) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range events {
			delete(me.taken, e.ID)
		}
	}
	return &chime.Observer{
		Taken: func(events []chime.JobEvent) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, e := range events {
				me.taken[e.ID] = time.Now()
			}
		},
		Begun: left, Returned: left, Ended: left,
		Slots: func(_, busy, _ int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			me.busy += busy
		},
	}
}

// handle is every handler. How it ends depends on its first job and on the seed alone.
func (w *manyWalk) handle(ctx context.Context, me *manyWorker, name *modelName, jobs []*chime.Job) (err error) {
	hash := fnv.New64a()
	fmt.Fprint(hash, jobs[0].ID, " ", jobs[0].Fence, " ", len(jobs))
	chance := rand.New(rand.NewPCG(hash.Sum64(), w.seed))
	w.mu.Lock()
	w.read()
	call := w.model.begin(&me.modelWorker, name, jobs)
	w.mu.Unlock()
	returned, stuck := false, false
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case stuck:
			w.model.leave(call)
		case returned:
			w.model.returned(ctx, call, err)
		default:
			w.model.returned(ctx, call, errors.New("a panic"))
		}
	}()
	bad := fmt.Errorf("bad call of %s", jobs[0].ID)
	switch n := chance.IntN(40); {
	case n < 3: // it uses up its time
		<-ctx.Done()
		err = context.Cause(ctx)
	case n < 5: // likewise, and names some jobs
		<-ctx.Done()
		err = each(chance, jobs)
	case n == 5:
		<-ctx.Done()
		w.mu.Lock()
		stuck = true
		w.model.stuck(call)
		w.mu.Unlock()
		time.Sleep(time.Minute) // fake time
		return nil
	case n < 9:
		if waitOr(ctx, chance); n == 6 {
			panic(bad.Error())
		}
		err = bad
	case n == 9:
		waitOr(ctx, chance)
		err = chime.Each{jobs[0].ID: bad, "another job": bad}
	case n == 10:
		waitOr(ctx, chance)
		err = []error{chime.Snooze(time.Second), chime.Discard(bad), chime.RetryAfter(time.Second, bad)}[chance.IntN(3)]
	case n < 20:
		waitOr(ctx, chance)
		err = fmt.Errorf("some of them: %w", each(chance, jobs))
	default:
		waitOr(ctx, chance)
	}
	returned = true
	if name.many.Size == 0 && err != nil { // an Each means nothing there
		err = errors.New(err.Error())
	}
	return err
}

// waitOr lets a handler take some time, until its ctx ends.
func waitOr(ctx context.Context, chance *rand.Rand) {
	select {
	case <-ctx.Done():
	case <-time.After([]time.Duration{time.Microsecond, 3 * time.Millisecond, 200 * time.Millisecond, 2 * time.Second}[chance.IntN(4)]):
	}
}

// each returns errors of some jobs.
func each(chance *rand.Rand, jobs []*chime.Job) chime.Each {
	bad, found := errors.New("bad job"), chime.Each{}
	for _, job := range jobs {
		switch chance.IntN(8) {
		case 0:
			found[job.ID] = bad
		case 1:
			found[job.ID] = nil
		case 2:
			found[job.ID] = []error{chime.Discard(bad), chime.Snooze(time.Second), chime.RetryAfter(time.Second, bad)}[chance.IntN(3)]
		}
	}
	return found
}

// act changes something at random.
func (w *manyWalk) act(t *testing.T) {
	switch n := w.random.IntN(30); {
	case n < 22:
		w.add()
	case n < 25:
		w.cancel(t)
	case n == 25 && len(w.live) > 1 && w.model.crashes < 2:
		w.mu.Lock()
		w.read()
		me := w.pick()
		me.store.FailNode("default", 0)
		w.model.vanish(&me.modelWorker)
		w.mu.Unlock()
		w.start()
	case n == 26 && len(w.live) > 1 && len(w.all) < 7:
		w.mu.Lock()
		me := w.pick()
		w.mu.Unlock()
		w.drain(me)
		w.start()
	}
}

// pick removes a worker from the live ones.
func (w *manyWalk) pick() *manyWorker {
	i := w.random.IntN(len(w.live))
	me := w.live[i]
	w.live = slices.Delete(w.live, i, i+1)
	return me
}

// drain stops a worker, which may take a while.
func (w *manyWalk) drain(me *manyWorker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !me.draining.IsZero() {
		return
	}
	me.draining = time.Now()
	go func() {
		var cut *chime.DrainTimeoutError
		if err := me.stop(); err != nil && !errors.As(err, &cut) && !me.gone {
			w.T.Errorf("worker %d ended with %v", me.number, err)
		}
	}()
}

// add enqueues jobs of a name.
func (w *manyWalk) add() {
	names := slices.Sorted(maps.Keys(w.model.names))
	name, group := names[w.random.IntN(len(names))], []string{"", "a", "b", "c"}[w.random.IntN(4)]
	e := wire.Envelope{Name: name, MaxAttempts: 1 + w.random.IntN(5), Payload: make([]byte, []int{0, 30, 200, 500, 3000}[w.random.IntN(5)])}
	item := protocol.EnqueueItem{Group: group}
	if group != "" {
		e.Details = &wire.Details{Group: group}
	}
	item.Body = e.Encode()
	var ids []string
	w.mu.Lock()
	for range 1 + w.random.IntN(6) {
		w.made++
		id := fmt.Sprintf("%s-%d", name, w.made)
		ids = append(ids, id)
		w.model.jobs[id] = &modelJob{id: id, name: name, group: group, bytes: len(e.Payload), max: e.MaxAttempts, begun: map[int64]*modelFlight{}}
	}
	w.mu.Unlock()
	w.Put("default", item, ids...)
}

// cancel cancels a job that has not ended.
func (w *manyWalk) cancel(t *testing.T) {
	w.mu.Lock()
	w.read()
	var open []string
	for id, j := range w.model.jobs {
		if j.end == 0 && j.cancelled.IsZero() {
			open = append(open, id)
		}
	}
	if slices.Sort(open); len(open) == 0 {
		w.mu.Unlock()
		return
	}
	j := w.model.jobs[open[w.random.IntN(len(open))]]
	j.cancelled = time.Now()
	w.mu.Unlock()
	result, err := chime.NewJobs(w.Server.Store()).Cancel(t.Context(), "default", j.id)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil && result == chime.CancelDone:
		j.end = protocol.SettleCancelled
	case errors.Is(err, chime.ErrNotFound) || result == chime.CancelTooLate:
		j.cancelled = time.Time{} // its end is in an answer that the model has not read yet
	case err != nil:
		t.Error(err)
	}
}

// open returns how many jobs have not ended.
func (w *manyWalk) open() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	for _, j := range w.model.jobs {
		if j.end == 0 && j.cancelled.IsZero() {
			n++
		}
	}
	return n
}

// read lets the model judge what the store has accepted since.
func (w *manyWalk) read() {
	for _, me := range w.all {
		settled := me.store.Settled()
		for i := me.settled; i < len(settled); i++ {
			w.model.settle(&me.modelWorker, &settled[i])
		}
		me.settled = len(settled)
	}
}

// check judges what holds at every moment: a call occupies one slot, and while a slot is free nothing gathers for longer than Wait.
func (w *manyWalk) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	for _, me := range w.live {
		if me.busy != me.running && time.Since(me.changed) > 50*time.Millisecond { // else it is not reported yet
			w.model.errorf("worker %d runs %d calls, and %d slots are busy", me.number, me.running, me.busy)
		}
		if me.running >= me.slots || w.model.crashes > 1 { // a suspect may hold up others
			continue
		}
		for id, since := range me.taken {
			if wait := w.model.names[w.model.jobs[id].name].many.Wait; time.Since(since) > wait+50*time.Millisecond {
				w.model.errorf("worker %d has taken %s %v ago and has a free slot; its name gathers for %v", me.number, id, time.Since(since), wait)
			}
		}
	}
}

// judge judges the end: each job has ended once, as the model says, and nothing is left but the dead.
func (w *manyWalk) judge(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	var dead []string
	for id, j := range w.model.jobs {
		if j.end == 0 && j.cancelled.IsZero() { // a cancelled one may have ended with its session
			w.model.errorf("%s has not ended", id)
		}
		if j.end == protocol.SettleDead && j.cancelled.IsZero() {
			dead = append(dead, id)
		}
	}
	jobs, err := w.Server.Client().Keys(t.Context(), "chime:{default*}:jobs").Result()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, key := range jobs {
		left = append(left, w.Server.Client().HKeys(t.Context(), key).Val()...)
	}
	slices.Sort(dead)
	if slices.Sort(left); !slices.Equal(left, dead) {
		w.model.errorf("the store has %q, want the dead jobs %q", left, dead)
	}
	w.CheckEmptySince(time.Now().Add(-30 * time.Second))
}
