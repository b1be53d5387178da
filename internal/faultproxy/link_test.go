package faultproxy

import (
	"testing"
	"time"
)

func TestALinkDelaysByDelayJitterLossAndLength(t *testing.T) {
	for _, c := range []struct {
		link     Link
		bytes    int
		from, to time.Duration
	}{
		{Link{}, 1000, 0, 0},
		{Link{Delay: 200 * time.Millisecond}, 1000, 200 * time.Millisecond, 200 * time.Millisecond},
		{Link{Delay: 200 * time.Millisecond, Jitter: 100 * time.Millisecond}, 0, 100 * time.Millisecond, 300 * time.Millisecond},
		{Link{Loss: 1, Resend: time.Second}, 0, time.Second, time.Second},
		{Link{Rate: 1000}, 500, 500 * time.Millisecond, 500 * time.Millisecond},
	} {
		for range 100 {
			if d := c.link.delay(c.bytes); d < c.from || d > c.to {
				t.Errorf("%+v delays %d bytes by %v, want %v to %v", c.link, c.bytes, d, c.from, c.to)
			}
		}
	}
}
