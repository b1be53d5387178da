package pages

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A number is what looking through so many jobs has found.
type number int

func (n number) dear() bool { return n > 1000 }

func TestWhatIsDearIsReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept seldom[number]
		reads := number(0)
		read := func(context.Context) (number, error) {
			reads++
			time.Sleep(100 * time.Millisecond) // fake time: what reading takes
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
			t.Errorf("something was changed, and it was not read anew: got %d", got)
		}
		if got, _ := kept.get(t.Context(), "b", false, read); got != before+2 {
			t.Errorf("another question has the answer %d", got)
		}
		for i := range 3 * maxKept {
			_, _ = kept.get(t.Context(), fmt.Sprint(i), false, read)
		}
		if n := len(kept.kept); n > maxKept {
			t.Errorf("%d readings are kept, want at most %d", n, maxKept)
		}
	})
}

func TestForOpenPagesWhatHasLookedThroughManyJobsIsReadMoreRarely(t *testing.T) {
	for _, c := range []struct {
		found number
		live  bool
		want  int
	}{{20_000, true, 2}, {20_000, false, 12}, {50, true, 12}} {
		synctest.Test(t, func(t *testing.T) {
			var kept seldom[number]
			reads := 0
			for range 60 { // 2 minutes
				_, _ = kept.get(t.Context(), "a", c.live, func(context.Context) (number, error) {
					reads++
					time.Sleep(100 * time.Millisecond) // fake time: what reading takes
					return c.found, nil
				})
				time.Sleep(2 * time.Second) // fake time: to the next poll
			}
			if reads < c.want-1 || reads > c.want+1 {
				t.Errorf("after a look at %d jobs, live: %v: read %d times in two minutes, want about %d", c.found, c.live, reads, c.want)
			}
		})
	}
}

func TestAReadingThatFailedIsNotKept(t *testing.T) {
	var kept seldom[number]
	wrong := errors.New("no answer")
	if _, err := kept.get(t.Context(), "a", false, func(context.Context) (number, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if got, err := kept.get(t.Context(), "a", false, func(context.Context) (number, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v; want 7", got, err)
	}
}
