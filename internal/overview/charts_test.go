package overview_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// reporting returns a worker and a scheduler for a schedule that runs every ten minutes, for a minute and a half each time.
func reporting(t *testing.T, store chime.Store) (chime.Role, chime.Role) {
	must(chime.NewSchedules(store).Put(t.Context(), "report", must(recurrence.Cron("*/10 * * * *"))(t)))(t)
	worker := chime.NewWorker(store, chime.WorkerOptions{})
	worker.Handle("report", func(ctx context.Context, _ *chime.Job) error {
		select {
		case <-ctx.Done():
		case <-time.After(90 * time.Second):
		}
		return nil
	})
	return worker, chime.NewScheduler(store, chime.SchedulerOptions{})
}

func TestChartsOfEveryWindowAreFine(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		worker, scheduler := reporting(t, store)
		go func() { ended <- chime.Run(ctx, worker, scheduler) }()
		poller := overview.NewPoller(store)
		time.Sleep(5*time.Hour + 2*time.Minute)                                                    // fake time passes
		for began := time.Now(); time.Since(began) < 23*time.Minute; time.Sleep(5 * time.Second) { // fake time too
			must(poller.Poll(t.Context(), overview.Hour))(t)
		}
		for _, c := range []struct {
			window      overview.Window
			step, back  time.Duration
			points      int // minimum
			least, most float64
		}{
			{overview.Quarter, time.Minute, 15 * time.Minute, 45, 1, 2},
			{overview.Hour, time.Minute, time.Hour, 58, 5, 6},
			{overview.Day, time.Minute, 25 * time.Hour, 318, 32, 33},
			{overview.Season, time.Hour, 92 * 24 * time.Hour, 5, 28, 31},
		} {
			for _, queue := range []string{"", "default"} {
				s := must(poller.Poll(t.Context(), overview.Hour))(t)
				got := must(poller.Charts(t.Context(), s, c.window, queue))(t)
				runs, busy := 0.0, 0.0
				for i, p := range got.Points {
					until := p.At.Add(c.step)
					if i+1 < len(got.Points) && got.Points[i+1].At.Before(until) {
						until = got.Points[i+1].At
					}
					runs += p.Out * until.Sub(p.At).Seconds()
					busy = max(busy, p.Running)
					if i > 0 && !got.Points[i-1].At.Before(p.At) || p.At.Before(got.From.Add(-c.step)) || !p.At.Before(got.To) {
						t.Errorf("window %s: point %d is at %v, after %v", c.window, i, p.At, got.Points[max(i-1, 0)].At)
					}
				}
				if runs = math.Round(runs*100) / 100; len(got.Points) < c.points || runs < c.least || runs > c.most || got.Step != c.step || got.To.Sub(got.From) != c.back {
					t.Errorf("window %s of %q: %d points of %v, %v runs, %v long; want %d of %v, %v to %v, %v", c.window, queue, len(got.Points), got.Step, runs, got.To.Sub(got.From), c.points, c.step, c.least, c.most, c.back)
				}
				if busy != 1 && c.window != overview.Season || len(got.Late) == 0 || got.Read != 1 || got.Of != 1 {
					t.Errorf("window %s of %q: at most %v busy, %d points of lateness, %d of %d queues read; want 1, some, 1 of 1", c.window, queue, busy, len(got.Late), got.Read, got.Of)
				}
				if coarse := got.Coarse(c.back); len(coarse) > 2 || coarse[0].Running != busy && len(coarse) == 1 {
					t.Errorf("window %s: the merged points are %+v", c.window, coarse)
				}
			}
		}
		stop()
		<-ended
	})
}
