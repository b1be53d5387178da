package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A dyingBench has a schedule "s" that runs every minute. The test decides how the job of each planned minute ends.
type dyingBench struct {
	*fixture.Fixture
	schedules *chime.Schedules
	runs      fixture.Runs
}

// onDyingBench adds more options to the schedule's PauseAfter(3). The jobs planned for a minute in dies fail.
func onDyingBench(t *testing.T, options []chime.PutOption, dies func(minute int) bool, scenario func(t *testing.T, b *dyingBench)) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		b := &dyingBench{Fixture: f, schedules: chime.NewSchedules(f.Server.Store())}
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", func(_ context.Context, job *chime.Job) error {
			b.runs.Add(job.ID)
			if dies(job.Planned.Minute()) {
				return errors.New("no")
			}
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(30 * time.Second) // so the first occurrence is planned for minute 1
		options = append([]chime.PutOption{chime.JobName("j"), chime.PauseAfter(3), chime.MaxAttempts(1), chime.NoImmediateRun()}, options...)
		if _, err := b.schedules.Put(t.Context(), "s", fixture.Minutely, options...); err != nil {
			t.Fatal(err)
		}
		scenario(t, b)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func (b *dyingBench) get() *chime.Schedule {
	b.T.Helper()
	s, err := b.schedules.Get(b.T.Context(), "s")
	if err != nil {
		b.T.Fatal(err)
	}
	return s
}

// minutes returns the planned minutes that have run.
func (b *dyingBench) minutes() (all []int) {
	for _, id := range b.runs.IDs() {
		var at time.Time
		if n := len(id) - len("2000-01-01T00:00:00Z"); n > 0 {
			at, _ = time.Parse(time.RFC3339, id[n:])
		}
		all = append(all, at.Hour()*60+at.Minute())
	}
	slices.Sort(all)
	return all
}

// Three consecutive deaths pause the schedule with a note by chime, in the same step as the third death. The next occurrence is withdrawn. When the
// schedule is resumed, it continues, and the count starts at zero.
func TestDeathsInARowPauseASchedule(t *testing.T) {
	onDyingBench(t, nil, func(minute int) bool { return minute != 3 }, func(t *testing.T, b *dyingBench) {
		fixture.Pass(5 * time.Minute) // the occurrence of minute 3 was done
		if s := b.get(); s.State != chime.StateLive || s.PauseAfter != 3 || s.Note != (chime.Note{}) {
			t.Errorf("after a success and two deaths: %s, %+v; want it live", s.State, s.Note)
		}
		fixture.Pass(time.Hour)
		s := b.get()
		want := chime.Note{Text: "3 occurrences in a row ended dead", By: "chime", At: s.Note.At}
		if ended := time.Date(2000, 1, 1, 0, 6, 0, 0, time.UTC); s.State != chime.StatePaused || s.Note != want || s.Note.At.Sub(ended) > time.Second || !s.Next.IsZero() {
			t.Errorf("after three deaths: %s, note %+v, next %v; want it paused at %v", s.State, s.Note, s.Next, ended)
		}
		if got := fmt.Sprint(b.minutes()); got != "[1 2 3 4 5 6]" {
			t.Errorf("ran in minutes %s, want until 6", got)
		}
		if int64(s.Used) != s.Counters.Placed || s.Counters.Dead < 5 || s.Counters.Missed != 0 {
			t.Errorf("used %d, %+v; want the withdrawn occurrence not used up", s.Used, s.Counters)
		}
		for range 2 { // with the first missed one, which was planned before the resumption and does not count
			n := len(b.minutes())
			if err := b.schedules.Resume(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			if s := b.get(); s.State != chime.StateLive || s.Note != (chime.Note{}) {
				t.Errorf("resumed: %s, %+v", s.State, s.Note)
			}
			fixture.Pass(time.Hour)
			if s := b.get(); s.State != chime.StatePaused || len(b.minutes()) != n+4 {
				t.Errorf("resumed, it is %s after %v; want it paused after three and the missed one", s.State, b.minutes())
			}
		}
	})
}

// Only a dead occurrence counts: not its attempts, not a manual run, not an OnDeath job, and no occurrence twice.
func TestOnlyOccurrencesCountForPauseAfter(t *testing.T) {
	retries := []chime.PutOption{chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Second)), chime.OnDeath(chime.Item{Name: "j"})}
	onDyingBench(t, retries, func(minute int) bool { return minute < 3 }, func(t *testing.T, b *dyingBench) {
		for range 5 {
			if _, err := b.schedules.Trigger(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
		}
		jobs := chime.NewJobs(b.Server.Store())
		fixture.Pass(2 * time.Minute)
		dead := func() (ids []string) {
			for job, err := range jobs.List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}) {
				if err != nil {
					t.Fatal(err)
				}
				if job.ID == "s@2000-01-01T00:01:00Z" || job.ID == "s@2000-01-01T00:02:00Z" {
					ids = append(ids, job.ID)
				}
			}
			return ids
		}
		for range 3 {
			ids := dead()
			if len(ids) != 2 {
				t.Fatalf("%v are dead, want the occurrences of two minutes", ids)
			}
			if _, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", IDs: ids}, nil); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(5 * time.Second)
		}
		if s := b.get(); s.State != chime.StateLive {
			t.Errorf("two occurrences are dead, and the schedule is %s: %+v", s.State, s.Note)
		}
	})
}

