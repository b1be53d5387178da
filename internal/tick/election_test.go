package tick

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/retry"
)

// While a machine sleeps, the wall clock advances and the monotonic clock does not. A test cannot cause that. It uses times without a monotonic
// reading, which show that the wall clock alone ends a lease.
func TestALeaseEndsByTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(10 * time.Second)
		for wait, want := range map[time.Duration]bool{0: false, 9 * time.Second: false, 10 * time.Second: true, 10 * time.Minute: true} {
			if got := retry.Reached(at, time.Now().Round(0).Add(wait)); got != want {
				t.Errorf("after %v on the wall clock: reached %v, want %v", wait, got, want)
			}
		}
		if e := (election{term: 1, until: time.Now().Round(0).Add(-time.Second)}); e.leading() {
			t.Error("a lease that has ended by the wall clock is still held")
		}
	})
}
