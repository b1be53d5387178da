package chime

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

	"github.com/chimejobs/chime/internal/retry"
)

// fakeRole tells what happens to it.
type fakeRole struct {
	name  string
	diary *diary
	last  bool
	drain time.Duration
	fail  time.Duration // > 0: it fails by itself after this
	err   error         // what Run returns
	bad   error         // what validate returns
	ran   bool          // what runs returns
}

type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (r *fakeRole) Run(ctx context.Context) error {
	r.diary.write("%s begins", r.name)
	defer r.diary.write("%s ends", r.name)
	if r.fail > 0 && retry.Sleep(ctx, r.fail) {
		return r.err
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != ErrShutdown {
		r.diary.write("%s is told %v", r.name, cause)
	}
	time.Sleep(r.drain)
	return r.err
}

func (r *fakeRole) validate() error { return r.bad }
func (r *fakeRole) runs() bool      { return r.ran }
func (r *fakeRole) stopsLast() bool { return r.last }

func TestRunStopsWorkersBeforeSchedulers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		roles := []Role{
			&fakeRole{name: "scheduler", diary: d, last: true}, &fakeRole{name: "worker 1", diary: d, drain: 2 * time.Second},
			&fakeRole{name: "worker 2", diary: d, drain: time.Second},
		}
		start := time.Now()
		if err := Run(ctx, roles...); err != nil {
			t.Errorf("a clean end gave %v", err)
		}
		if took := time.Since(start); took != time.Hour+2*time.Second {
			t.Errorf("Run took %v", took)
		}
		if got, want := d.lines[3:], []string{"worker 2 ends", "worker 1 ends", "scheduler ends"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestARoleThatFailsStopsTheOthersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		failure := errors.New("no more")
		err := Run(t.Context(), &fakeRole{name: "scheduler", diary: d, last: true, fail: time.Minute, err: failure},
			&fakeRole{name: "worker", diary: d, drain: time.Second})
		if !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
		if got, want := d.lines[2:], []string{"scheduler ends", "worker ends"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestARoleThatFinishesLeavesTheOthersRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if err := Run(ctx, &fakeRole{name: "short", diary: d, fail: time.Minute}, &fakeRole{name: "worker", diary: d}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("Run took %v, want 1h", took)
		}
		if err := Run(t.Context(), &fakeRole{name: "short", diary: d, fail: time.Minute}); err != nil {
			t.Errorf("all have finished: %v", err)
		}
	})
}

func TestRunNeverReturnsItsContextsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := &DrainTimeoutError{IDs: []string{"a", "b"}}
		for _, test := range []struct{ role, want error }{{context.Canceled, nil}, {ErrShutdown, nil}, {cut, cut}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := Run(ctx, &fakeRole{diary: &diary{}, err: test.role})
			cancel()
			if !errors.Is(err, test.want) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the role returned %v, Run %v; want %v", test.role, err, test.want)
			}
			if test.want != nil && (!errors.Is(err, ErrDrainTimeout) || !strings.Contains(err.Error(), "a, b")) {
				t.Errorf("%v is no ErrDrainTimeout with the jobs' IDs", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d := &diary{}
		if err := Run(ctx, &fakeRole{diary: d}); err != nil || len(d.lines) > 0 {
			t.Errorf("ctx had ended: got %v, %q", err, d.lines)
		}
	})
}

func TestRunRefusesBadRolesBeforeAnyRoleStarts(t *testing.T) {
	d := &diary{}
	good := &fakeRole{name: "good", diary: d}
	for name, test := range map[string]struct {
		roles []Role
		want  []string
	}{
		"no roles":        {nil, []string{"without roles"}},
		"nil":             {[]Role{good, nil}, []string{"role 1 is nil"}},
		"a nil worker":    {[]Role{good, (*Worker)(nil)}, []string{"role 1 is nil"}},
		"one twice":       {[]Role{good, good}, []string{"roles 0 and 1 are the same"}},
		"one that runs":   {[]Role{good, &fakeRole{diary: d, ran: true}}, []string{"runs already"}},
		"options of two":  {[]Role{&fakeRole{diary: d, bad: errors.New("x is bad")}, good, &fakeRole{diary: d, bad: errors.New("y is bad")}}, []string{"x is bad", "y is bad"}},
		"worker's option": {[]Role{good, NewWorker(asStore(newEnqueueStore(t, 1)), WorkerOptions{Concurrency: -1})}, []string{"oncurrency"}},
	} {
		err := Run(t.Context(), test.roles...)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	if len(d.lines) > 0 {
		t.Errorf("something started: %q", d.lines)
	}
}
