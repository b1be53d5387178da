package schedules_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// While a schedule waits for the placement of its next occurrence, it reports since when. The leader reports where it runs, and its term counts
// leaders.
func TestAScheduleReportsSinceWhenItIsOwedAndTheLeaderWhereItRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		if leader, err := schedules.Leader(t.Context()); leader != (chime.Leader{}) || err != nil {
			t.Errorf("before any leader: %+v, %v", leader, err)
		}
		every := recurrence.Recurrence{StartTime: time.Now().Add(time.Minute), Frequency: recurrence.Minute, Interval: 1}
		if _, err := schedules.Put(t.Context(), "s", every); err != nil {
			t.Fatal(err)
		}
		s, err := schedules.Get(t.Context(), "s")
		if err != nil || !s.Owed.IsZero() || s.Next.IsZero() {
			t.Errorf("placed: owed since %v, next %v, %v", s.Owed, s.Next, err)
		}
		client := f.Server.Client()
		client.ZRem(t.Context(), "chime:{default}:due", "s@"+s.Next.UTC().Format(time.RFC3339))
		client.ZAdd(t.Context(), "chime:{default}:owed", redis.Z{Score: float64(time.Now().UnixMilli()), Member: "s"})
		fixture.Pass(5 * time.Second)
		if s, err = schedules.Get(t.Context(), "s"); err != nil || time.Since(s.Owed) != 5*time.Second || !s.Next.IsZero() {
			t.Errorf("5 s later: owed since %v, next %v, %v", s.Owed, s.Next, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: fixture.Quiet()}).Run(ctx)
		}()
		fixture.Pass(10 * time.Second)
		if s, err = schedules.Get(t.Context(), "s"); err != nil || !s.Owed.IsZero() || s.Next.IsZero() {
			t.Errorf("with a scheduler: owed since %v, next %v, %v", s.Owed, s.Next, err)
		}
		host, _ := os.Hostname()
		if leader, err := schedules.Leader(t.Context()); leader.Name == "" || leader.Host != host || leader.PID != os.Getpid() || leader.Term != 1 || err != nil {
			t.Errorf("leader %+v, %v; want this process in term 1", leader, err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if leader, err := schedules.Leader(t.Context()); leader != (chime.Leader{Term: 1}) || err != nil {
			t.Errorf("after the scheduler has stopped: leader %+v, %v; want none, after term 1", leader, err)
		}
	})
}
