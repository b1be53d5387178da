package pages

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsDearIsReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept seldom[int]
		reads := 0
		read := func(context.Context) (int, error) {
			reads++
			time.Sleep(100 * time.Millisecond) // fake time: what reading takes
			return reads, nil
		}
		for range 60 { // 2 minutes
			if _, err := kept.get(t.Context(), "a", read); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // fake time: to the next poll
		}
		if reads < 9 || reads > 13 {
			t.Errorf("in two minutes it was read %d times for 100 ms, want a hundredth of the time", reads)
		}
		before := reads
		kept.forget()
		if got, _ := kept.get(t.Context(), "a", read); got != before+1 {
			t.Errorf("something was changed, and it was not read anew: got %d", got)
		}
		if got, _ := kept.get(t.Context(), "b", read); got != before+2 {
			t.Errorf("another question has the answer %d", got)
		}
		for i := range 3 * maxKept {
			_, _ = kept.get(t.Context(), fmt.Sprint(i), read)
		}
		if n := len(kept.kept); n > maxKept {
			t.Errorf("%d readings are kept, want at most %d", n, maxKept)
		}
	})
}

func TestAReadingThatFailedIsNotKept(t *testing.T) {
	var kept seldom[int]
	wrong := errors.New("no answer")
	if _, err := kept.get(t.Context(), "a", func(context.Context) (int, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if got, err := kept.get(t.Context(), "a", func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v; want 7", got, err)
	}
}
