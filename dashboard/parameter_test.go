package dashboard

import (
	"net/url"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// The paging parameters of other dashboards are refused, whatever their value, and not ignored.
func TestAParameterThatNoPageHasIsRefused(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for _, path := range []string{"/", "/jobs", "/schedules", "/queues", "/workers", "/failures", "/calendar"} {
			d := newDashboard(t, store, Options{}) // with a viewer who has sent no request yet
			for _, query := range []string{"page=1e12", "size=-1", "days=99999", "window=1h&page=2"} {
				wants(t, path+"?"+query, send(d, "GET", path+"?"+query), 400, "No page has the parameter")
			}
		}
		d := newDashboard(t, store, Options{})
		for query, want := range map[string]string{
			"state=dead&q=%zz": "cannot be read", "state=dead;q=foo": "cannot be read", "q=100%": "cannot be read", "state=dead&state=waiting": "Use it once",
		} {
			wants(t, query, send(d, "GET", "/jobs?"+query), 400, want)
			time.Sleep(time.Second) // fake time: 20 requests are allowed in each
		}
		for _, page := range []string{"schedules?zzz=1", "jobs?state=dead&state=dead", "schedules?page=2", "jobs?q=%zz"} {
			wants(t, "the stream of "+page, send(d, "GET", "/events?page="+url.QueryEscape(page)), 400, "want the address of a page")
		}
		wants(t, "a known one", send(newDashboard(t, store, Options{}), "GET", "/?window=25h&zone=Europe/Berlin"), 200)
	})
}
