package groupmodel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestBadRulesAreRefused(t *testing.T) {
	for _, r := range []Rule{
		{Weight: -1}, {Weight: 1_001}, {Ordered: On, Running: 2}, {Per: 1}, {Starts: 5}, {Starts: 1_000_001, Per: 1}, {Starts: 1, Per: maxPer + 1},
		{Running: -2}, {Waiting: -2},
	} {
		m := New()
		if err := m.SetGroup("g", r, 0); !errors.Is(err, ErrInvalid) {
			t.Errorf("SetGroup %+v: %v", r, err)
		}
		if err := m.SetGroups(r, 0); !errors.Is(err, ErrInvalid) {
			t.Errorf("SetGroups %+v: %v", r, err)
		}
		if got, want := m.rule("g"), (Rule{Weight: 1}); got != want {
			t.Errorf("after %+v was refused the rule is %+v, want %+v", r, got, want)
		}
	}
	for _, key := range []string{"", "a\tb", strings.Repeat("x", 201)} {
		if err := New().SetGroup(key, Rule{}, 0); !errors.Is(err, ErrInvalid) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if got := New().Enqueue(Item{ID: "a", Group: "a\tb"}, 0); got != Invalid {
		t.Errorf("a group with a tab: %s", got)
	}
}

func TestAQueueHasAtMostAHundredThousandRulesAndPauses(t *testing.T) {
	m := New()
	for i := range maxRules - 1 {
		m.rules[string(rune(0x4e00+i%1_000))+string(rune(0x4e00+i/1_000))] = Rule{}
	}
	if err := m.PauseGroup("paused", 0); err != nil {
		t.Errorf("the last pause that is allowed: %v", err)
	}
	if err := m.SetGroup("more", Rule{Weight: 2}, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("a rule beyond the limit: %v", err)
	}
	if err := m.PauseGroup("more", 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("a pause beyond the limit: %v", err)
	}
	if err := m.PauseGroup("paused", 0); err != nil {
		t.Errorf("a pause that exists: %v", err)
	}
}

func TestARuleIsTheGroupsThenTheQueues(t *testing.T) {
	queue := Rule{Weight: 4, Running: 3, Starts: 100, Per: 60_000, Waiting: 50, Ordered: Off}
	for _, c := range []struct{ own, want Rule }{
		{Rule{}, queue},
		{Rule{Weight: 2}, Rule{Weight: 2, Running: 3, Starts: 100, Per: 60_000, Waiting: 50, Ordered: Off}},
		{Rule{Running: NoLimit, Starts: NoLimit, Waiting: NoLimit}, Rule{Weight: 4, Running: NoLimit, Starts: NoLimit, Waiting: NoLimit, Ordered: Off}},
		{Rule{Ordered: On}, Rule{Weight: 4, Running: 3, Starts: 100, Per: 60_000, Waiting: 50, Ordered: On}},
		{Rule{Starts: 1, Per: 5}, Rule{Weight: 4, Running: 3, Starts: 1, Per: 5, Waiting: 50, Ordered: Off}},
	} {
		m := New()
		if err := errors.Join(m.SetGroups(queue, 0), m.SetGroup("g", c.own, 0)); err != nil {
			t.Fatal(err)
		}
		if got := m.rule("g"); got != c.want {
			t.Errorf("own rule %+v: in effect %+v, want %+v", c.own, got, c.want)
		}
		if m.ResetGroup("g", 0); m.rule("g") != queue {
			t.Errorf("after the reset the rule is %+v, want the queue's", m.rule("g"))
		}
	}
}

func TestAPauseIsBesideTheRule(t *testing.T) {
	c := newClocked(t)
	_ = c.SetGroup("g", Rule{Running: 1}, c.now)
	c.add("g", "a b")
	_ = c.PauseGroup("g", c.now)
	c.ResetGroup("g", c.now)
	c.starts("")
	_ = c.SetGroup("g", Rule{Running: 1}, c.now)
	c.ResumeGroup("g", c.now)
	if got := len(c.take(2)); got != 1 {
		t.Errorf("started %d jobs after the pause, want 1", got)
	}
}

func TestRunningLimitsTheFlightsOfEachGroup(t *testing.T) {
	c := newClocked(t)
	_ = c.SetGroups(Rule{Running: 2}, c.now)
	c.add("g", "a b c d e f")
	if got := len(c.take(5)); got != 2 {
		t.Errorf("started %d jobs, want 2", got)
	}
	c.Crash("s", c.now)
	if got := len(c.Take("other", 5, c.now).Flights); got != 0 {
		t.Errorf("started %d jobs before the vanished session was reaped", got)
	}
	c.Reap("s", 1, c.now)
	if got := len(c.Take("other", 5, c.now).Flights); got != 1 {
		t.Errorf("started %d jobs after one flight was reaped, want 1", got)
	}
	_ = c.SetGroups(Rule{Running: 3}, c.now)
	if got := len(c.Take("other", 5, c.now).Flights); got != 1 {
		t.Errorf("started %d jobs under the higher limit, want 1", got)
	}
}

func TestAGroupThatIsFullAcceptsNoMore(t *testing.T) {
	c := newClocked(t)
	_ = c.SetGroup("g", Rule{Waiting: 2}, c.now)
	for _, want := range []Receipt{Accepted, Accepted, Full} {
		if got := c.Enqueue(Item{ID: string(want) + string(rune('0'+len(c.jobs))), Group: "g"}, c.now); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	c.take(1)
	if got := c.Enqueue(Item{ID: "next", Group: "g"}, c.now); got != Accepted {
		t.Errorf("after a job has started: %s", got)
	}
}

// There are never more than Starts within any Per of time that has passed, also if the clock steps back.
func TestStartsNeverExceedTheirRule(t *testing.T) {
	for _, limit := range []int{1, 5, 31, 100} {
		random := rand.New(rand.NewPCG(uint64(limit), 4))
		c := newClocked(t)
		_ = c.SetGroups(Rule{Starts: limit, Per: per}, c.now)
		var passed int64
		var times []int64
		for i := 0; passed < 20*per; i++ {
			if c.Group("g", c.now).Waiting < 5 {
				c.add("g", fmt.Sprintf("%d.a %d.b", i, i))
			}
			step := random.Int64N(2 * per / int64(limit))
			c.now, passed = c.now+step, passed+step
			if random.IntN(200) == 0 {
				c.now -= 600_000
				c.StepBack(c.now)
			}
			for _, f := range c.take(limit) {
				if random.IntN(10) == 0 {
					c.Back(f, c.now)
					continue
				}
				times = append(times, passed)
				c.Done(f, c.now)
			}
			first := 0
			for at, time := range times {
				for time-times[first] >= per {
					first++
				}
				if at-first+1 > limit {
					t.Fatalf("%d starts within %d ms, want at most %d", at-first+1, time-times[first], limit)
				}
			}
			times = times[first:]
		}
	}
}

func TestStartsAreFreeAgainAfterPer(t *testing.T) {
	c := newClocked(t)
	_ = c.SetGroup("g", Rule{Starts: 2, Per: per}, c.now)
	c.add("g", "a b c d")
	if got := c.Take("s", 4, c.now); len(got.Flights) != 2 || got.Next != c.now+per+1 {
		t.Errorf("took %+v, want 2 jobs and the next after Per", got)
	}
	c.now += per
	if got := len(c.take(4)); got != 0 {
		t.Errorf("started %d jobs before Per had passed", got)
	}
	c.now++
	if got := len(c.take(4)); got != 2 {
		t.Errorf("started %d jobs after Per, want 2", got)
	}
}

func TestAStartThatIsGivenBackIsFree(t *testing.T) {
	c := newClocked(t)
	_ = c.SetGroup("g", Rule{Starts: 2, Per: per}, c.now)
	c.add("g", "a b c d")
	flights := c.take(2)
	if got := c.Group("g", c.now); got.Blocked != ByStarts || got.Until != c.now+per+1 {
		t.Errorf("after two starts the group is %+v, want it blocked until Per has passed", got)
	}
	c.Back(flights[1], c.now)
	if got := len(c.take(2)); got != 1 {
		t.Errorf("started %d jobs after one was given back, want 1", got)
	}
}

// A clock that steps back ten minutes costs a group at most one Per.
func TestStartsOfAClockThatSteppedBack(t *testing.T) {
	c := newClocked(t)
	_ = c.SetGroup("g", Rule{Starts: 1, Per: per}, c.now)
	c.add("g", "a b")
	c.take(1)
	c.now -= 600_000
	c.StepBack(c.now)
	if got := c.Take("s", 1, c.now); len(got.Flights) != 0 || got.Next != c.now+per+1 {
		t.Errorf("took %+v, want nothing before Per has passed", got)
	}
	c.now += per + 1
	c.starts("b")
}

// A take whose answer was lost is sent again after the group's rule went to Running 1 and a flight of another session was reaped.
func TestARepeatedTakeCountsNoFlight(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b c d e f")
	c.Take("other", 1, c.now)
	taken := c.take(3)
	_ = c.SetGroup("g", Rule{Running: 1}, c.now)
	c.Crash("other", c.now)
	c.Reap("other", 9, c.now)
	if got := c.TakeAgain("s", c.now); !slices.Equal(got, taken) {
		t.Errorf("the repeated take got %+v, want %+v", got, taken)
	}
	if got := c.Group("g", c.now); got.Running != 3 || got.Waiting != 3 {
		t.Errorf("after it the group is %+v, want three flights and three jobs waiting", got)
	}
}
