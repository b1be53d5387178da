package recurrence

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// Brute force has the same matches for all windows in which it searches, forwards and backwards. While the clocks show a closed time, nothing
// runs except the instants of Also. Random rules are worth comparing: most of them run, and most calendars make a difference.
func TestBruteForceOfRandomCalendarsIsOneWhole(t *testing.T) {
	seeds := long.Draw(100, 400)
	rules, run, changed := len(seeds), 0, 0
	for _, seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 11))}
		r, created, from := g.drawCalendar()
		b := newBruteForce(r, created)
		window := b.window()
		from = later(from, b.earliest())
		middle, to := from.Add(time.Duration(g.Int64N(int64(window)))), from.Add(window)
		whole := b.between(from, to)
		if parts := append(b.between(from, middle), newBruteForce(r, created).between(middle, to)...); !slices.EqualFunc(whole, parts, time.Time.Equal) {
			t.Errorf("seed %d: %#v\nfrom %s to %s %v\nin two parts at %s %v", seed, r, from, to, whole, middle, parts)
		}
		for i, at := range whole {
			if !b.open(shown(at)) && !slices.ContainsFunc(b.instants, at.Equal) {
				t.Errorf("seed %d: %#v\nruns at %s, which is closed", seed, r, at)
			}
			if i > 2 {
				continue
			}
			if next, ok := b.next(at.Add(-time.Second)); !ok || !next.Equal(at) {
				t.Errorf("seed %d: %#v\nafter %s got %s, %v", seed, r, at.Add(-time.Second), next, ok)
			}
			if prev, ok := b.prev(at.Add(time.Nanosecond)); !ok || !prev.Equal(at) {
				t.Errorf("seed %d: %#v\nbefore %s got %s, %v", seed, r, at.Add(time.Nanosecond), prev, ok)
			}
		}
		if len(whole) > 0 {
			run++
		}
		if plain := newBruteForce(withoutCalendar(r), created).between(from, to); !slices.EqualFunc(whole, plain, time.Time.Equal) {
			changed++
		}
	}
	if run < rules/2 || changed < rules/2 {
		t.Errorf("of %d rules %d run, and %d run differently with their calendar", rules, run, changed)
	}
}
