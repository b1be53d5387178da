package groupmodel

import (
	"fmt"
	"strings"
	"testing"
)

// A Queue that answers a take wrongly is found at once. The model has three plain jobs, three of group g, the first of which is a, one of
// a paused group, and a plain one that is due later.
func TestWrongAnswersToATakeAreFound(t *testing.T) {
	next := epoch + int64(5_000)
	taken := func(next int64, ids ...string) Taken {
		var f []Flight
		for i, id := range ids {
			f = append(f, Flight{ID: id, Number: i + 1})
		}
		return Taken{Flights: f, Next: next}
	}
	for name, c := range map[string]struct {
		n    int
		got  Taken
		want string // in the error
	}{
		"as it should be":     {9, taken(next, "p1", "a", "p2", "b", "p3", "c"), ""},
		"more than asked for": {2, taken(0, "p1", "a", "p2"), "want at most 2"},
		"fewer than may be":   {9, taken(next, "p1", "a", "p2", "b", "p3"), "more may start"},
		"not due":             {3, taken(0, "p1", "a", "later"), "took later, which is delayed"},
		"unknown":             {3, taken(0, "nobody"), "does not exist"},
		"paused":              {3, taken(0, "x"), "may start nothing"},
		"overtaking":          {3, taken(0, "b"), "whose next job is a"},
		"twice":               {3, taken(0, "p1", "p1"), "took p1, which is running"},
		"another body":        {3, Taken{Flights: []Flight{{"a", 1, 7}}}, "want {ID:a"},
		"no plain job":        {3, taken(0, "a", "b", "c"), "at least a third"},
		"too late":            {9, taken(next+1, "p1", "a", "p2", "b", "p3", "c"), "the next instant"},
		"at once":             {9, taken(epoch, "p1", "a", "p2", "b", "p3", "c"), "the next instant"},
		"never":               {9, taken(0, "p1", "a", "p2", "b", "p3", "c"), "the next instant"},
	} {
		q := newClocked(t)
		q.add("", "p1 p2 p3")
		q.add("g", "a b c")
		q.add("paused", "x")
		_ = q.PauseGroup("paused", q.now)
		q.Enqueue(Item{ID: "later", Delay: 5_000}, q.now)
		wantError(t, name, q.Follow("s", c.n, q.now, false, c.got), c.want)
	}
}

func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if text := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(text, want) {
		t.Errorf("%s: the error is %q, want one with %q", name, text, want)
	}
}

// A group, or the plain jobs, may be left out of two takes of one job in a row.
func TestThreeTakesMayNotLeaveOutTheSame(t *testing.T) {
	for _, ids := range []string{"p1 p2 p3", "a b c"} {
		q := newClocked(t)
		q.add("", "p1 p2 p3")
		q.add("g", "a b c")
		for i, id := range strings.Fields(ids) {
			err := q.Follow("s", 1, q.now, false, Taken{Flights: []Flight{{ID: id, Number: i + 1}}})
			if i < 2 {
				wantError(t, id, err, "")
			} else {
				wantError(t, id, err, "three takes in a row")
			}
		}
	}
}

// The model has a vanished session with a and b, that have not crashed before, and c, that has crashed once.
func TestWrongAnswersToReapingAreFound(t *testing.T) {
	a, b := Reaped{"a", ToLine, 0}, Reaped{"b", ToLine, 0}
	for name, c := range map[string]struct {
		most int
		got  []Reaped
		want string
	}{
		"as it should be":  {9, []Reaped{b, {"c", ToHold, epoch + 5_000}, a}, ""},
		"in steps":         {1, []Reaped{b}, ""},
		"too few":          {9, []Reaped{a, b}, "reaped 2 jobs"},
		"too many":         {1, []Reaped{a, b}, "reaped 2 jobs"},
		"twice":            {2, []Reaped{a, a}, "does not hold"},
		"held too briefly": {1, []Reaped{{"c", ToHold, epoch + 4_999}}, "held back until"},
		"held too long":    {1, []Reaped{{"c", ToHold, epoch + 60_001}}, "held back until"},
		"not held":         {1, []Reaped{{"c", ToLine, 0}}, "want {ID:c Fate:hold"},
		"held too early":   {1, []Reaped{{"a", ToHold, epoch + 5_000}}, "want {ID:a Fate:line"},
	} {
		q := newClocked(t)
		q.add("g", "c")
		q.take(1)
		q.Crash("s", q.now)
		q.Reap("s", 1, q.now)
		q.add("g", "a b")
		q.take(3)
		q.Crash("s", q.now)
		wantError(t, name, q.FollowReap("s", c.most, q.now, c.got), c.want)
	}
	q := newClocked(t)
	q.add("g", "a")
	q.take(1)
	if got := q.Reap("s", 9, q.now); len(got) > 0 {
		t.Errorf("reaped %+v of a live session", got)
	}
	wantError(t, "of a live session", q.FollowReap("s", 9, q.now, []Reaped{a}), "vanished: false")
}
