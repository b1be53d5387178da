package scheduler_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// A bench is an in-memory server and a store for schedulers that a test can make fail. Workers do not use that store.
type bench struct {
	*fixture.Fixture
	raw     protocol.Store // without hooks
	store   *hookstore.Store
	written *writings
	runs    runs // of the job "work"
}

// onBench runs a test in a bubble of fake time on a server with a worker.
func onBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	onBenchWith(t, false, test)
}

// onForgetfulBench is onBench with a worker that vanishes after each occurrence that it has taken, before it places the next one.
func onForgetfulBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	onBenchWith(t, true, test)
}

func onBenchWith(t *testing.T, vanishes bool, test func(t *testing.T, b *bench)) {
	t.Helper()
	onIdleBench(t, func(t *testing.T, b *bench) {
		stop := b.work(vanishes)
		test(t, b)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// onIdleBench is onBench without a worker.
func onIdleBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		b := &bench{Fixture: f, raw: f.Server.Store().Protocol()}
		b.written = &writings{Store: b.raw}
		b.store = hookstore.New(t, b.written)
		test(t, b)
	})
}

// work runs a worker that handles the job "work" and records each run. A worker that vanishes never places the next occurrence.
func (b *bench) work(vanishes bool) (stop func() error) {
	var store chime.Store = b.Server.Store()
	if vanishes {
		store = forgetful{b.raw}
	}
	w := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
	w.Handle("work", func(_ context.Context, job *chime.Job) error {
		b.runs.add(job)
		return nil
	})
	return fixture.Start(w)
}

// start runs a scheduler with a test's declarations; stop ends it, and fails the test if it ends with an error.
func (b *bench) start(declare func(s *chime.Scheduler)) (stop func()) {
	b.T.Helper()
	return b.startOn(b.store, chime.SchedulerOptions{}, declare)
}

// startOn is start on another store or with options. The scheduler logs nothing without a logger in its options.
func (b *bench) startOn(store chime.Store, options chime.SchedulerOptions, declare func(s *chime.Scheduler)) (stop func()) {
	b.T.Helper()
	if options.Logger == nil {
		options.Logger = fixture.Quiet()
	}
	s := chime.NewScheduler(store, options)
	if declare != nil {
		declare(s)
	}
	end := fixture.Start(s)
	return func() {
		if err := end(); err != nil {
			b.T.Errorf("Run: %v", err)
		}
	}
}

// declaring returns a function that declares one schedule of the job "work", and fails the test if it is refused.
func (b *bench) declaring(name string, rec recurrence.Recurrence, options ...chime.ScheduleOption) func(*chime.Scheduler) {
	return func(s *chime.Scheduler) {
		if err := s.Schedule(name, rec, append([]chime.ScheduleOption{chime.JobName("work")}, options...)...); err != nil {
			b.T.Error(err)
		}
	}
}

// stored reads a schedule without the hooks, or the zero value if it does not exist.
func (b *bench) stored(name string) protocol.Stored {
	b.T.Helper()
	found, err := b.raw.Find(b.T.Context(), []string{name})
	if err != nil {
		b.T.Fatal(err)
	}
	return found[0]
}

// state returns the state of a stored schedule: live, paused or completed.
func (b *bench) state(name string) chime.ScheduleState {
	b.T.Helper()
	s, err := chime.NewSchedules(b.Server.Store()).Get(b.T.Context(), name)
	if err != nil {
		b.T.Fatal(err)
	}
	return s.State
}

// leader returns the ID of the leader, or an empty text without a leader.
func (b *bench) leader() (id string, term int64) {
	b.T.Helper()
	l, err := b.raw.Leader(b.T.Context())
	if err != nil {
		b.T.Fatal(err)
	}
	return l.Leader, l.Term
}

// lose makes the server lose all data, like a restart without its files.
func (b *bench) lose() {
	b.T.Helper()
	if err := b.Server.Client().FlushAll(b.T.Context()).Err(); err != nil {
		b.T.Fatal(err)
	}
}

// rewrite edits the stored definition of a schedule of the queue "default".
func (b *bench) rewrite(name, old, text string) {
	b.T.Helper()
	const key = "chime:{default}:schedules"
	stored, err := b.Server.Client().HGet(b.T.Context(), key, name).Result()
	if err != nil || !strings.Contains(stored, old) {
		b.T.Fatalf("%s is stored as %s, %v; want %s in it", name, stored, err, old)
	}
	if err := b.Server.Client().HSet(b.T.Context(), key, name, strings.Replace(stored, old, text, 1)).Err(); err != nil {
		b.T.Fatal(err)
	}
}

// wantRuns checks that every instant of a rule since its creation ran once, and nothing else.
func (b *bench) wantRuns(name string, rec recurrence.Recurrence, created time.Time) {
	b.T.Helper()
	series, err := rec.Series(created)
	if err != nil {
		b.T.Fatal(err)
	}
	ran, want := b.runs.of(name), 0
	for at := range series.All() {
		if !at.Before(time.Now()) {
			break
		}
		want++
		if id := name + "@" + at.UTC().Format(time.RFC3339); ran[id] != 1 {
			b.T.Errorf("%s ran %d times, want once", id, ran[id])
		}
	}
	if len(ran) != want || want == 0 {
		b.T.Errorf("%s: %d occurrences ran, want %d", name, len(ran), want)
	}
}

// runs counts how often each occurrence ran.
type runs struct {
	mu sync.Mutex
	n  map[string]map[string]int // schedule -> occurrence
}

func (r *runs) add(job *chime.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = make(map[string]map[string]int)
	}
	if r.n[job.Schedule] == nil {
		r.n[job.Schedule] = make(map[string]int)
	}
	r.n[job.Schedule][job.ID]++
}

// of counts the runs of a schedule's occurrences.
func (r *runs) of(schedule string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.n[schedule])
}

// total returns how often occurrences of all schedules have run.
func (r *runs) total() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, occurrences := range r.n {
		for _, ran := range occurrences {
			n += ran
		}
	}
	return n
}

// writings is a store that records which schedules were created or changed.
type writings struct {
	protocol.Store
	mu    sync.Mutex
	names []string
}

func (w *writings) Protocol() protocol.Store { return w }

func (w *writings) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := w.Store.Declare(ctx, declarations)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range answers {
		if answers[i].New || answers[i].Changed {
			w.names = append(w.names, declarations[i].Name)
		}
	}
	return answers
}

// all returns them in order, each as often as it was written.
func (w *writings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.names...)
}

// A forgetful store hides from a worker which occurrence it must place and which schedules are owed. So each occurrence that the worker takes
// behaves as if the worker had vanished then.
type forgetful struct{ protocol.Store }

func (s forgetful) Protocol() protocol.Store { return s }

func (s forgetful) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	answers := s.Store.Work(ctx, calls)
	for i := range answers {
		answers[i].Owed = nil
	}
	return answers
}

func (s forgetful) Owed(context.Context, []protocol.Partition) ([]protocol.Owed, error) {
	return nil, nil
}
