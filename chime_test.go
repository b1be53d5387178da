package chime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// A fakeRole records its events in an event log.
type fakeRole struct {
	name   string
	events *eventLog
	last   bool          // what stopsLast returns
	drain  time.Duration // how long Run continues after its ctx has ended
	fail   time.Duration // > 0: it fails by itself after this
	err    error         // what Run returns
	bad    error         // what validate returns
	ran    bool          // what runs returns
}

// An eventLog keeps events in their order.
type eventLog struct {
	mu     sync.Mutex
	events []string
}

func (l *eventLog) write(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, fmt.Sprintf(format, args...))
}

func (r *fakeRole) Run(ctx context.Context) error {
	r.events.write("%s begins", r.name)
	defer r.events.write("%s ends", r.name)
	if r.fail > 0 && retry.Sleep(ctx, r.fail) {
		return r.err
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != ErrShutdown {
		r.events.write("%s ends because of %v", r.name, cause)
	}
	time.Sleep(r.drain) // fake time: how long the role drains
	return r.err
}

func (r *fakeRole) validate() error { return r.bad }
func (r *fakeRole) runs() bool      { return r.ran }
func (r *fakeRole) stopsLast() bool { return r.last }

func TestRunStopsWorkersBeforeSchedulers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &eventLog{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		roles := []Role{
			&fakeRole{name: "scheduler", events: log, last: true}, &fakeRole{name: "worker 1", events: log, drain: 2 * time.Second},
			&fakeRole{name: "worker 2", events: log, drain: time.Second},
		}
		start := time.Now()
		if err := Run(ctx, roles...); err != nil {
			t.Errorf("Run returned %v after a clean end, want nil", err)
		}
		if took := time.Since(start); took != time.Hour+2*time.Second {
			t.Errorf("Run took %v, want an hour and the longest drain", took)
		}
		if got, want := log.events[3:], []string{"worker 2 ends", "worker 1 ends", "scheduler ends"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestARoleThatFailsStopsTheOthersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &eventLog{}
		failure := errors.New("no more")
		err := Run(t.Context(), &fakeRole{name: "scheduler", events: log, last: true, fail: time.Minute, err: failure},
			&fakeRole{name: "worker", events: log, drain: time.Second})
		if !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
		if got, want := log.events[2:], []string{"scheduler ends", "worker ends"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestARoleThatFinishesLeavesTheOthersRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &eventLog{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if err := Run(ctx, &fakeRole{name: "short", events: log, fail: time.Minute}, &fakeRole{name: "worker", events: log}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("Run took %v, want 1h", took)
		}
		if err := Run(t.Context(), &fakeRole{name: "short", events: log, fail: time.Minute}); err != nil {
			t.Errorf("after all roles have finished Run returned %v, want nil", err)
		}
	})
}

func TestRunNeverReturnsItsContextsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := &DrainTimeoutError{IDs: []string{"a", "b"}}
		for _, test := range []struct{ role, want error }{{context.Canceled, nil}, {ErrShutdown, nil}, {cut, cut}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := Run(ctx, &fakeRole{events: &eventLog{}, err: test.role})
			cancel()
			if !errors.Is(err, test.want) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the role returned %v, Run %v; want %v", test.role, err, test.want)
			}
			if test.want != nil && (!errors.Is(err, ErrDrainTimeout) || !strings.Contains(err.Error(), "a, b")) {
				t.Errorf("got %v, want ErrDrainTimeout with the jobs' IDs", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		log := &eventLog{}
		if err := Run(ctx, &fakeRole{events: log}); err != nil || len(log.events) > 0 {
			t.Errorf("with a ctx that has ended Run returned %v and wrote %q, want nil and nothing", err, log.events)
		}
	})
}

func TestRunRefusesBadRolesBeforeAnyRoleStarts(t *testing.T) {
	log := &eventLog{}
	good := &fakeRole{name: "good", events: log}
	for name, test := range map[string]struct {
		roles []Role
		want  []string
	}{
		"no roles":        {nil, []string{"without roles"}},
		"nil":             {[]Role{good, nil}, []string{"role 1 is nil"}},
		"a nil worker":    {[]Role{good, (*Worker)(nil)}, []string{"role 1 is nil"}},
		"one twice":       {[]Role{good, good}, []string{"roles 0 and 1 are the same"}},
		"one that runs":   {[]Role{good, &fakeRole{events: log, ran: true}}, []string{"runs already"}},
		"options of two":  {[]Role{&fakeRole{events: log, bad: errors.New("x is bad")}, good, &fakeRole{events: log, bad: errors.New("y is bad")}}, []string{"x is bad", "y is bad"}},
		"worker's option": {[]Role{good, NewWorker(asStore(noStore{}), WorkerOptions{Concurrency: -1})}, []string{"oncurrency"}},
	} {
		err := Run(t.Context(), test.roles...)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	if len(log.events) > 0 {
		t.Errorf("roles started: %q", log.events)
	}
}

// Every default in the README's table equals the one in chime.go.
func TestReadmeDefaults(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "## Defaults")
	table, _, _ := strings.Cut(rest, "##")
	got := map[string]string{}
	for _, pair := range regexp.MustCompile("`([A-Za-z.]+)` \\| ([^|]+?) \\|").FindAllStringSubmatch(table, -1) {
		got[pair[1]] = strings.Trim(pair[2], "`")
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.0fs", d.Seconds()) }
	power := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[defaultBackoffPower]
	want := map[string]string{
		"MaxAttempts":                 fmt.Sprintf("%d for a job; %d for an occurrence of a schedule", defaultMaxAttempts, defaultOccurrenceAttempts),
		"Backoff":                     fmt.Sprintf("n%c s × %.2f to %.2f", power, defaultMinBackoffSpread, defaultMaxBackoffSpread),
		"Timeout":                     fmt.Sprintf("%.0fm", defaultTimeout.Minutes()),
		"Queue":                       defaultQueue,
		"Grace":                       seconds(defaultGrace),
		"MisfireCatchUp":              fmt.Sprintf("%.0fh, %d runs", defaultCatchUp.Hours(), defaultMaxCatchUp),
		"WorkerOptions.Concurrency":   fmt.Sprintf("%d × GOMAXPROCS", defaultConcurrency),
		"WorkerOptions.SessionTTL":    seconds(defaultSessionTTL),
		"WorkerOptions.DrainTimeout":  seconds(defaultDrainTimeout),
		"WorkerOptions.MaxCrashes":    fmt.Sprint(defaultMaxCrashes),
		"EnqueuerOptions.Queue":       EnqueuerOptions{}.withDefaults().Queue,
		"EnqueuerOptions.MaxPayload":  fmt.Sprintf("%d MiB", defaultMaxPayload>>20),
		"EnqueuerOptions.SendTimeout": seconds(defaultSendTimeout),
		"SchedulerOptions.LeaderTTL":  seconds(defaultLeaderTTL),
		"SchedulerOptions.SafetyTick": seconds(defaultSafetyTick),
	}
	for option, value := range want {
		if got[option] != value {
			t.Errorf("README.md has %s = %q, the source has %q", option, got[option], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("README.md has %d defaults, want %d: %v", len(got), len(want), got)
	}
}

// direct is a Store whose protocol a test implements itself.
type direct struct{ store protocol.Store }

func (d direct) Protocol() protocol.Store { return d.store }

func asStore(store protocol.Store) Store { return direct{store} }

// A noStore is a store on which every call panics.
type noStore struct{ protocol.Store }

// A fitStore is a store that is fit, and on which every other call panics.
type fitStore struct{ noStore }

func (fitStore) Check(context.Context) error { return nil }

func (fitStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

// A panicRole panics after a minute.
type panicRole struct{}

func (panicRole) Run(ctx context.Context) error {
	retry.Sleep(ctx, time.Minute)
	panic("a slip")
}

// If a role panics, the others end in order, and their handlers are drained.
func TestAPanicOfARoleStopsTheOthersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(eventLog)
		err := Run(t.Context(), &fakeRole{name: "scheduler", events: log, last: true}, panicRole{}, &fakeRole{name: "worker", events: log, drain: time.Second})
		var panicked *PanicError
		if !errors.As(err, &panicked) || panicked.Value != "a slip" || !strings.Contains(string(panicked.Stack), "panicRole") || !strings.Contains(err.Error(), "Run of a chime.panicRole: panic: a slip") {
			t.Errorf("got the error %v, want a PanicError with the stack", err)
		}
		if n := len(log.events); n != 4 || log.events[2] != "worker ends" || log.events[3] != "scheduler ends" {
			t.Errorf("got the events %q, want the worker's end and then the scheduler's", log.events)
		}
	})
}
