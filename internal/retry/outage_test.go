package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDelayDoublesFrom50MillisecondsTo1Second(t *testing.T) {
	for _, test := range []struct {
		failures int
		limit    time.Duration // the delay is at least half of it
	}{
		{0, 50 * time.Millisecond}, {1, 50 * time.Millisecond}, {2, 100 * time.Millisecond}, {3, 200 * time.Millisecond},
		{5, 800 * time.Millisecond}, {6, time.Second}, {1000, time.Second}, {1 << 40, time.Second},
	} {
		shortest, longest := time.Hour, time.Duration(0)
		for range 2000 {
			d := Delay(test.failures)
			shortest, longest = min(shortest, d), max(longest, d)
		}
		if shortest < test.limit/2 || longest > test.limit {
			t.Errorf("after %d failures Delay is %v to %v, want %v to %v", test.failures, shortest, longest, test.limit/2, test.limit)
		}
		if longest-shortest < test.limit/4 {
			t.Errorf("after %d failures Delay is %v to %v, want it spread over half of %v", test.failures, shortest, longest, test.limit)
		}
	}
}

// The duration of a slow call counts as waiting: the next attempt comes soon.
func TestTheTimeOfACallCountsAsWaiting(t *testing.T) {
	began := time.Now()
	for range 1000 {
		if at := After(began, 10, began).Sub(began); at < 500*time.Millisecond || at > time.Second {
			t.Fatalf("a call that failed at once is repeated after %v, want 0.5 to 1 s", at)
		}
		now := began.Add(3 * time.Second)
		if wait := After(began, 10, now).Sub(now); wait < 25*time.Millisecond || wait > 50*time.Millisecond {
			t.Fatalf("a call that failed after 3 s is repeated after %v more, want 25 to 50 ms", wait)
		}
	}
}

// newOutage returns an outage that logs to the text.
func newOutage() (*Outage, *strings.Builder) {
	text := new(strings.Builder)
	return &Outage{Log: slog.New(slog.NewTextHandler(text, nil))}, text
}

func TestAnOutageIsLoggedOnceAMinuteAndOnceWhenItIsOver(t *testing.T) {
	o, text := newOutage()
	now := time.Now()
	fails := func(what string) { o.Begin(what, "work", errLost, now) }
	count := func(when string, warnings, ends int) {
		t.Helper()
		if w, e := strings.Count(text.String(), "event=store.trouble"), strings.Count(text.String(), "event=store.recovered"); w != warnings || e != ends {
			t.Errorf("%s: %d warnings and %d ends are logged, want %d and %d", when, w, e, warnings, ends)
		}
	}
	o.End("a", now)
	count("nothing has failed", 0, 0)
	for range 59 {
		fails("a")
		fails("b")
		now = now.Add(time.Second)
	}
	count("two partitions have failed for 59 s", 1, 0)
	now = now.Add(time.Second)
	fails("a")
	count("a minute after the first warning", 2, 0)
	o.End("a", now)
	count("one partition still fails", 2, 0)
	o.End("b", now)
	count("both have succeeded", 2, 1)
	if !strings.Contains(text.String(), "event=store.recovered after_ms=60000") {
		t.Errorf("want the duration of the outage in %s", text.String())
	}
	o.End("b", now)
	count("both succeed again", 2, 1)
	fails("a")
	count("another outage begins within the minute", 3, 1)
}

func TestAnOutageOfManyPartitionsIsOneLineWithTheFirstCause(t *testing.T) {
	o, text := newOutage()
	causes := make([]error, 300)
	for i := range causes {
		causes[i] = fmt.Errorf("partition %d: %w", i, errLost)
	}
	o.Begin("leave", "leave", errors.Join(causes...), time.Now())
	if got := text.String(); !strings.Contains(got, `count=300 error="partition 0: connection lost"`) || strings.Count(got, "\n") != 1 || len(got) > 300 {
		t.Errorf("logged %.500q, want one line with the number of the causes and the first of them", got)
	}
}

func TestANilOutageLogsNothing(t *testing.T) {
	var o *Outage
	o.Begin("a", "work", errLost, time.Now())
	o.End("a", time.Now())
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if !Sleep(ctx, 59*time.Second) || time.Since(start) != 59*time.Second {
			t.Errorf("Sleep returned false or ended after %v, want true after 59s", time.Since(start))
		}
		if Sleep(ctx, time.Hour) || time.Since(start) != time.Minute {
			t.Errorf("Sleep returned true or ended after %v, want false when the ctx ended after 1m", time.Since(start))
		}
	})
}

func TestALogLimiterAllowsAMessageOnceAMinute(t *testing.T) {
	var l LogLimiter
	now := time.Now()
	for _, step := range []struct {
		after time.Duration
		key   string
		want  bool
	}{
		{0, "a", true}, {0, "a", false}, {0, "b", true}, {59 * time.Second, "a", false}, {60 * time.Second, "a", true}, {61 * time.Second, "a", false},
	} {
		if got := l.Allow(step.key, now.Add(step.after)); got != step.want {
			t.Errorf("message %q after %v: allowed %v, want %v", step.key, step.after, got, step.want)
		}
	}
}

