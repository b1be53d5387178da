package overview_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The charts of a day earlier have what happened then, and are read once.
func TestChartsHaveTheDayBefore(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		worker, scheduler := reporting(t, store)
		work(t, 45*time.Minute, worker, scheduler)
		time.Sleep(24*time.Hour - 10*time.Minute) // fake time passes: yesterday's hour has the runs
		var c counter
		server.Client().AddHook(&c)
		poller := overview.NewPoller(store)
		s := must(poller.Poll(t.Context(), overview.Hour))(t)
		got := must(poller.Before(t.Context(), s, overview.Hour, ""))(t)
		runs := 0.0
		for _, p := range got.Points {
			runs += p.Out * 60
			if p.At.Before(got.From.Add(-time.Minute)) {
				t.Errorf("a point is at %v, before %v", p.At, got.From)
			}
		}
		if runs < 2 || runs > 5 || s.At.Sub(got.To) < 24*time.Hour || got.Read != 1 || got.Of != 1 {
			t.Errorf("%v runs until %v, of %d queues; want about 3 a day before %v", runs, got.To, got.Read, s.At)
		}
		sent := c.commands.Load()
		again := must(poller.Before(t.Context(), s, overview.Hour, "default"))(t)
		if len(again.Points) != len(got.Points) || c.commands.Load() != sent || again.Stamp != got.Stamp {
			t.Errorf("the second reading has %d points and sent %d commands, want %d and none", len(again.Points), c.commands.Load()-sent, len(got.Points))
		}
		if none := must(poller.Before(t.Context(), s, overview.Season, ""))(t); none != nil {
			t.Error("a season has a day before")
		}
	})
}
