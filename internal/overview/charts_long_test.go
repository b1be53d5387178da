//go:build long

package overview_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A day of samples takes some ten seconds of processor time.

func TestChartsReadOnlyWhatIsNew(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		worker, scheduler := reporting(t, store)
		go func() { ended <- chime.Run(ctx, worker, scheduler) }()
		time.Sleep(26 * time.Hour) // fake time passes
		var c counter
		poller := overview.NewPoller(store)
		s := must(poller.Poll(t.Context(), overview.Hour))(t)
		server.Client().AddHook(&c)
		read := func(w overview.Window) (*overview.Charts, int64) {
			c.commands.Store(0)
			charts := must(poller.Charts(t.Context(), s, w, ""))(t)
			return charts, c.commands.Load()
		}
		first, cost := read(overview.Day)
		if cost == 0 || len(first.Points) < 1490 {
			t.Errorf("the first read cost %d commands, for %d points", cost, len(first.Points))
		}
		again, cost := read(overview.Day)
		if cost != 0 || again.Stamp != first.Stamp {
			t.Errorf("a second read at once cost %d commands, and the stamp differs: %v", cost, again.Stamp != first.Stamp)
		}
		if hour, cost := read(overview.Hour); cost != 0 || len(hour.Points) < 58 {
			t.Errorf("a shorter window cost %d commands, for %d points", cost, len(hour.Points))
		}
		time.Sleep(3 * time.Minute) // fake time passes
		s = must(poller.Poll(t.Context(), overview.Hour))(t)
		later, cost := read(overview.Day)
		if cost == 0 || cost > 5 || later.Stamp == first.Stamp || !later.Points[len(later.Points)-1].At.After(first.Points[len(first.Points)-1].At) {
			t.Errorf("three minutes later it cost %d commands and ends at %v", cost, later.Points[len(later.Points)-1].At)
		}
		stop()
		<-ended
	})
}