func TestALogLimiterRemembersABoundedNumberOfMessages(t *testing.T) {
	var l LogLimiter
	now := time.Now()
	allowed := 0
	for i := range 3 * maxLimited {
		if l.Allow(fmt.Sprint(i), now) {
			allowed++
		}
	}
	if allowed != maxLimited || len(l.logged) != maxLimited {
		t.Errorf("of %d different messages %d are allowed and %d remembered, want %d", 3*maxLimited, allowed, len(l.logged), maxLimited)
	}
	if !l.Allow("later", now.Add(LogEvery)) || len(l.logged) != 1 {
		t.Errorf("a minute later %d messages are remembered, want only the new one", len(l.logged))
	}
}

func TestADutyIsDoneWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		d := Duty{Action: "sweep", Do: func(context.Context) (time.Duration, error) {
			at = append(at, time.Since(start))
			return 10 * time.Second, nil
		}}
		turns := func(n int) {
			for range n {
				d.Turn(t.Context(), nil)
				time.Sleep(time.Second) // fake time between two turns
			}
		}
		turns(25) // it is done after 0, 10 and 20 s
		d.Now()
		turns(5)  // at 25 s
		d.Retry() // it has not failed: nothing changes
		turns(5)
		if want := "[0s 10s 20s 25s]"; fmt.Sprint(at) != want {
			t.Errorf("the duty is done after %v, want %v", at, want)
		}
	})
}

func TestADutyThatFailsIsRepeatedSoonAndLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, text := newOutage()
		var err error
		tries := 0
		d := Duty{Action: "sweep", Do: func(context.Context) (time.Duration, error) { tries++; return time.Hour, err }}
		err = errLost
		for failures := range 12 {
			d.Turn(t.Context(), o)
			wait := time.Until(d.Next)
			if limit := min(50*time.Millisecond<<failures, 5*time.Second); wait < limit/2 || wait > limit {
				t.Errorf("after %d failures the duty waits %v, want %v to %v", failures+1, wait, limit/2, limit)
			}
			d.Turn(t.Context(), o) // too early
			time.Sleep(wait)       // fake time: now it is not too early
		}
		if tries != 12 {
			t.Errorf("the duty was tried %d times, want 12", tries)
		}
		d.Turn(t.Context(), o)
		d.Retry()
		err = nil
		d.Turn(t.Context(), o)
		if wait := time.Until(d.Next); tries != 14 || wait != time.Hour {
			t.Errorf("after Retry there were %d tries and the duty waits %v, want 14 and 1h", tries, wait)
		}
		d.Now()
		err = errLost
		d.Turn(t.Context(), o)
		if wait := time.Until(d.Next); wait > 50*time.Millisecond {
			t.Errorf("after a success the first failure waits %v, want at most 50ms", wait)
		}
		if !strings.Contains(text.String(), "event=store.trouble action=sweep") || !strings.Contains(text.String(), "event=store.recovered") {
			t.Errorf("want the outage and its end in %s", text.String())
		}
	})
}

func TestADutyThatHangsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got error
		d := Duty{Do: func(ctx context.Context) (time.Duration, error) { <-ctx.Done(); got = ctx.Err(); return 0, got }}
		d.Turn(t.Context(), nil)
		if !errors.Is(got, context.DeadlineExceeded) || time.Since(start) != DutyTimeout {
			t.Errorf("the duty ended with %v after %v, want DeadlineExceeded after %v", got, time.Since(start), DutyTimeout)
		}
	})
}

// A test cannot make the two clocks differ; see also the test of the lease in package tick.
func TestAnInstantIsReachedWhenItHasComeByEitherClock(t *testing.T) {
	now := time.Now()
	wall := func(d time.Duration) time.Time { return now.Round(0).Add(d) } // without a monotonic reading
	for _, test := range []struct {
		at   time.Time
		want bool
	}{
		{now, true}, {now.Add(-1), true}, {now.Add(1), false}, {wall(0), true}, {wall(-time.Hour), true}, {wall(time.Hour), false}, {time.Time{}, true},
	} {
		if got := Reached(test.at, now); got != test.want {
			t.Errorf("%v is reached at %v: %v, want %v", test.at, now, got, test.want)
		}
	}
}

// A partition whose calls failed and that nobody uses any more, for example a deleted queue, is forgotten after an hour: the outage is over.
func TestAnActionThatIsNotTriedAgainIsNoOutage(t *testing.T) {
	o, text := newOutage()
	now := time.Now()
	for i := range 1000 {
		o.Begin(fmt.Sprint("deleted", i), "work", errLost, now)
	}
	o.Begin("used", "work", errLost, now)
	for range 59 {
		now = now.Add(time.Minute)
		o.End("used", now)
	}
	if len(o.failed) != 1000 || strings.Contains(text.String(), "event=store.recovered") {
		t.Errorf("%d actions are remembered after 59 minutes, want 1000 and no end", len(o.failed))
	}
	now = now.Add(time.Minute)
	o.Begin("new", "work", errLost, now)
	o.End("new", now)
	if len(o.failed) != 0 || strings.Count(text.String(), "event=store.recovered") != 1 {
		t.Errorf("%d actions are remembered after an hour, want none, and one end:\n%s", len(o.failed), text)
	}
}
