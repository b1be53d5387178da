//go:build unix

package chaos

import (
	"slices"
	"testing"
	"time"
)

func TestASeedReplaysThePlan(t *testing.T) {
	if !slices.Equal(Plan(7, time.Minute, 1), Plan(7, time.Minute, 1)) {
		t.Error("two plans of the same seed differ")
	}
	if slices.Equal(Plan(7, time.Minute, 1), Plan(8, time.Minute, 1)) {
		t.Error("two seeds make the same plan")
	}
}

// The minimum number of each fault in ten minutes.
func TestAPlanOfTenMinutesHasEnoughOfEveryFault(t *testing.T) {
	want := map[Kind]int{
		KillWorker: 50, StopWorker: 25, EndWorker: 10, CutWorker: 20, KillLeader: 10, StopLeader: 10, KillEnqueuer: 10, KillChanger: 10,
		KillRedis: 10, EmptyRedis: 1, Outage: 20, Flush: 100, GoBack: 50,
	}
	for _, length := range []time.Duration{5 * time.Second, 10 * time.Minute} {
		got := map[Kind]int{}
		for _, f := range Plan(1, length, 1) {
			got[f.Kind]++
			if f.At < 0 || f.At >= length {
				t.Errorf("%v: want it within %v", f, length)
			}
		}
		for kind, n := range want {
			if length < time.Minute {
				n = 1
			}
			if got[kind] < n {
				t.Errorf("%d of %q in %v, want at least %d", got[kind], kind, length, n)
			}
		}
	}
}
