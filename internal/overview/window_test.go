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

func TestChartsReachBackAsFarAsTheirWindow(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		must(chime.NewSchedules(store).Put(t.Context(), "report", must(recurrence.Cron("*/10 * * * *"))(t)))(t)
		worker := chime.NewWorker(store, chime.WorkerOptions{})
		worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
		poller := overview.NewPoller(store)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) }()
		time.Sleep(5*time.Hour + 2*time.Minute)                                                    // fake time passes
		for began := time.Now(); time.Since(began) < 23*time.Minute; time.Sleep(5 * time.Second) { // fake time too
			must(poller.Poll(t.Context(), overview.Quarter))(t)
		}
		for _, c := range []struct {
			window      overview.Window
			cells, sure int // minimum number of known cells
			least, most float64
		}{
			{overview.Hour, 60, 58, 6, 6},
			{overview.Day, 25, 5, 28, 31},
			{overview.Season, 92, 1, 28, 31},
			{overview.Quarter, 60, 60, 1, 2},
		} {
			s := must(poller.Poll(t.Context(), c.window))(t)
			for name, values := range map[string][]float64{"the queue's": s.Queues[0].Outs, "that of all queues": s.Flow.Outs} {
				total, known := 0.0, 0
				for _, v := range values {
					if !math.IsNaN(v) {
						total, known = total+v, known+1
					}
				}
				if total = math.Round(total*100) / 100; len(values) != c.cells || known < c.sure || total < c.least || total > c.most {
					t.Errorf("window %s, %s: %d cells, %d known, %v runs; want %d, %d at least, and %v to %v", c.window, name, len(values), known, total, c.cells, c.sure, c.least, c.most)
				}
			}
			if late := s.Flow.Late; !s.Flow.Timed || len(late) != c.cells {
				t.Errorf("window %s: lateness %v, want %d cells", c.window, late, c.cells)
			}
		}
		stop()
		<-ended
	})
}
