package top_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestAKeyGoesThroughTheWindowsOfTheCharts(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{}).shows("CET  1h ▾", "OUT, 1 H")
	for i, want := range []string{"25", "92", "15"} {
		unit := []string{"h", "d", "m"}[i]
		title := []string{" H", " D", " MIN"}[i]
		s.press("w").shows("CET  "+want+unit+" ▾", "OUT, "+want+title)
	}
	if s.polls != 3 {
		t.Errorf("%d polls, want one at each key", s.polls)
	}
	s.press("w").shows("CET  1h ▾").press("?").shows("w               charts of another window")
	newScreen(t, 59, 24, top.Options{}).shows("!▾")
}

// A poll that was under way has charts of the window before; another one follows at once.
func TestAWindowThatIsChangedDuringAPollIsReadAfterIt(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{})
	s.now = s.now.Add(2 * time.Second)
	poll := top.Tick(s.model, s.now)
	s.press("w").shows("25h ▾", "OUT, 1 H")
	if s.polls != 0 {
		t.Fatalf("%d polls, want none: one is under way", s.polls)
	}
	if s.do(poll); s.polls != 2 {
		t.Errorf("%d polls, want the one under way and another", s.polls)
	}
	s.shows("25h ▾", "OUT, 25 H")
}

func TestAFrozenScreenReadsNoOtherWindow(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{}).press("f", "w").shows("25h ▾", "OUT, 1 H")
	if s.polls != 0 {
		t.Errorf("%d polls of a frozen screen", s.polls)
	}
	s.press("f").shows("OUT, 25 H")
}

func TestChartsReachBackAsFarAsTheirWindow(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		must(chime.NewSchedules(store).Put(t.Context(), "report", must(recurrence.Cron("*/10 * * * *"))(t)))(t)
		worker := chime.NewWorker(store, chime.WorkerOptions{})
		worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
		poller := top.NewPoller(store)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) }()
		time.Sleep(5*time.Hour + 2*time.Minute)                                                    // fake time passes
		for began := time.Now(); time.Since(began) < 23*time.Minute; time.Sleep(5 * time.Second) { // fake time too
			must(poller.Poll(t.Context(), top.Quarter))(t)
		}
		for _, c := range []struct {
			window      top.Window
			cells, sure int // of which something is known, at least
			least, most float64
		}{
			{top.Hour, 60, 58, 6, 6},
			{top.Day, 25, 5, 28, 31},
			{top.Season, 92, 1, 28, 31},
			{top.Quarter, 60, 60, 1, 2},
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
