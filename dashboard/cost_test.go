package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// openStream opens a page's stream of events until close is called.
func openStream(t *testing.T, d *Dashboard, page string) (close func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "/events?page="+url.QueryEscape(page), nil)
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
	ended := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		ended <- w
	}()
	return func() {
		t.Helper()
		cancel()
		if w := <-ended; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "event: region") {
			t.Errorf("the stream of %q was answered %d: %.300s", page, w.Code, w.Body)
		}
	}
}

// Ten seconds after the last viewer has gone, and in between page views that nobody keeps open, Redis gets no command.
func TestNobodyLooksNoCommandIsSent(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		worker := busy(t, store)
		d := newDashboard(t, store, Options{})
		during(t, func() { time.Sleep(31 * time.Minute) }, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) // fake time passes
		var c counter
		server.Client().AddHook(&c)
		sentIn := func(d time.Duration) int64 {
			before := c.commands.Load()
			time.Sleep(d) // fake time passes
			synctest.Wait()
			return c.commands.Load() - before
		}
		if n := sentIn(time.Minute); n != 0 {
			t.Errorf("before anybody looks %d commands were sent", n)
		}
		pages := []string{"", "schedules", "schedules/report", "calendar", "queues", "queues/mail", "workers", "jobs?state=dead", "jobs?q=job:inv*", "failures"}
		for _, page := range pages {
			wants(t, page, send(d, "GET", "/"+page), 200)
		}
		sentIn(time.Second) // what was begun ends
		if n := sentIn(30 * time.Second); n != 0 {
			t.Errorf("pages were seen and left, and %d commands were sent in the half minute after", n)
		}
		for range 2 { // those who come back find the poller ended
			var streams []func()
			for _, page := range pages {
				streams = append(streams, openStream(t, d, page))
			}
			if n := sentIn(20 * time.Second); n == 0 {
				t.Error("viewers look, and nothing is read")
			}
			for _, leave := range streams {
				leave()
			}
			sentIn(10 * time.Second) // a page that is loaded anew finds the poller running
			if n := sentIn(30 * time.Second); n != 0 {
				t.Errorf("nobody has looked for 10 s, and %d commands were sent in the half minute after", n)
			}
		}
	})
}

// A payload is not compressed with what an attacker may have put beside it.
func TestAnswersToFormsAreNotCompressed(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "mail", strings.Repeat("secret ", 10_000), chime.ID("x")))
		d := newDashboard(t, store, Options{})
		got := send(d, "POST", "/jobs/default/x/reveal", "Accept-Encoding: gzip")
		wants(t, "a look", got, 200, "secret secret")
		if got.Header().Get("Content-Encoding") != "" || got.Body.Len() < zipFrom {
			t.Errorf("it is compressed, or too short to tell: %d bytes, %v", got.Body.Len(), got.Header())
		}
	})
}
