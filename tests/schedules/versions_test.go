package schedules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Two versions of a program run at the same time for an hour, as in a slow deployment: the old one declares a schedule in queue a, the new one in
// queue b with other arguments. The version that started last decides, and no process moves or changes it back.
func TestTwoVersionsOfAProgramDoNotMoveAScheduleBackAndForth(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		start := func(queue string) (stop func()) {
			store := redisstore.New(f.Server.Client(), redisstore.Options{Logger: fixture.Quiet()})
			s := chime.NewScheduler(store, chime.SchedulerOptions{Logger: fixture.Quiet()})
			if err := s.Schedule("report", recurrence.Recurrence{Frequency: recurrence.Minute}, chime.Queue(queue), chime.Args("for "+queue)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("Run: %v", err)
				}
			}
		}
		home := func() string { // the registry's entry has a new generation after each move
			entries, err := f.Server.Client().ZRange(t.Context(), "chime:schedules", 0, -1).Result()
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%q %s", entries, f.Stored("report").Definition)
		}
		remains := func(queue string) {
			t.Helper()
			fixture.Pass(30 * time.Second)
			before := home()
			if !strings.Contains(before, `"report\t`+queue+`\t`) {
				t.Fatalf("it is at %s, want queue %s, where it was declared last", before, queue)
			}
			fixture.Pass(time.Hour)
			if after := home(); after != before {
				t.Errorf("it was moved or changed in the meantime:\nfrom %s\nto   %s", before, after)
			}
		}
		stopOld := start("a")
		remains("a")
		stopNew := start("b")
		remains("b")
		stopOld()
		stopOld = start("a") // the old version is started once more
		remains("a")
		stopOld()
		stopNew()
	})
}
