package story

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// facts returns the facts of a story that do not depend on chance.
func facts(t *testing.T, store chime.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	schedules := chime.NewSchedules(store)
	for s, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all["schedule "+s.Name] = fmt.Sprint(s.State, " next ", s.Next.UTC().Format(time.RFC3339), " last ", s.Last.Outcome, " ", s.Last.Planned.UTC().Format(time.RFC3339), " ", s.Note.Text)
		done, failed := 0, 0
		days, err := schedules.Days(t.Context(), s.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			done, failed = done+day.Done, failed+day.Failed
		}
		all["days of "+s.Name] = fmt.Sprint(len(days), " days, ", done, " done, ", failed, " failed")
	}
	queues, err := chime.NewQueues(store).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queues {
		all["queue "+q.Name] = fmt.Sprint(q.Paused, " ", q.Note.Text, " parked ", q.Parked)
	}
	workers, err := chime.NewWorkers(store).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		all[fmt.Sprintf("worker %s:%d", w.Host, w.PID)] = fmt.Sprint(w.Slots, " slots, ", w.Version)
	}
	leader, err := schedules.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all["leader"] = leader.Host
	return all
}

// The clock of the store is days behind this machine's clock, and pages use the store's clock.
func TestWhatIsUpcomingGoesByTheStoresClock(t *testing.T) {
	schedules := chime.NewSchedules(open(t))
	times, err := schedules.Upcoming(t.Context(), "sync-crm", 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range times {
		if want := At.Truncate(time.Hour).Add(time.Duration(i+1) * time.Hour); !at.Equal(want) {
			t.Errorf("run %d is planned for %v, want %v", i, at, want)
		}
	}
}
