package dashboard

import (
	"log/slog"
	"testing"

	"github.com/chimejobs/chime"
)

// A panic in a hook of the application is not reported as an outage of Redis, and viewers do not get its text.
func TestAPanicIsNoOutage(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: slog.New(slog.DiscardHandler)}).Enqueue(t.Context(), "report", nil, chime.ID("a")))
		d := newDashboard(t, store, Options{Links: func(*chime.JobInfo) []Link { panic("canary") }})
		got := send(d, "GET", "/jobs/default/a")
		wants(t, "the page", got, 500, "This page could not be created. See the server log for the reason")
		lacks(t, "the page", got, "canary", "Redis")
		wants(t, "another page", send(d, "GET", "/jobs"), 200, "report")
	})
}
