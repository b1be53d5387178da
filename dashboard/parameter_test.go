package dashboard

import (
	"testing"

	"github.com/chimejobs/chime"
)

// What other dashboards call their pages and sizes is refused, however great it is, and not taken for nothing.
func TestAParameterThatNoPageHasIsRefused(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for _, path := range []string{"/", "/jobs", "/schedules", "/queues", "/workers", "/failures", "/calendar"} {
			d := newDashboard(t, store, Options{}) // whose viewer has asked for nothing yet
			for _, query := range []string{"page=1e12", "size=-1", "days=99999", "window=1h&page=2"} {
				wants(t, path+"?"+query, send(d, "GET", path+"?"+query), 400, "No page has the parameter")
			}
		}
		wants(t, "a known one", send(newDashboard(t, store, Options{}), "GET", "/?window=25h&zone=Europe/Berlin"), 200)
	})
}
