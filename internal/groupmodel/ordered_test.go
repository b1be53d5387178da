package groupmodel

import "testing"

// ordered is a queue with an ordered group of which a is in flight, and b and c wait.
func ordered(t *testing.T) (*clocked, Flight) {
	c := newClocked(t)
	if err := c.SetGroup("g", Rule{Ordered: On}, c.now); err != nil {
		t.Fatal(err)
	}
	c.add("g", "a b c")
	flights := c.take(3)
	if len(flights) != 1 || flights[0].ID != "a" {
		t.Fatalf("took %+v, want a alone", flights)
	}
	return c, flights[0]
}

func TestAnOrderedGroupWaitsUntilItsJobHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		waits  func(c *clocked, f Flight)
		starts string // after a minute
	}{
		"in flight":  {func(*clocked, Flight) {}, ""},
		"retrying":   {func(c *clocked, f Flight) { c.Fail(f, 10_000, c.now) }, "a b c"},
		"snoozed":    {func(c *clocked, f Flight) { c.Snooze(f, 10_000, c.now) }, "a b c"},
		"parked":     {func(c *clocked, f Flight) { c.Park(f, c.now) }, ""},
		"vanished":   {func(c *clocked, _ Flight) { c.Crash("s", c.now) }, ""},
		"a suspect":  {func(c *clocked, _ Flight) { crashTwice(c) }, "a b c"},
		"cancelled":  {func(c *clocked, f Flight) { c.Cancel("a", c.now) }, ""},
		"superseded": {func(c *clocked, f Flight) { c.Replace(Item{ID: "a", Group: "g"}, c.now) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q, f := ordered(t)
			c.waits(q, f)
			if other := q.Take("other", 3, q.now).Flights; len(other) > 0 {
				t.Errorf("%s overtook", other[0].ID)
			}
			if got := q.Group("g", q.now); got.Blocked != ByOrder || got.By != "a" {
				t.Errorf("the group is %+v, want it blocked by job a", got)
			}
			q.now += 60_000
			q.starts(c.starts)
		})
	}
}

func crashTwice(c *clocked) {
	c.Crash("s", c.now)
	c.Reap("s", 1, c.now)
	c.take(1)
	c.Crash("s", c.now)
	c.Reap("s", 1, c.now)
}

// A retry has a place behind the jobs that wait, so only the blocker keeps these from starting first when it is given back.
func TestABlockerThatIsGivenBackIsNotOvertaken(t *testing.T) {
	c, f := ordered(t)
	c.Fail(f, 10, c.now)
	c.now += 10
	c.Back(c.take(1)[0], c.now)
	c.starts("a b c")
}

func TestTheEndOfABlockerStartsTheNext(t *testing.T) {
	for name, end := range map[string]func(c *clocked, f Flight){
		"done":      func(c *clocked, f Flight) { c.Done(f, c.now) },
		"dead":      func(c *clocked, f Flight) { c.Dead(f, c.now) },
		"cancelled": func(c *clocked, f Flight) { c.Fail(f, 10_000, c.now); c.Cancel("a", c.now) },
		"deleted":   func(c *clocked, f Flight) { c.Park(f, c.now); c.Delete("a", c.now) },
		"settled after a cancel": func(c *clocked, f Flight) {
			c.Cancel("a", c.now)
			c.Fail(f, 10_000, c.now)
		},
		"third crash": func(c *clocked, _ Flight) {
			crashTwice(c)
			c.now += maxHold
			c.take(1)
			c.Crash("s", c.now)
			c.Reap("s", 1, c.now)
		},
		"purged in line": func(c *clocked, _ Flight) {
			c.Crash("s", c.now)
			c.Reap("s", 1, c.now)
			c.PurgeGroup("g", c.now)
			c.add("g", "b c")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, f := ordered(t)
			c.Take("sleeper", 1, c.now)
			c.Woken()
			if end(c, f); c.Woken() == 0 {
				t.Error("no sleeper was woken")
			}
			c.starts("b c")
		})
	}
}

func TestReplacingABlockerThatWaitsEndsIt(t *testing.T) {
	for name, wait := range map[string]func(c *clocked, f Flight){
		"retrying": func(c *clocked, f Flight) { c.Fail(f, 10_000, c.now) },
		"parked":   func(c *clocked, f Flight) { c.Park(f, c.now) },
		"in flight": func(c *clocked, f Flight) {
			c.Replace(Item{ID: "a", Group: "g"}, c.now)
			c.Fail(f, 10_000, c.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, f := ordered(t)
			wait(c, f)
			c.Replace(Item{ID: "a", Group: "g"}, c.now)
			c.starts("b c a")
		})
	}
}

// A dead job that is requeued runs next, out of order, and not before the present one has ended.
func TestARequeuedJobOfAnOrderedGroup(t *testing.T) {
	c, f := ordered(t)
	c.Dead(f, c.now)
	b := c.take(1)[0]
	c.Requeue("a", c.now)
	if flights := c.take(1); len(flights) > 0 {
		t.Errorf("took %+v while b is in flight", flights)
	}
	c.Fail(b, 10, c.now)
	c.now += 10
	c.starts("b a c")
}

// What was taken before the rule runs on, blocks while it is in flight, and has no place in the order when it waits for a retry.
func TestOrderSetWhileJobsRun(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b c")
	flights := c.take(2)
	_ = c.SetGroup("g", Rule{Ordered: On}, c.now)
	c.Fail(flights[0], 10_000, c.now)
	if got := c.take(1); len(got) > 0 {
		t.Errorf("took %+v while b is in flight", got)
	}
	c.Done(flights[1], c.now)
	c.starts("c")
	c.now += 10_000
	c.starts("a")
}

func TestALateSettlementChangesNothing(t *testing.T) {
	c, f := ordered(t)
	c.Fail(f, 10, c.now)
	c.now += 10
	if second := c.take(1); len(second) != 1 || second[0].ID != "a" {
		t.Fatalf("took %+v, want a", second)
	}
	if c.Done(f, c.now) {
		t.Error("the settlement of the first flight was accepted in the second")
	}
	if got := c.take(1); len(got) > 0 {
		t.Errorf("took %+v after it", got)
	}
}
