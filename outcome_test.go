package chime

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestAHandlersErrorDecidesTheOutcome(t *testing.T) {
	bad := errors.New("bad")
	for _, test := range []struct {
		err     error
		action  Action
		delay   time.Duration
		delayed bool
	}{
		{nil, Succeeded, 0, false},
		{bad, Retried, 0, false},
		{RetryAfter(time.Minute, bad), Retried, time.Minute, true},
		{RetryAfter(0, bad), Retried, 0, true},
		{RetryAfter(-time.Minute, bad), Retried, 0, true},
		{RetryAfter(1<<62, bad), Retried, protocol.MaxDelay, true},
		{Discard(bad), Discarded, 0, false},
		{Snooze(time.Hour), Snoozed, time.Hour, false},
		{Snooze(-1), Snoozed, 0, false},
		{fmt.Errorf("wrapped: %w", Discard(bad)), Discarded, 0, false},
		{fmt.Errorf("two: %w, %w", bad, Snooze(time.Second)), Snoozed, time.Second, false},
		{errors.Join(bad, Discard(bad)), Discarded, 0, false},
		{errors.Join(RetryAfter(time.Second, bad), Discard(bad)), Retried, time.Second, true},
		{Discard(RetryAfter(time.Second, bad)), Discarded, 0, false},
		{RetryAfter(time.Second, fmt.Errorf("x: %w", Discard(bad))), Retried, time.Second, true},
	} {
		got := OutcomeOf(test.err)
		if want := (Outcome{test.action, test.delay, test.delayed, test.err}); got != want {
			t.Errorf("OutcomeOf(%v) = %+v, want %+v", test.err, got, want)
		}
	}
}

func TestDiscardAndRetryAfterWrapTheError(t *testing.T) {
	bad := errors.New("bad")
	for _, err := range []error{Discard(bad), RetryAfter(time.Second, bad)} {
		if !errors.Is(err, bad) || err.Error() != "bad" {
			t.Errorf("got %v, want bad", err)
		}
	}
}

func TestDiscardAndRetryAfterOfNilAreNil(t *testing.T) {
	for name, err := range map[string]error{"Discard(nil)": Discard(nil), "RetryAfter(time.Second, nil)": RetryAfter(time.Second, nil)} {
		if err != nil {
			t.Errorf("%s = %v, want nil", name, err)
		}
	}
}

func TestActionsHaveNames(t *testing.T) {
	for action, want := range map[Action]string{Succeeded: "succeeded", Retried: "retried", Discarded: "discarded", Snoozed: "snoozed", 9: "Action(9)"} {
		if got := action.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
