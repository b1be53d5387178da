package crawl_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/incident"
)

// An open page searches the jobs of all queues in a few turns of two seconds: it shows what it has found at once, how far it has looked meanwhile, and then the end.
func TestAnArgumentIsSoughtOnAllQueuesWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, manyQueues)
		for _, page := range []string{"find?is=nothing", "jobs?q=" + url.QueryEscape("arg:nothing")} {
			d := newDashboard(t, world.Store, dashboard.Options{Write: true, Authorize: crowd(allRights)})
			wants(t, page, send(d, "GET", "/"+page), 200, "found among the", "; the search continues")
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, "GET", "/events?page="+url.QueryEscape(page), nil)
			r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
			ended := make(chan string, 1)
			go func() {
				w := httptest.NewRecorder()
				d.ServeHTTP(w, r)
				ended <- w.Body.String()
			}()
			time.Sleep(5 * time.Second) // fake time passes
			cancel()
			if body := <-ended; !strings.Contains(body, "No job matches this filter") {
				t.Errorf("%s: after five seconds the search has not ended: %.2000s", page, body[max(0, len(body)-2000):])
			}
			d.Close()
		}
	})
}
