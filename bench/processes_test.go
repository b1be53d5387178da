package main

import "testing"

func TestEvennessIsTheLeastShareOfTheMost(t *testing.T) {
	for _, c := range []struct {
		shares []int64
		want   float64
	}{
		{[]int64{100, 100, 100, 100}, 100},
		{[]int64{50, 100, 80, 60}, 50},
		{[]int64{0, 10}, 0},
		{[]int64{0, 0}, 0},
	} {
		if got := evenness(c.shares).value; got != c.want {
			t.Errorf("%v: %v %%, want %v %%", c.shares, got, c.want)
		}
	}
}

// Every job of the queue runs once, in one of the processes.
func TestFourProcessesWorkOffOneQueue(t *testing.T) {
	r := testbedOf(t, tiny)
	for _, p := range []peer{chimePeer, asynqDefaults, gocraftDefaults} {
		lib := openEmpty(t, r, p)
		if err := fillBulk(t.Context(), lib, tiny.backlog); err != nil {
			t.Fatal(err)
		}
		e, shares, err := workOffTogether(t.Context(), r, p, lib, 0, new(waiting))
		if err != nil {
			t.Fatalf("%s: %v", p.name(), err)
		}
		if e.jobs != int64(tiny.backlog) || sum(shares) != e.jobs || len(shares) != sharingProcesses || e.took <= 0 {
			t.Errorf("%s: %d jobs in %v, shares %v, want %d", p.name(), e.jobs, e.took, shares, tiny.backlog)
		}
	}
}

func TestATallyIsReadAsAChildPrintsIt(t *testing.T) {
	if got := *tallyIn("12 1772960400000000001 60000000"); got != (tally{12, 1772960400000000001, 60_000_000}) {
		t.Errorf("got %+v", got)
	}
}
