package work

import (
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

func TestABackoffIsKeptWithinItsLimits(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for given, want := range map[time.Duration]time.Duration{
		-time.Second: 0, 0: 0, time.Minute: time.Minute, 1<<63 - 1: protocol.MaxDelay,
	} {
		h := &Handler{Backoff: func(int) time.Duration { return given }}
		if got := h.delay(wire.Retry{}, 1, quiet); got != want {
			t.Errorf("a Backoff of %v waits %v, want %v", given, got, want)
		}
	}
}

func TestTheDefaultBackoffIsTheFourthPowerOfTheFailures(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for failures, middle := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 16 * time.Second, 3: 81 * time.Second, 24: 331_776 * time.Second,
	} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			d := (&Handler{}).delay(wire.Retry{}, failures, quiet)
			if lowest, highest := middle*3/4, middle*5/4; d < lowest || d > highest {
				t.Fatalf("after %d failures: %v, want %v to %v", failures, d, lowest, highest)
			}
			seen[d] = true
		}
		if len(seen) < 900 {
			t.Errorf("after %d failures there are only %d different delays in 1000: jobs that failed together come back together", failures, len(seen))
		}
	}
	if d := (&Handler{}).delay(wire.Retry{}, 999, quiet); d != protocol.MaxDelay {
		t.Errorf("after 999 failures: %v, want at most 100 years", d)
	}
	total := time.Duration(0)
	for failures := 1; failures < 25; failures++ {
		total += (&Handler{}).delay(wire.Retry{}, failures, quiet)
	}
	if days := total.Hours() / 24; days < 15.3 || days > 25.6 {
		t.Errorf("25 attempts last %.1f days, want about 20", days)
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
