package sim

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/redisstore"
)

// A Result is what a plan has led to.
type Result struct {
	Findings  Findings
	Simulated time.Duration
	Jobs      int
	Runs      int
	Hits      map[Kind]int // calls or processes that faults have hit
	History   *History
	Log       []string // what the processes have logged, if the plan was run with a log
}

// A World is one server and the processes around it, in a bubble of fake time.
type World struct {
	plan    Plan
	began   time.Time
	shift   time.Duration // by how much the rests have delayed the plan
	end     time.Time     // of the schedules that schedulers declare
	server  *simredis.Server
	direct  *redis.Client     // a connection without faults
	store   *redisstore.Store // on direct
	history *History
	faults  faults

	mu     sync.Mutex
	actors map[string]*actor
	acts   sync.WaitGroup // acts under way
	tasks  sync.WaitGroup // everything that ends by itself: late calls, processes that have been replaced
	copies []slotCopy
	back   bool // a slot has gone back since the last rest
	log    *logBook
}

// slackOfRests is how long rests usually take. If they take longer, the schedules of schedulers end before the plan.
const slackOfRests = 2 * time.Minute

// Simulate carries out a plan in a bubble of fake time. It fails the test only if it cannot run. With a log, the result has what the processes have logged.
func Simulate(t *testing.T, plan Plan, withLog bool) (result *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(plan, withLog)
		w.run()
		result = w.result()
		w.close()
		time.Sleep(2 * time.Second) // fake time: pools of clients check once a second whether they are closed
		synctest.Wait()
	})
	return result
}

func newWorld(plan Plan, withLog bool) *World {
	w := &World{
		plan: plan, began: time.Now(), server: simredis.New(), history: newHistory(), actors: map[string]*actor{},
		faults: faults{random: rand.New(rand.NewPCG(plan.Seed, 1)), hits: map[Kind]int{}}, log: &logBook{},
	}
	if withLog {
		w.log.began = w.began
		w.log.keeps = true
	}
	last := plan.Rests[len(plan.Rests)-1]
	w.end = w.began.Add(last + time.Duration(len(plan.Rests))*slackOfRests).Truncate(time.Minute)
	w.direct = newClient(w.server.Dial)
	w.store = redisstore.New(w.direct, redisstore.Options{Logger: slog.New(slog.DiscardHandler)})
	return w
}

// An event is a moment of a plan.
type event struct {
	at time.Duration
	do func()
}

// run carries out the plan.
func (w *World) run() {
	var events []event
	for i := range w.plan.Actors {
		a := &w.plan.Actors[i]
		events = append(events, event{a.Begin, func() { w.enter(a) }})
	}
	for i := range w.plan.Acts {
		events = append(events, event{w.plan.Acts[i].At, func() { w.act(i) }})
	}
	for i := range w.plan.Faults {
		f := &w.plan.Faults[i]
		events = append(events, event{f.At, func() { w.beginFault(f) }}, event{f.End(), func() { w.endFault(f) }})
	}
	for _, at := range w.plan.Rests {
		events = append(events, event{at, w.rest})
	}
	for _, n := range w.plan.Nights { // it begins after the rest of the same time
		events = append(events, event{n.From, func() { w.beginNight(n) }}, event{n.To, w.startAll})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	w.prepare()
	for _, e := range events {
		time.Sleep(time.Until(w.began.Add(e.at + w.shift))) // fake time
		e.do()
	}
	time.Sleep(time.Until(w.end.Add(time.Minute))) // until the schedules have completed
	w.drained()
	for _, a := range w.actors {
		a.stop()
	}
	w.tasks.Wait()
}

// beginNight asks the processes to end that do not stay. The rest of the plan is no longer delayed: a night is longer than every rest.
func (w *World) beginNight(n Night) {
	for name, a := range w.actors {
		if !slices.Contains(n.Stay, name) {
			a.stop()
		}
	}
	w.shift = 0
}

// startAll starts the processes that are down.
func (w *World) startAll() {
	for _, a := range w.actors {
		if a.live == nil {
			a.start()
		}
	}
}

// later does something after a time. The world waits for it.
func (w *World) later(d time.Duration, do func()) {
	w.tasks.Go(func() {
		time.Sleep(d) // fake time
		do()
	})
}

// deliver sends a call to the server on a connection of its own, and ignores the replies.
func (w *World) deliver(call []byte) {
	c, err := w.server.Dial()
	if err != nil {
		return
	}
	_, _ = c.Write(call)
	_ = c.Close()
}

// result judges the history.
func (w *World) result() *Result {
	r := &Result{Findings: slices.Clone(w.history.Problems), Simulated: time.Since(w.began), Jobs: len(w.history.Jobs), Runs: w.history.Runs, Hits: w.faults.hits, History: w.history, Log: w.log.lines}
	snapshot, err := takeSnapshot(context.Background(), w.store)
	if err != nil {
		r.Findings.add(broken, "the data cannot be read: %v", err)
		return r
	}
	r.Findings = append(r.Findings, judge(w.history, snapshot)...)
	return r
}

func (w *World) close() {
	w.direct.Close()
	w.server.Close()
}

// left returns how long a fault still lasts.
func (w *World) left(f *Fault) time.Duration { return time.Until(w.began.Add(f.End() + w.shift)) }

// A logBook keeps the log lines of a run.
type logBook struct {
	mu    sync.Mutex
	keeps bool
	began time.Time
	lines []string
}

func (b *logBook) add(process, text string) {
	if !b.keeps {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, stamp(time.Since(b.began))+" "+process+": "+text)
}
