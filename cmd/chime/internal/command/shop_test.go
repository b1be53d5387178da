package command_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A shop is a store and a terminal on it. It has twelve dead jobs resize on queue media, three dead ones report on mail, and on default one that
// waits, one delayed and one that failed and is retried; a job of the ID same is on mail and on media.
type shop struct {
	commandtest.Terminal
	store chime.Store
}

var quiet = slog.New(slog.DiscardHandler)

// emptyShop is an empty store.
func emptyShop(t *testing.T) *shop {
	t.Helper()
	old := slog.Default()
	slog.SetDefault(quiet) // embedded.Start warns that it forgets everything
	server, err := embedded.Start()
	slog.SetDefault(old)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return &shop{commandtest.Terminal{Env: map[string]string{"REDIS_URL": server.URL()}}, server.Store()}
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := emptyShop(t)
	var items []chime.Item
	for i := range 12 {
		items = append(items, chime.Item{Name: "resize", Options: []chime.EnqueueOption{chime.Queue("media"), chime.ID(fmt.Sprintf("r%02d", i)), chime.MaxAttempts(1)}})
	}
	for i := range 3 {
		items = append(items, chime.Item{Name: "report", Args: map[string]int{"customer": i}, Options: []chime.EnqueueOption{chime.Queue("mail"), chime.ID(fmt.Sprintf("m%02d", i)), chime.MaxAttempts(1), chime.Header("tenant", "t\x1b[2J")}})
	}
	s.enqueue(t, append(items, chime.Item{Name: "import", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.ID("again"), chime.MaxAttempts(25)}})...)
	s.work(t, 16, map[string]chime.Handler{
		"resize": func(ctx context.Context, job *chime.Job) error {
			return errors.New("dial 10.0.0.1: connection refused")
		},
		"report": func(ctx context.Context, job *chime.Job) error { return fmt.Errorf("no such customer %q", job.ID) },
		"import": func(ctx context.Context, job *chime.Job) error {
			return chime.RetryAfter(time.Hour, errors.New("\x1b[31mred\nsecond line"))
		},
	}, "media", "mail")
	s.enqueue(t,
		chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("wait1")}},
		chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("late1"), chime.In(time.Hour)}},
		chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("same"), chime.Queue("mail"), chime.In(59*time.Hour + 30*time.Minute)}},
		chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("same"), chime.Queue("media"), chime.In(time.Hour)}},
	)
	return s
}

func (s *shop) enqueue(t *testing.T, items ...chime.Item) {
	t.Helper()
	if _, err := chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Logger: quiet}).EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

// work runs a worker until a number of attempts have ended.
func (s *shop) work(t *testing.T, attempts int, handlers map[string]chime.Handler, queues ...string) {
	t.Helper()
	weights := map[string]int{}
	for _, queue := range queues {
		weights[queue] = 1
	}
	ended := make(chan struct{}, attempts)
	worker := chime.NewWorker(s.store, chime.WorkerOptions{Queues: weights, Logger: quiet})
	for name, handler := range handlers {
		worker.Handle(name, func(ctx context.Context, job *chime.Job) error {
			defer func() { ended <- struct{}{} }()
			return handler(ctx, job)
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- chime.Run(ctx, worker) }()
	for range attempts {
		<-ended
	}
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// get returns a job of the store; nil if it is gone.
func (s *shop) get(t *testing.T, queue, id string) *chime.JobInfo {
	t.Helper()
	job, err := chime.NewJobs(s.store).Get(t.Context(), queue, id)
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		t.Fatal(err)
	}
	return job
}

// wants is the expected result of a command.
type wants struct {
	out, err []string // parts of standard output and standard error
	code     int
}

func (w wants) check(t *testing.T, got commandtest.Result, args ...string) {
	t.Helper()
	if got.Code != w.code {
		t.Errorf("%q: exit %d, want %d; %s", args, got.Code, w.code, got.Err)
	}
	for _, part := range w.out {
		if !strings.Contains(got.Out, part) {
			t.Errorf("%q: printed\n%s\nwithout %q", args, got.Out, part)
		}
	}
	for _, part := range w.err {
		if !strings.Contains(got.Err, part) {
			t.Errorf("%q: stderr %q without %q", args, got.Err, part)
		}
	}
	if len(w.err) == 0 && got.Code == 0 && got.Err != "" {
		t.Errorf("%q: stderr %q, want nothing", args, got.Err)
	}
	if strings.ContainsRune(got.Out+got.Err, 0x1b) {
		t.Errorf("%q: a control character was printed: %q %q", args, got.Out, got.Err)
	}
}