// A change restarts the count, with the new limit. Without the option the schedule is never paused.
func TestAChangeRestartsTheCountOfDeaths(t *testing.T) {
	onDyingBench(t, nil, func(int) bool { return true }, func(t *testing.T, b *dyingBench) {
		fixture.Pass(2 * time.Minute)
		put := func(options ...chime.PutOption) {
			t.Helper()
			if _, err := b.schedules.Put(t.Context(), "s", fixture.Minutely, append(options, chime.JobName("j"), chime.MaxAttempts(1), chime.NoImmediateRun())...); err != nil {
				t.Fatal(err)
			}
		}
		put(chime.PauseAfter(4))
		fixture.Pass(3 * time.Minute)
		if s := b.get(); s.State != chime.StateLive {
			t.Errorf("three deaths after it was changed to four: %s", s.State)
		}
		fixture.Pass(time.Minute)
		if s := b.get(); s.State != chime.StatePaused || s.Note.Text != "4 occurrences in a row ended dead" {
			t.Errorf("four deaths: %s, %+v", s.State, s.Note)
		}
		put()
		if err := b.schedules.Resume(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Hour)
		if s := b.get(); s.State != chime.StateLive || s.PauseAfter != 0 {
			t.Errorf("without the option: %s", s.State)
		}
	})
}

// With a spread, a pause withdraws an occurrence whose planned instant has passed: it runs after the schedule is resumed.
func TestAPauseAfterDeathsWithdrawsAnOccurrenceThatIsNotDueYet(t *testing.T) {
	onSpreadBench(t, func(t *testing.T, b *spreadBench) {
		b.slow = 2*time.Hour - 3*time.Minute
		b.put("g", hourlyCron, chime.Spread(time.Hour), chime.PauseAfter(1), chime.MaxAttempts(1), chime.Timeout(24*time.Hour), chime.Overlap(chime.OverlapAllow))
		fixture.Pass(2*time.Hour + 4*time.Minute) // the first has ended a minute ago; the one planned for 02:00 is due in two
		if s, err := b.schedules.Get(t.Context(), "g"); err != nil || s.State != chime.StatePaused || s.Used != 2 {
			t.Fatalf("%+v, %v; want it paused, with two runs used", s, err)
		}
		b.resume()
		fixture.Pass(30 * time.Minute)
		b.want("resumed", "00:00:00 at 00"+gAt, "01:00:00 at 01"+gAt, "02:00:00 at 02"+gAt)
	})
}

// The server's clock was ahead when the schedule was changed, so its revision is later than the clock. Deaths pause the schedule all the same.
func TestDeathsPauseAScheduleAlthoughTheClockWasAhead(t *testing.T) {
	onDyingBench(t, nil, func(int) bool { return true }, func(t *testing.T, b *dyingBench) {
		ahead := time.Now().Add(24 * time.Hour).UnixMicro()
		if err := b.Server.Client().HSet(t.Context(), "chime:{default}:state", "fence", ahead).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.schedules.Pause(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if err := b.schedules.Resume(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if s := b.get(); s.Revision <= ahead {
			t.Fatalf("revision %d, want one later than %d", s.Revision, ahead)
		}
		fixture.Pass(10 * time.Minute)
		if s := b.get(); s.State != chime.StatePaused {
			t.Errorf("after ten deaths it is %s, want it paused", s.State)
		}
	})
}
