package work

import (
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestABackoffIsKeptWithinItsLimits(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for given, want := range map[time.Duration]time.Duration{
		-time.Second: 0, 0: 0, time.Minute: time.Minute, 1<<63 - 1: protocol.MaxDelay,
	} {
		h := &Handler{Backoff: func(int) time.Duration { return given }}
		if got := h.delay(1, quiet); got != want {
			t.Errorf("a Backoff of %v waits %v, want %v", given, got, want)
		}
	}
	for failures := range 40 {
		if d := (&Handler{}).delay(failures, quiet); d <= 0 || d > MaxBackoff+time.Millisecond {
			t.Errorf("after %d failures the default waits %v, want up to %v", failures, d, MaxBackoff)
		}
	}
}

func TestTheEstimateOfTheStoresClockIsTrustedForAWhile(t *testing.T) {
	var c storeClock
	now := time.Now()
	if c.trusted(now) {
		t.Error("it is trusted before any answer")
	}
	c.set(now.Add(time.Hour), now)
	for after, want := range map[time.Duration]bool{0: true, time.Minute: true, 2*time.Minute + 1: false} {
		if got := c.trusted(now.Add(after)); got != want {
			t.Errorf("%v after the answer: %v, want %v", after, got, want)
		}
	}
	if got := c.at(now.Add(time.Second)); !got.Equal(now.Add(time.Hour + time.Second)) {
		t.Errorf("a second later it shows %v", got)
	}
	if got := c.until(now.Add(time.Hour + time.Second)); !got.Equal(now.Add(time.Second)) {
		t.Errorf("it will show that at %v", got)
	}
}
