package main

import (
	"testing"
	"time"
)

func TestTheBusyShareIsTheTimeInHandlers(t *testing.T) {
	for _, c := range []struct {
		perSecond float64
		each      time.Duration
		slots     int
		want      float64
	}{
		{2_000, 50 * time.Millisecond, 100, 100},
		{1_500, 50 * time.Millisecond, 100, 75},
		{10_000, 5 * time.Millisecond, 100, 50},
		{100, time.Millisecond, 10, 1},
	} {
		if got := busyShare(c.perSecond, c.each, c.slots).value; got != c.want {
			t.Errorf("%v jobs/s of %v in %d slots: %v %%, want %v %%", c.perSecond, c.each, c.slots, got, c.want)
		}
	}
}

func TestABacklogOfSlowHandlersIsNotEmptiedInTime(t *testing.T) {
	for _, c := range []struct {
		form    sizes
		each    time.Duration
		backlog int
		workOff time.Duration
	}{
		{longForm, time.Millisecond, 100_000, 3 * time.Second}, // the whole backlog: 300,000 would run
		{longForm, 5 * time.Millisecond, 72_000, 3 * time.Second},
		{longForm, 50 * time.Millisecond, 7_200, 3 * time.Second},
		{shortForm, 50 * time.Millisecond, 4_800, 2 * time.Second}, // forty handlers one after the other
	} {
		got := c.form.forHandlers(c.each, 100)
		if got.backlog != c.backlog || got.workOff != c.workOff {
			t.Errorf("handlers of %v: %d jobs for %v, want %d for %v", c.each, got.backlog, got.workOff, c.backlog, c.workOff)
		}
	}
}
