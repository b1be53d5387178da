package chimetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// Upcoming returns the runs that follow: it considers pauses, counts, ends and placed occurrences.
func TestUpcomingIsWhatThenRuns(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		schedules := chime.NewSchedules(c.Store())
		begin := time.Now()
		for name, rec := range map[string]recurrence.Recurrence{
			"hourly":  {Cron: "@hourly"},
			"counted": {Frequency: recurrence.Minute, Interval: 20, Count: 5},
			"last":    {Frequency: recurrence.Hour, Interval: 1, StartTime: begin.Add(90 * time.Minute), Count: 1},
			"ends":    {Frequency: recurrence.Minute, Interval: 30, EndTime: begin.Add(2 * time.Hour)},
			"paused":  {Cron: "* * * * *"},
			"zoned":   {Cron: "0 9 * * *", TimeZone: "Asia/Tokyo"},
		} {
			if _, err := schedules.Put(t.Context(), name, rec, chime.JobName("runs"), chime.NoImmediateRun()); err != nil {
				t.Fatal(err)
			}
		}
		if err := schedules.Pause(t.Context(), "paused"); err != nil {
			t.Fatal(err)
		}
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("runs", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker)
		c.Advance(10 * time.Minute)
		from, to := time.Now(), begin.Add(30*time.Hour)
		var want, got []string
		for _, o := range c.Upcoming(from, to) {
			want = append(want, o.String())
		}
		for _, run := range c.Advance(time.Until(to.Add(-time.Second))) {
			got = append(got, run.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(got) < 30 {
			t.Errorf("upcoming %d: %v\nthen ran %d: %v", len(want), want, len(got), got)
		}
		if again := c.Upcoming(from, to); len(again) > 1 {
			t.Errorf("afterwards: %v are still upcoming", again)
		}
	})
}

// A placed occurrence is upcoming also if it is the last one, and if its instant has passed while nothing ran.
func TestWhatIsPlacedIsUpcoming(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		begin := time.Now()
		schedules := chime.NewSchedules(c.Store())
		once := recurrence.Recurrence{StartTime: begin.Add(time.Hour)}
		if _, err := schedules.Put(t.Context(), "once", once); err != nil {
			t.Fatal(err)
		}
		want := Occurrence{Schedule: "once", Planned: begin.Add(time.Hour)}
		for range 2 {
			if got := c.Upcoming(begin, begin.AddDate(1, 0, 0)); len(got) != 1 || got[0].String() != want.String() {
				t.Errorf("at %v: got %v, want %v", time.Now().UTC(), got, want)
			}
			c.Advance(3 * time.Hour)
		}
		if got := c.Upcoming(begin.Add(time.Hour+1), begin.AddDate(1, 0, 0)); len(got) != 0 {
			t.Errorf("later than that: %v, want nothing", got)
		}
	})
}

// If the next occurrence is cancelled, the next one is the one after it, which then runs.
func TestACancelledOccurrenceIsNotUpcoming(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		schedules := chime.NewSchedules(c.Store())
		begin := time.Now().Truncate(time.Hour)
		for name, cron := range map[string]string{"hourly": "0 * * * *", "half": "30 * * * *"} {
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: cron}, chime.NoImmediateRun()); err != nil {
				t.Fatal(err)
			}
		}
		one := Occurrence{Schedule: "half", Planned: begin.Add(30 * time.Minute)}
		if _, err := chime.NewJobs(c.Store()).Cancel(t.Context(), "default", one.String()); err != nil {
			t.Fatal(err)
		}
		next := begin.Add(90 * time.Minute)
		if s, err := schedules.Get(t.Context(), "half"); err != nil || !s.Next.Equal(next) {
			t.Errorf("next is %v, %v; want %v", s, err, next)
		}
		if times, err := schedules.Upcoming(t.Context(), "half", 2); err != nil || len(times) != 2 || !times[0].Equal(next) || !times[1].Equal(next.Add(time.Hour)) {
			t.Errorf("upcoming are %v, %v; want %v and the next", times, err, next)
		}
		for n := 1; n <= 2; n++ {
			soonest, err := schedules.Soonest(t.Context(), n)
			if err != nil || len(soonest) != n || soonest[0].Name != "hourly" || n == 2 && !soonest[1].Next.Equal(next) {
				t.Errorf("the soonest %d are %v, %v; want the hourly one first, and half at %v", n, soonest, err, next)
			}
		}
		if got := c.Upcoming(begin, begin.Add(100*time.Minute)); len(got) != 2 || got[0].Schedule != "hourly" || !got[1].Planned.Equal(next) {
			t.Errorf("chimetest returns %v, want hourly and half at %v", got, next)
		}
	})
}
