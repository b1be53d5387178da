package chimetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Answers from memory change nothing: the same test has the same results with the store itself.
func TestAQuietStoreDoesWhatTheStoreDoes(t *testing.T) {
	for seed := range uint64(long.Seeds(1, 2)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var quietly, plainly []string
			record := func(to *[]string) func(t *testing.T, c *Chime) {
				return func(t *testing.T, c *Chime) { *to = walkQuiet(t, c, rand.New(rand.NewPCG(seed, 2))) }
			}
			Run(t, record(&quietly))
			run(t, record(&plainly), func(server *embedded.Server) protocol.Store { return server.Store().Protocol() })
			for i := range max(len(quietly), len(plainly)) {
				if i >= len(quietly) || i >= len(plainly) || quietly[i] != plainly[i] {
					t.Fatalf("%d lines, want %d; the first that differs:\n got %s\nwant %s", len(quietly), len(plainly),
						strings.Join(quietly[min(i, len(quietly)):min(i+1, len(quietly))], ""), strings.Join(plainly[min(i, len(plainly)):min(i+1, len(plainly))], ""))
				}
			}
			if len(quietly) < 10 {
				t.Errorf("%d lines: this test does too little", len(quietly))
			}
		})
	}
}

// walkQuiet works like programs and operators, with long times in between, and returns the results.
func walkQuiet(t *testing.T, c *Chime, random *rand.Rand) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	between := func(d time.Duration) time.Duration {
		return time.Duration(random.Int64N(int64(d))).Truncate(time.Second)
	}
	var stops []func()
	start := func() {
		worker := newWorker(c, chime.WorkerOptions{Concurrency: 5, Queues: map[string]int{"default": 1, "other": 1}})
		worker.Handle("runs", func(context.Context, *chime.Job) error { return nil })
		worker.Handle("takes", func(context.Context, *chime.Job) error {
			time.Sleep(3 * time.Minute) // fake time: long enough that some run while the roles stop
			return nil
		})
		worker.Handle("fails", func(context.Context, *chime.Job) error { return chime.RetryAfter(7*time.Minute, errors.New("no")) }, chime.MaxAttempts(3))
		scheduler := newScheduler(c)
		must(scheduler.Schedule("hourly", recurrence.Recurrence{Cron: "10 * * * *"}, chime.JobName("runs")))
		roles := []chime.Role{worker, scheduler}
		if random.IntN(3) == 0 {
			roles = roles[:1]
		}
		stops = append(stops, c.Start(roles...))
	}
	start()
	enqueuer, schedules, queues, jobs := newEnqueuer(c), chime.NewSchedules(c.Store()), chime.NewQueues(c.Store()), 0
	pick := func(names ...string) string { return names[random.IntN(len(names))] }
	for range long.Seeds(8, 12) {
		switch random.IntN(9) {
		case 0, 1, 2:
			options := []chime.EnqueueOption{chime.ID(fmt.Sprint("job", jobs)), chime.Queue(pick("default", "other"))}
			if random.IntN(2) == 0 {
				options = append(options, chime.In(between(3*time.Hour)))
			}
			jobs++
			_, err := enqueuer.Enqueue(t.Context(), pick("runs", "takes", "fails", "unknown"), nil, options...)
			must(err)
		case 3:
			_, err := schedules.Put(t.Context(), pick("s1", "s2"), recurrence.Recurrence{Cron: pick("*/20 * * * *", "5 */2 * * *")}, chime.JobName(pick("runs", "takes")), chime.Queue(pick("default", "other")))
			must(err)
		case 4:
			if err := schedules.Pause(t.Context(), pick("s1", "s2")); !errors.Is(err, chime.ErrNotFound) {
				must(err)
			}
		case 5:
			if err := schedules.Resume(t.Context(), pick("s1", "s2")); !errors.Is(err, chime.ErrNotFound) {
				must(err)
			}
		case 6:
			must(queues.Pause(t.Context(), "default"))
			lines = append(lines, describe(c.Advance(between(time.Hour)))...)
			must(queues.Resume(t.Context(), "default"))
		case 7:
			start()
		case 8:
			if len(stops) > 1 {
				i := random.IntN(len(stops))
				stops[i]()
				stops = slices.Delete(stops, i, i+1)
			}
		}
		lines = append(lines, describe(c.Advance(between(80*time.Minute)))...)
		for _, name := range []string{"runs", "takes", "fails", "unknown"} {
			for _, job := range c.Enqueued(name) {
				say("%v due %s", job, job.Due.UTC().Format(time.TimeOnly))
			}
		}
		workers, err := chime.NewWorkers(c.Store()).List(t.Context())
		must(err)
		say("%d workers at %s", len(workers), time.Now().UTC().Round(time.Minute).Format(time.DateTime))
	}
	return lines
}

// describe lists attempts. The order of attempts that ended in the same minute does not matter.
func describe(runs []*chime.RunInfo) (lines []string) {
	for _, run := range runs {
		lines = append(lines, fmt.Sprintf("%s %s to %s: %s attempt %d %s", run.Ended.Round(time.Minute).Format(time.DateTime), run.ID,
			run.Ended.Sub(run.Started).Round(time.Second), run.Name, run.Attempt, run.Outcome))
	}
	slices.Sort(lines)
	return lines
}
