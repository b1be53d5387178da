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
			t.Errorf("the response to the stream of %q is %d: %.300s", page, w.Code, w.Body)
		}
	}
}

// Redis gets no command from ten seconds after the last viewer has left, nor between views of pages that nobody keeps open.
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
			t.Errorf("%d commands were sent before anybody opened a page", n)
		}
		pages := []string{"", "schedules", "schedules/report", "calendar", "queues", "queues/mail", "workers", "jobs?state=dead", "jobs?q=job:inv*", "failures", "batches"}
		for _, page := range pages {
			wants(t, page, send(d, "GET", "/"+page), 200)
		}
		sentIn(time.Second) // wait for everything that was begun
		if n := sentIn(30 * time.Second); n != 0 {
			t.Errorf("%d commands were sent in the half minute after pages were opened and closed", n)
		}
		for range 2 { // in the second round the poller has ended
			var streams []func()
			for _, page := range pages {
				streams = append(streams, openStream(t, d, page))
			}
			if n := sentIn(20 * time.Second); n == 0 {
				t.Error("pages are open, but nothing is read")
			}
			for _, leave := range streams {
				leave()
			}
			sentIn(10 * time.Second) // when the page is loaded again, the poller runs
			if n := sentIn(30 * time.Second); n != 0 {
				t.Errorf("%d commands were sent in the half minute after nobody had a page open for 10 s", n)
			}
		}
	})
}

// A payload is not compressed together with texts that an attacker may have chosen.
func TestAnswersToFormsAreNotCompressed(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "mail", strings.Repeat("secret ", 10_000), chime.ID("x")))
		d := newDashboard(t, store, Options{})
		got := send(d, "POST", "/jobs/default/x/reveal", "Accept-Encoding: gzip")
		wants(t, "a look", got, 200, "secret secret")
		if got.Header().Get("Content-Encoding") != "" || got.Body.Len() < zipFrom {
			t.Errorf("it is compressed, or too short for this test: %d bytes, %v", got.Body.Len(), got.Header())
		}
	})
}
