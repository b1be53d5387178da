package overview_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Done, dead and cancelled jobs leave a queue, both by the counters of two polls and by samples.
func TestWhatIsGivenUpOrCancelledLeavesAQueueToo(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		enqueuer, jobs := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewJobs(store)
		enqueue := func(name string, options ...chime.EnqueueOption) {
			t.Helper()
			if _, err := enqueuer.Enqueue(t.Context(), name, nil, options...); err != nil {
				t.Fatal(err)
			}
		}
		poll := func(p *overview.Poller, w overview.Window) *overview.Snapshot {
			t.Helper()
			s, err := p.Poll(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		enqueue("cancelled", chime.ID("c"), chime.In(time.Hour))
		work(t, 2*time.Minute, chime.NewScheduler(store, chime.SchedulerOptions{})) // for a first sample: later traffic is in the next ones
		seen := overview.NewPoller(store)
		poll(seen, overview.Quarter)

		enqueue("good")
		enqueue("bad", chime.MaxAttempts(1))
		if _, err := jobs.Cancel(t.Context(), "default", "c"); err != nil {
			t.Fatal(err)
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 1}})
		worker.Handle("good", func(context.Context, *chime.Job) error { return nil })
		worker.Handle("bad", func(context.Context, *chime.Job) error { return errors.New("no") })
		work(t, 2*time.Minute, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))

		const minutes, ended = 2, 3
		if s := poll(seen, overview.Quarter); len(s.Queues) != 1 || math.Abs(s.Queues[0].Out-float64(ended)/minutes) > 0.1 || math.Abs(known(s.Queues[0].Outs)-ended) > 0.01 {
			t.Errorf("by polls: %v a minute, %v in total; want %v and %v", s.Queues[0].Out, known(s.Queues[0].Outs), float64(ended)/minutes, ended)
		}
		if s := poll(overview.NewPoller(store), overview.Hour); math.Abs(known(s.Queues[0].Outs)-ended) > 0.01 {
			t.Errorf("by samples: %v in total, want %v", known(s.Queues[0].Outs), ended)
		}
	})
}

// known returns the sum of the known values of a chart.
func known(values []float64) (sum float64) {
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

func TestRatesAreAveragesOfTheMinutesThatSamplesCover(t *testing.T) {
	if _, is := overview.Average(nil); is {
		t.Error("without samples there is an average")
	}
	got, is := overview.Average([]chime.Sample{
		{Covers: 1, Enqueued: 10, Done: 4, Died: 1, Cancelled: 1, Failed: 3},
		{Covers: 3, Enqueued: 30, Done: 2, Failed: 1},
	})
	if want := (overview.Rates{In: 10, Out: 2, Failed: 1}); !is || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Placed occurrences count as traffic into a queue like enqueued jobs. Otherwise more jobs would leave such a queue than enter it.
func TestOccurrencesOfSchedulesComeInToo(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		must(chime.NewSchedules(store).Put(t.Context(), "report", must(recurrence.Cron("* * * * *"))(t)))(t)
		runs := func(d time.Duration) {
			worker := chime.NewWorker(store, chime.WorkerOptions{})
			worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
			work(t, d, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
		}
		runs(3 * time.Minute) // for a first sample: later traffic is in the next ones
		seen := overview.NewPoller(store)
		must(seen.Poll(t.Context(), overview.Quarter))(t)
		runs(10 * time.Minute)

		for name, s := range map[string]*overview.Snapshot{
			"polls": must(seen.Poll(t.Context(), overview.Quarter))(t), "samples": must(overview.NewPoller(store).Poll(t.Context(), overview.Hour))(t),
		} {
			if q := s.Queues[0]; math.Abs(q.In-1) > 0.1 || math.Abs(q.Out-1) > 0.1 || math.Abs(known(s.Flow.Ins)-known(s.Flow.Outs)) > 1 || known(s.Flow.Ins) < 8 {
				t.Errorf("by %s: %v in and %v out a minute, %v and %v in total; want 1 and 1, and as many in as out", name, q.In, q.Out, known(s.Flow.Ins), known(s.Flow.Outs))
			}
		}
		for _, window := range []overview.Window{overview.Quarter, overview.Hour} {
			charts := must(seen.Charts(t.Context(), must(seen.Poll(t.Context(), overview.Quarter))(t), window, ""))(t)
			in, out := 0.0, 0.0
			for _, p := range charts.Points {
				in, out = in+p.In, out+p.Out
			}
			if in == 0 || math.Abs(in-out) > 0.1*out {
				t.Errorf("in the charts of %s %v come in and %v go out", window, in, out)
			}
		}

		// A purge does not change the number of jobs that came in.
		must(seen.Poll(t.Context(), overview.Quarter))(t)
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for range 100 {
			must(enqueuer.Enqueue(t.Context(), "waits", nil, chime.Queue("purged")))(t)
		}
		again := overview.NewPoller(store)
		must(again.Poll(t.Context(), overview.Quarter))(t)
		must(enqueuer.Enqueue(t.Context(), "waits", nil, chime.Queue("purged")))(t)
		must(chime.NewQueues(store).Purge(t.Context(), "purged", "purged", nil))(t)
		time.Sleep(time.Minute) // fake time passes
		s := must(again.Poll(t.Context(), overview.Quarter))(t)
		if q := s.Queues[1]; !q.Known || math.Abs(q.In-1) > 0.01 {
			t.Errorf("a purged queue has %v jobs in a minute, known: %v; want 1", q.In, q.Known)
		}
	})
}
