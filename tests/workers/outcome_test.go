package workers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

func TestAHandlersErrorDecidesTheOutcome(t *testing.T) {
	bad := errors.New("bad")
	for _, test := range []struct {
		err     error
		action  chime.Action
		delay   time.Duration
		delayed bool
	}{
		{nil, chime.Succeeded, 0, false},
		{bad, chime.Retried, 0, false},
		{chime.RetryAfter(time.Minute, bad), chime.Retried, time.Minute, true},
		{chime.RetryAfter(0, bad), chime.Retried, 0, true},
		{chime.RetryAfter(-time.Minute, bad), chime.Retried, 0, true},
		{chime.RetryAfter(1<<62, bad), chime.Retried, protocol.MaxDelay, true},
		{chime.Discard(bad), chime.Discarded, 0, false},
		{chime.Snooze(time.Hour), chime.Snoozed, time.Hour, false},
		{chime.Snooze(-1), chime.Snoozed, 0, false},
		{fmt.Errorf("wrapped: %w", chime.Discard(bad)), chime.Discarded, 0, false},
		{fmt.Errorf("two: %w, %w", bad, chime.Snooze(time.Second)), chime.Snoozed, time.Second, false},
		{errors.Join(bad, chime.Discard(bad)), chime.Discarded, 0, false},
		{errors.Join(chime.RetryAfter(time.Second, bad), chime.Discard(bad)), chime.Retried, time.Second, true},
		{chime.Discard(chime.RetryAfter(time.Second, bad)), chime.Discarded, 0, false},
		{chime.RetryAfter(time.Second, fmt.Errorf("x: %w", chime.Discard(bad))), chime.Retried, time.Second, true},
	} {
		got := chime.OutcomeOf(test.err)
		if want := (chime.Outcome{Action: test.action, Delay: test.delay, Delayed: test.delayed, Err: test.err}); got != want {
			t.Errorf("OutcomeOf(%v) = %+v, want %+v", test.err, got, want)
		}
	}
}

func TestDiscardAndRetryAfterWrapTheError(t *testing.T) {
	bad := errors.New("bad")
	for _, err := range []error{chime.Discard(bad), chime.RetryAfter(time.Second, bad)} {
		if !errors.Is(err, bad) || err.Error() != "bad" {
			t.Errorf("got %v, want bad", err)
		}
	}
}

func TestDiscardAndRetryAfterOfNilAreNil(t *testing.T) {
	for name, err := range map[string]error{"Discard(nil)": chime.Discard(nil), "RetryAfter(time.Second, nil)": chime.RetryAfter(time.Second, nil)} {
		if err != nil {
			t.Errorf("%s = %v, want nil", name, err)
		}
	}
}

func TestActionsHaveNames(t *testing.T) {
	for action, want := range map[chime.Action]string{chime.Succeeded: "succeeded", chime.Retried: "retried", chime.Discarded: "discarded", chime.Snoozed: "snoozed", 9: "Action(9)"} {
		if got := action.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
