package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A fixture is a service on an embedded store, under fake time. Nothing runs until work is called.
type fixture struct {
	*Service
	t      *testing.T
	server *embedded.Server
	stops  []func()

	mu   sync.Mutex
	ran  []string                   // IDs of the jobs that ran, attempt by attempt
	fail func(job *chime.Job) error // the result of the handlers; nil: success
	hang map[string]<-chan struct{} // by schedule: its jobs run until the channel is closed
}

// onService runs a test in a bubble, with collection demo.
func onService(t *testing.T, options Options, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, server: embedded.StartInMemory(), hang: map[string]<-chan struct{}{}}
		options.Store = f.server.Store()
		f.Service = New(options)
		defer func() {
			for _, stop := range f.stops {
				stop()
			}
			_ = f.server.Close()
		}()
		f.collect("demo", &resource.Collection{})
		test(t, f)
	})
}

// start runs a role until the end of the test, or until stop is called.
func (f *fixture) start(roles ...chime.Role) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("a role ended with %v", err)
		}
	})
	f.stops = append(f.stops, stop)
	return stop
}

// work starts a scheduler, and a worker that handles actions and jobs named app.
func (f *fixture) work() (stop func()) {
	worker := chime.NewWorker(f.server.Store(), chime.WorkerOptions{Concurrency: 20})
	for _, name := range []string{action.JobName, "app"} {
		worker.Handle(name, f.handle)
	}
	return f.start(worker, chime.NewScheduler(f.server.Store(), chime.SchedulerOptions{}))
}

func (f *fixture) handle(ctx context.Context, job *chime.Job) error {
	f.mu.Lock()
	f.ran = append(f.ran, job.ID)
	fail, hang := f.fail, f.hang[job.Schedule]
	f.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
		}
	}
	if fail != nil {
		return fail(job)
	}
	return nil
}

// runs returns the IDs of a job's runs since the last call for it, error actions included.
func (f *fixture) runs(n resource.JobName) (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran = slices.DeleteFunc(f.ran, func(id string) bool {
		its := strings.HasPrefix(id, n.Schedule()+"@") || strings.HasPrefix(id, n.Schedule()+"#")
		if its {
			ids = append(ids, id)
		}
		return its
	})
	return ids
}

func (f *fixture) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// collect puts a collection, and requires success.
func (f *fixture) collect(name string, c *resource.Collection) *Collection {
	f.t.Helper()
	stored, _, err := f.PutCollection(f.t.Context(), name, Condition{}, func(*Collection) (*resource.Collection, error) { return c, nil })
	if err != nil {
		f.t.Fatalf("put collection %s: %v", name, err)
	}
	return stored
}

// put puts a job, and requires success.
func (f *fixture) put(n resource.JobName, j *resource.Job) *Job {
	f.t.Helper()
	stored, _, err := f.tryPut(n, j)
	if err != nil {
		f.t.Fatalf("put %s: %v", n.Schedule(), err)
	}
	return stored
}

func (f *fixture) tryPut(n resource.JobName, j *resource.Job) (*Job, bool, error) {
	return f.PutJob(f.t.Context(), n, Condition{}, false, func(*Job) (*resource.Job, error) { return j, nil })
}

// patchState patches the state of a job.
func (f *fixture) patchState(n resource.JobName, state resource.State) (*Job, error) {
	j, _, err := f.PutJob(f.t.Context(), n, Condition{}, true, func(old *Job) (*resource.Job, error) {
		if old == nil {
			return nil, noJob(n)
		}
		changed := *old.Job
		changed.State = state
		return &changed, nil
	})
	return j, err
}

// get returns a job, and requires that it exists.
func (f *fixture) get(n resource.JobName) *Job {
	f.t.Helper()
	j, err := f.GetJob(f.t.Context(), n)
	if err != nil {
		f.t.Fatalf("get %s: %v", n.Schedule(), err)
	}
	return j
}

// setState enables or disables a collection, and requires that it is done at once.
func (f *fixture) setState(name, state string) {
	f.t.Helper()
	if c, done, err := f.SetCollectionState(f.t.Context(), name, state); err != nil || !done || c.State != state {
		f.t.Fatalf("collection %s to %s: %+v, done %v, %v", name, state, c, done, err)
	}
}

// wantCode requires a problem of a code.
func wantCode(t *testing.T, what string, err error, code problem.Code) {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

var report = resource.JobName{Collection: "demo", Job: "report"}

// job is a job that POSTs to a URL, with a rule.
func job(rule string) *resource.Job {
	return &resource.Job{Rule: parsed(rule), KeepRuns: 100, Now: rule == "", Action: post()}
}

func parsed(rule string) recurrence.Recurrence {
	if rule == "" {
		return recurrence.Recurrence{}
	}
	return recurrence.MustParse(rule)
}

func post() *action.Action {
	return &action.Action{Type: action.HTTPS, Request: &action.Request{URI: "https://example.com/report", Method: "POST"}}
}

// with is a job with one thing changed.
func with(j *resource.Job, change func(*resource.Job)) *resource.Job {
	c := *j
	c.Action = j.Action.Clone()
	change(&c)
	return &c
}

const hourly = `{"frequency": "hour", "startTime": "2000-01-01T00:30:00Z"}`

// checkInvariant compares the whole store with the package's invariant for times without writers.
func (f *fixture) checkInvariant(what string) {
	f.t.Helper()
	ctx := f.t.Context()
	collections := map[string]*collection.Record{}
	names := map[string]bool{}
	for c, err := range f.collections.List(ctx, "") {
		if err != nil {
			f.t.Fatal(err)
		}
		collections[c.Name] = c
		if c.Transition != 0 {
			f.t.Errorf("%s: collection %s has an unfinished transition to %s", what, c.Name, c.State)
		}
		all, total, err := f.collections.Names(ctx, c.Name, collection.NameFilter{Limit: 1000})
		if err != nil {
			f.t.Fatal(err)
		}
		if total > c.MaxNames {
			f.t.Errorf("%s: collection %s has %d names, its quota is %d", what, c.Name, total, c.MaxNames)
		}
		for _, name := range all {
			names[c.Name+":"+name] = true
		}
	}
	for s, err := range f.schedules.List(ctx, chime.ScheduleFilter{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		m, ours := metaOf(s)
		if !ours {
			continue
		}
		c := collections[jobOf(s.Name).Collection]
		if next := nextStep(s, m, c); next != stay {
			f.t.Errorf("%s: %s is %s (%s), wanted %s in collection %+v: it is not in its target state", what, s.Name, s.State, s.Note.By, m.State, c)
		}
		key := prefixOf(jobOf(s.Name).Collection) + string(m.Name)
		if !names[key] {
			f.t.Errorf("%s: schedule %s has no name in its collection", what, s.Name)
		}
		delete(names, key)
	}
	for name := range names {
		f.t.Errorf("%s: name %s has no schedule", what, name)
	}
}

// text describes a view in messages.
func text(j *Job) string {
	if j == nil {
		return "none"
	}
	return fmt.Sprintf("%s held %q at revision %d, next %s", j.State, j.Held, j.Revision, j.Next.UTC().Format(time.RFC3339))
}
