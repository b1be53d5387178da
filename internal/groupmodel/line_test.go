package groupmodel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A queue has a clock beside a Model, and methods that end a test.
type clocked struct {
	*testing.T
	*Model
	now int64
}

func newClocked(t *testing.T) *clocked { return &clocked{t, New(), epoch} }

// Fail is that of the queue.
func (c *clocked) Fail(f Flight, after, now int64) bool { return c.Model.Fail(f, after, now) }

// add enqueues jobs of one group.
func (c *clocked) add(group, ids string) {
	for id := range strings.FieldsSeq(ids) {
		c.Enqueue(Item{ID: id, Group: group}, c.now)
	}
}

func (c *clocked) take(n int) (flights []Flight) {
	return c.Take("s", n, c.now).Flights
}

// starts takes jobs one after another, ends each, and wants their IDs.
func (c *clocked) starts(want string) {
	c.Helper()
	var got []string
	for {
		flights := c.take(1)
		if len(flights) == 0 {
			break
		}
		got = append(got, flights[0].ID)
		c.Done(flights[0], c.now)
	}
	if strings.Join(got, " ") != want {
		c.Errorf("jobs start in the order %q, want %q", strings.Join(got, " "), want)
	}
}

func TestPlacesKeepTheirOrderWhenTheClockStepsBack(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b")
	c.now -= 600_000
	c.StepBack(c.now)
	c.add("g", "c d")
	c.starts("a b c d")
}

func TestEnqueueManyKeepsTheOrderOfItsItems(t *testing.T) {
	c := newClocked(t)
	c.EnqueueMany([]Item{{ID: "z", Group: "g"}, {ID: "a", Group: "g"}, {ID: "m", Group: "g"}}, c.now)
	c.starts("z a m")
}

func TestJobsThatAreDueJoinInTheOrderOfTheirInstants(t *testing.T) {
	c := newClocked(t)
	c.Enqueue(Item{ID: "c", Group: "g", Delay: 10}, c.now)
	c.Enqueue(Item{ID: "b", Group: "g", Delay: 10}, c.now)
	c.Enqueue(Item{ID: "d", Group: "g", Delay: 5}, c.now)
	c.now += 20
	c.add("g", "a") // has its place before a take finds the others due
	c.starts("a d b c")
}

func TestATakeMovesAtMostFiveHundredJobsThatAreDue(t *testing.T) {
	c := newClocked(t)
	for i := range 600 {
		c.Enqueue(Item{ID: fmt.Sprintf("%03d", i), Group: "g", Delay: 5}, c.now)
	}
	c.now += 5
	if got := len(c.take(600)); got != 500 {
		t.Errorf("the first take started %d jobs, want 500", got)
	}
	if got := len(c.take(600)); got != 100 {
		t.Errorf("the second take started %d jobs, want 100", got)
	}
}

func TestWhatComesBackKeepsItsPlace(t *testing.T) {
	for name, back := range map[string]func(c *clocked, f Flight){
		"given back": func(c *clocked, f Flight) { c.Back(f, c.now) },
		"reaped":     func(c *clocked, _ Flight) { c.Crash("s", c.now); c.Reap("s", 9, c.now) },
		"parked":     func(c *clocked, f Flight) { c.Park(f, c.now); c.Serve(c.now) },
	} {
		c := newClocked(t)
		c.add("g", "a b c")
		back(c, c.take(1)[0])
		if got := c.Group("g", c.now).Oldest; got != "a" {
			t.Errorf("%s: %q is first in line, want a", name, got)
		}
		c.starts("a b c")
	}
}

func TestARetryJoinsTheEndWhenItIsDue(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b")
	c.Fail(c.take(1)[0], 10, c.now)
	c.now += 10
	c.add("g", "c")
	c.starts("b c a")
}

func TestARequeuedJobComesBeforeAllOthers(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b c d")
	for range 2 {
		c.Dead(c.take(1)[0], c.now)
	}
	for _, id := range []string{"b", "a"} {
		if got := c.Requeue(id, c.now); got != Changed {
			t.Errorf("requeuing %s: %s", id, got)
		}
	}
	c.starts("a b c d")
}

// A job that was requeued, taken and given back comes after one that was requeued later.
func TestARequeuedJobThatIsGivenBackKeepsItsPlace(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b c")
	flights := c.take(2)
	c.Dead(flights[0], c.now)
	c.Dead(flights[1], c.now)
	c.Requeue("a", c.now)
	a := c.take(1)[0]
	c.Requeue("b", c.now)
	c.Back(a, c.now)
	c.starts("b a c")
}

func TestReplaceInLineChangesTheBodyAlone(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b")
	c.Replace(Item{ID: "a", Group: "g", Body: 7}, c.now)
	if f := c.take(1)[0]; f.ID != "a" || f.Body != 7 {
		t.Errorf("took %+v, want a with body 7", f)
	}
}

func TestReplaceIntoAnotherGroupJoinsItsEnd(t *testing.T) {
	c := newClocked(t)
	c.add("g", "a b")
	c.add("h", "x y")
	c.Replace(Item{ID: "a", Group: "h"}, c.now)
	_ = c.PauseGroup("g", c.now)
	c.starts("x y a")
}

func TestWhatReplacesAFlightJoinsTheEndWhenItEnds(t *testing.T) {
	for name, end := range map[string]func(c *clocked, f Flight) bool{
		"done":    func(c *clocked, f Flight) bool { return c.Done(f, c.now) },
		"failed":  func(c *clocked, f Flight) bool { return c.Fail(f, 10, c.now) },
		"back":    func(c *clocked, f Flight) bool { return c.Back(f, c.now) },
		"crashed": func(c *clocked, _ Flight) bool { c.Crash("s", c.now); return len(c.Reap("s", 1, c.now)) == 1 },
	} {
		c := newClocked(t)
		c.add("g", "a b")
		f := c.take(1)[0]
		c.Replace(Item{ID: "a", Group: "g", Body: 7}, c.now)
		if got := c.Group("g", c.now).Waiting; got != 1 {
			t.Errorf("%s: %d jobs wait during the flight, want 1", name, got)
		}
		if !end(c, f) {
			t.Errorf("%s: the end was refused", name)
		}
		c.starts("b a")
	}
}

func TestAPurgeLeavesWhatIsNotInLine(t *testing.T) {
	c := newClocked(t)
	c.add("g", "flies retries parked a b")
	c.add("h", "x")
	c.Enqueue(Item{ID: "later", Group: "g", Delay: 10}, c.now)
	flights := c.take(4) // one of them is x, by turns
	at := slices.IndexFunc(flights, func(f Flight) bool { return f.ID == "x" })
	c.Back(flights[at], c.now)
	for _, f := range flights {
		switch f.ID {
		case "retries":
			c.Fail(f, 10, c.now)
		case "parked":
			c.Park(f, c.now)
		}
	}
	if got := c.PurgeGroup("g", c.now); got != 2 {
		t.Errorf("purged %d jobs of the group, want 2", got)
	}
	if got := c.Group("g", c.now); got.Waiting != 0 || got.Running != 1 {
		t.Errorf("the group is %+v after its purge, want one flight", got)
	}
	if got := c.Purge(c.now); got != 1 {
		t.Errorf("purged %d jobs of the queue, want x", got)
	}
	c.now += 10
	c.Serve(c.now)
	c.starts("parked later retries")
}
