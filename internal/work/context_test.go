package work

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

type contextKey struct{}

func newTestContext() *jobContext {
	base := context.WithValue(context.WithoutCancel(context.Background()), contextKey{}, "base")
	c := new(jobContext)
	c.begin(newHandlerContext(base))
	return c
}

func TestAJobsContextSaysWhyItEnded(t *testing.T) {
	for _, test := range []struct {
		cause     error
		err, want error // what Err and Cause return
	}{
		{ErrTimeout, context.DeadlineExceeded, ErrTimeout},
		{ErrShutdown, context.Canceled, ErrShutdown},
		{protocol.ErrSessionLost, context.Canceled, protocol.ErrSessionLost},
		{ErrReplaced, context.Canceled, ErrReplaced},
		{nil, context.Canceled, context.Canceled}, // its handler has returned
	} {
		for _, used := range []bool{false, true} { // whether Done is called before the end
			c := newTestContext()
			if used {
				select {
				case <-c.Done():
					t.Fatal("Done is closed before the end")
				default:
				}
			}
			if c.Err() != nil || context.Cause(c) != nil {
				t.Errorf("before the end Err = %v and Cause = %v, want nil", c.Err(), context.Cause(c))
			}
			c.end(test.cause)
			c.end(errors.New("a second end"))
			if c.Err() != test.err || !errors.Is(context.Cause(c), test.want) {
				t.Errorf("ended by %v, Done called before: %v: Err = %v and Cause = %v, want %v and %v", test.cause, used, c.Err(), context.Cause(c), test.err, test.want)
			}
			select {
			case <-c.Done():
			default:
				t.Errorf("ended by %v, Done called before: %v: Done is open", test.cause, used)
			}
		}
	}
}

// otherKey is a key that the application uses.
type otherKey struct{}

func TestContextsDerivedFromAJobsContextEndWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestContext()
		plain, cancel := context.WithCancel(c)
		defer cancel()
		timed, cancel := context.WithTimeout(context.WithValue(c, otherKey{}, 1), time.Hour)
		defer cancel()
		free := context.WithoutCancel(c)
		called := false
		context.AfterFunc(c, func() { called = true })
		c.end(ErrReplaced)
		synctest.Wait() // for AfterFunc
		for name, derived := range map[string]context.Context{"WithCancel": plain, "WithTimeout": timed} {
			if derived.Err() == nil || !errors.Is(context.Cause(derived), ErrReplaced) {
				t.Errorf("%s: Err = %v and Cause = %v, want it ended by ErrReplaced", name, derived.Err(), context.Cause(derived))
			}
		}
		if !called {
			t.Error("AfterFunc was not called")
		}
		if free.Err() != nil || context.Cause(free) != nil {
			t.Errorf("WithoutCancel: Err = %v and Cause = %v, want nil", free.Err(), context.Cause(free))
		}
		late, cancel := context.WithCancel(c)
		defer cancel()
		if !errors.Is(context.Cause(late), ErrReplaced) {
			t.Errorf("derived after the end: Cause = %v, want ErrReplaced", context.Cause(late))
		}
	})
}

func TestAJobsContextHasTheValuesOfRunsContext(t *testing.T) {
	c := newTestContext()
	if v := c.Value(contextKey{}); v != "base" {
		t.Errorf("Value = %v, want the base's", v)
	}
	if c.live != nil {
		t.Error("Value made the context cancellable, which is the most expensive part of a job")
	}
	if cancellableKey == nil {
		t.Error("context.Cause calls Value with no key: every Value makes a context cancellable")
	}
}
