package scheduler_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A pause with an end ends by itself: a scheduler ends it within a second, and where none runs, a worker soon after. It is shown until then.
func TestAPauseEndsByItself(t *testing.T) {
	for name, test := range map[string]struct {
		scheduler bool
		within    time.Duration
	}{"by a scheduler": {true, 2 * time.Second}, "by a worker": {false, 2 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			onBench(t, func(t *testing.T, b *bench) {
				if test.scheduler {
					defer b.start(nil)()
				}
				schedules, queues := chime.NewSchedules(b.store), chime.NewQueues(b.store)
				if _, err := schedules.Put(t.Context(), "minutely", everyMinute, chime.JobName("work"), chime.Misfire(chime.MisfireSkip)); err != nil {
					t.Fatal(err)
				}
				fixture.Pass(10*time.Minute + 30*time.Second)
				end := time.Now().Add(3 * time.Hour)
				if err := schedules.Pause(t.Context(), "minutely", chime.Note{Text: "until lunch", Until: end}); err != nil {
					t.Fatal(err)
				}
				if err := queues.PauseGroup(t.Context(), "default", "a", chime.Note{Until: end}); err != nil {
					t.Fatal(err)
				}
				got, err := schedules.Get(t.Context(), "minutely")
				if err != nil || got.State != chime.StatePaused || !got.Note.Until.Equal(end) {
					t.Errorf("%v until %v, %v; want a pause until %v", got.State, got.Note.Until, err, end)
				}
				fixture.Pass(3*time.Hour - time.Second)
				if ran := b.runs.total(); ran != 11 {
					t.Errorf("%d ran before the end of the pause, want 11 as before it", ran)
				}
				fixture.Pass(time.Second + test.within)
				if got, err = schedules.Get(t.Context(), "minutely"); err != nil || got.State != chime.StateLive || got.Next.IsZero() {
					t.Errorf("%v, next %v, %v; want a live schedule with a next run", got.State, got.Next, err)
				}
				if group, err := queues.Group(t.Context(), "default", "a"); err != nil || group.Paused {
					t.Errorf("the group is paused: %+v, %v", group, err)
				}
				before := b.runs.total()
				fixture.Pass(10 * time.Minute)
				if ran := b.runs.total() - before; ran != 10 {
					t.Errorf("%d ran in the following ten minutes, want 10", ran)
				}
			})
		})
	}
}

// A queue whose pause has ended gives its jobs to a worker that sleeps.
func TestAPauseOfAQueueEndsByItself(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		defer b.start(nil)()
		queues := chime.NewQueues(b.store)
		b.Add("work", 0, "first")
		fixture.Pass(time.Minute)
		end := time.Now().Add(time.Hour)
		if err := queues.Pause(t.Context(), "default", chime.Note{By: "anna", Until: end}); err != nil {
			t.Fatal(err)
		}
		b.Add("work", 0, "second")
		fixture.Pass(time.Hour - time.Second)
		if info, err := queues.Get(t.Context(), "default"); err != nil || !info.Paused || !info.Note.Until.Equal(end) || b.runs.total() != 1 {
			t.Errorf("%+v, %v, %d ran; want a pause until %v and one run", info, err, b.runs.total(), end)
		}
		fixture.Pass(3 * time.Second)
		if info, err := queues.Get(t.Context(), "default"); err != nil || info.Paused || b.runs.total() != 2 {
			t.Errorf("%+v, %v, %d ran; want no pause and two runs", info, err, b.runs.total())
		}
	})
}
