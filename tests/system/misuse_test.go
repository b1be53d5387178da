package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Misuse gives an error or a panic that contains the name of the call, and never a nil dereference.
func TestMisuseIsReportedByName(t *testing.T) {
	handler := func(act func(*chime.Worker)) func() error {
		return func() (err error) {
			defer func() { err = fmt.Errorf("%v", recover()) }()
			act(chime.NewWorker(nil, chime.WorkerOptions{}))
			return nil
		}
	}
	run := func(roles ...chime.Role) func() error {
		return func() error { return chime.Run(t.Context(), roles...) }
	}
	h := func(chime.Handler) chime.Handler { return nil }
	many := func(context.Context, []*chime.Job) error { return nil }
	for want, act := range map[string]func() error{
		"chime: worker: store is nil":             run(chime.NewWorker(nil, chime.WorkerOptions{})),
		"chime: scheduler: store is nil":          run(chime.NewScheduler(nil, chime.SchedulerOptions{})),
		"chime: Use: nil middleware":              handler(func(w *chime.Worker) { w.Use(h, nil) }),
		`chime: Handle "a": an option is nil`:     handler(func(w *chime.Worker) { w.Handle("a", func(context.Context, *chime.Job) error { return nil }, nil) }),
		"chime: UseMany: nil middleware":          handler(func(w *chime.Worker) { w.UseMany(nil) }),
		`chime: HandleMany "a": nil handler`:      handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1}, nil) }),
		`chime: HandleMany: job name`:             handler(func(w *chime.Worker) { w.HandleMany("", chime.Many{Size: 1}, many) }),
		`chime: HandleMany "a": an option is nil`: handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1}, many, nil) }),
		`chime: HandleMany "a": there is a handler for this name`: handler(func(w *chime.Worker) {
			w.Handle("a", func(context.Context, *chime.Job) error { return nil })
			w.HandleMany("a", chime.Many{Size: 1}, many)
		}),
		`chime: HandleMany "a": Many.Size 0: want 1 to 1,000`: handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{}, many) }),
		`Many.Size 1001: want 1 to 1,000`:                     handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1001}, many) }),
		`Many.Wait -1ns: want 0 to 10s`:                       handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1, Wait: -1}, many) }),
		`Many.Wait 10.000000001s: want 0 to 10s`:              handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1, Wait: 10*time.Second + 1}, many) }),
		`Many.Bytes 67108865: want 0 to 67,108,864 (64 MiB)`:  handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1, Bytes: 64<<20 + 1}, many) }),
		`Many.Bytes -1: want`:                                 handler(func(w *chime.Worker) { w.HandleMany("a", chime.Many{Size: 1, Bytes: -1}, many) }),
		`chime: get schedule: store is nil`: func() error {
			_, err := chime.NewSchedules(nil).Get(t.Context(), "a")
			return err
		},
		`chime: put schedule "a": store is nil`: func() error {
			_, err := chime.NewSchedules(nil).Put(t.Context(), "a", recurrence.Recurrence{Cron: "0 9 * * *"})
			return err
		},
		`chime: list schedules: store is nil`: func() error {
			for _, err := range chime.NewSchedules(nil).List(t.Context(), chime.ScheduleFilter{}) {
				return err
			}
			return nil
		},
		`chime: delete schedule: store is nil`: func() error { return chime.NewSchedules(nil).Delete(t.Context(), "a") },
		`chime: pause schedule: store is nil`:  func() error { return chime.NewSchedules(nil).Pause(t.Context(), "a") },
		"chime: list queues: store is nil": func() error {
			_, err := chime.NewQueues(nil).List(t.Context())
			return err
		},
		`chime: pause queue "a": store is nil`: func() error { return chime.NewQueues(nil).Pause(t.Context(), "a") },
		`job name "größe" has 'ö' at position 3`: func() error {
			_, err := chime.NewEnqueuer(fixture.NoStore{}, chime.EnqueuerOptions{}).Enqueue(t.Context(), "größe", nil)
			return err
		},
	} {
		if err := act(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
