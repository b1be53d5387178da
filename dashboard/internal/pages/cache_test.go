package pages

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A number is the result of reading this many jobs.
type number int

func (n number) expensive() bool { return n > 1000 }
func (n number) whole() bool     { return true }

func TestExpensiveReadingsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept cache[number]
		reads := number(0)
		read := func(context.Context, number) (number, error) {
			reads++
			time.Sleep(100 * time.Millisecond) // fake time: the duration of a reading
			return reads, nil
		}
		for range 60 { // 2 minutes
			if _, err := kept.get(t.Context(), "a", false, read); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // fake time: to the next poll
		}
		if reads < 9 || reads > 13 {
			t.Errorf("in two minutes it was read %d times for 100 ms, want a hundredth of the time", reads)
		}
		before := reads
		kept.forget()
		if got, _ := kept.get(t.Context(), "a", false, read); got != before+1 {
			t.Errorf("it was not read again after a change: got %d", got)
		}
		if got, _ := kept.get(t.Context(), "b", false, read); got != before+2 {
			t.Errorf("another key has the value %d", got)
		}
		for i := range 3 * maxKept {
			_, _ = kept.get(t.Context(), fmt.Sprint(i), false, read)
		}
		if n := len(kept.kept); n > maxKept {
			t.Errorf("%d readings are kept, want at most %d", n, maxKept)
		}
	})
}

// The stamp has the state of the store. A request of a viewer reads always.
func TestForOpenPagesAReadingIsKeptWhileItsStampIsTheSame(t *testing.T) {
	for _, c := range []struct {
		live   bool
		stamps []string // of the polls, one after the other
		want   int
	}{
		{true, []string{"a"}, 3},
		{true, []string{""}, 15},
		{true, []string{"a", "b"}, 15},
		{false, []string{"a"}, 15},
	} {
		synctest.Test(t, func(t *testing.T) {
			var kept cache[number]
			reads := 0
			for i := range 15 { // half a minute
				_, _ = kept.getSince(t.Context(), "key", c.live, c.stamps[i%len(c.stamps)], func(context.Context, number) (number, error) {
					reads++
					return 50, nil
				})
				time.Sleep(2 * time.Second) // fake time: to the next poll
			}
			if reads != c.want {
				t.Errorf("live %v, stamps %q: in 15 polls it was read %d times, want %d", c.live, c.stamps, reads, c.want)
			}
		})
	}
}

func TestForOpenPagesWhatHasLookedThroughManyJobsIsReadMoreRarely(t *testing.T) {
	for _, c := range []struct {
		found number
		live  bool
		want  int
	}{{20_000, true, 2}, {20_000, false, 12}, {50, true, 12}} {
		synctest.Test(t, func(t *testing.T) {
			var kept cache[number]
			reads := 0
			for range 60 { // 2 minutes
				_, _ = kept.get(t.Context(), "a", c.live, func(context.Context, number) (number, error) {
					reads++
					time.Sleep(100 * time.Millisecond) // fake time: the duration of a reading
					return c.found, nil
				})
				time.Sleep(2 * time.Second) // fake time: to the next poll
			}
			if reads < c.want-1 || reads > c.want+1 {
				t.Errorf("after reading %d jobs, live: %v: read %d times in two minutes, want about %d", c.found, c.live, reads, c.want)
			}
		})
	}
}

func TestAReadingThatFailedIsNotKept(t *testing.T) {
	var kept cache[number]
	wrong := errors.New("no answer")
	if _, err := kept.get(t.Context(), "a", false, func(context.Context, number) (number, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if got, err := kept.get(t.Context(), "a", false, func(context.Context, number) (number, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v; want 7", got, err)
	}
}

// A walk is the progress of a reading in many parts.
type walk struct{ parts, of, round int }

func (w walk) expensive() bool { return w.parts > 0 }
func (w walk) whole() bool     { return w.parts == w.of }

// An expensive reading is done in parts, and a whole reading is shown until the next one is whole.
func TestExpensiveReadingsAreReadInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept cache[walk]
		round := 0
		read := func(_ context.Context, before walk) (walk, error) {
			if time.Sleep(10 * time.Millisecond); before == (walk{}) { // fake time: the duration of a reading
				round++
				before = walk{0, 4, round}
			}
			before.parts++
			return before, nil
		}
		var seen []walk
		for range 400 { // 200 seconds
			w, err := kept.get(t.Context(), "a", false, read)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(seen); n == 0 || seen[n-1] != w {
				seen = append(seen, w)
			}
			time.Sleep(500 * time.Millisecond) // fake time
		}
		for i, want := range []walk{{1, 4, 1}, {2, 4, 1}, {3, 4, 1}, {4, 4, 1}, {4, 4, 2}, {4, 4, 3}} {
			if i >= len(seen) || seen[i] != want {
				t.Fatalf("got %v, want part after part of the first reading, then whole ones", seen)
			}
		}
		if round > 51 {
			t.Errorf("in 200 seconds 40 ms were read %d times, want at most a hundredth of the time", round)
		}
		time.Sleep(time.Hour) // fake time passes without requests
		round = 100
		if w, err := kept.get(t.Context(), "a", false, read); err != nil || w != (walk{1, 4, 101}) {
			t.Errorf("an hour later the first request gets %v, %v; want the first part of a new reading", w, err)
		}
		time.Sleep(2 * time.Second) // fake time: to the next poll
		wrong := errors.New("no such place")
		if _, err := kept.get(t.Context(), "a", false, func(context.Context, walk) (walk, error) { return walk{}, wrong }); !errors.Is(err, wrong) {
			t.Errorf("a part that failed returns %v", err)
		}
		if w, err := kept.get(t.Context(), "a", false, read); err != nil || w != (walk{1, 4, 102}) {
			t.Errorf("after a part that failed got %v, %v; want a first part", w, err)
		}
	})
}

// Open pages that read many jobs are read one after another with pauses, for any number of pages. What they show for the first time comes sooner.
func TestOpenPagesThatLookThroughJobsTakeTurns(t *testing.T) {
	for _, c := range []struct {
		pages, parts int
		first        bool // no reading ends
		share        time.Duration
	}{{1, 1000, true, 10}, {20, 1000, true, 10}, {1, 3, false, 200}, {20, 3, false, 200}} {
		synctest.Test(t, func(t *testing.T) {
			var kept cache[walk]
			var took time.Duration
			read := func(_ context.Context, before walk) (walk, error) {
				time.Sleep(10 * time.Millisecond) // fake time: the duration of a reading
				took += 10 * time.Millisecond
				if before.whole() {
					before = walk{}
				}
				return walk{before.parts + 1, c.parts, 1}, nil
			}
			turns := func(n int) {
				for range n {
					for i := range c.pages {
						_, _ = kept.get(t.Context(), fmt.Sprint(i), true, read)
					}
					time.Sleep(2 * time.Second) // fake time: to the next poll
				}
			}
			turns(100) // the first readings, if they end
			for i := range c.pages {
				if w, _ := kept.get(t.Context(), fmt.Sprint(i), true, read); w.whole() == c.first {
					t.Fatalf("of %d pages, page %d has read %+v after 100 turns", c.pages, i, w)
				}
			}
			began := time.Now()
			took = 0
			turns(100)
			if took == 0 || took > time.Since(began)/c.share {
				t.Errorf("%d open pages of %d parts were read for %v within %v, want at most 1/%d", c.pages, c.parts, took, time.Since(began), c.share)
			}
		})
	}
}
