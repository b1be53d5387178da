package crawl_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
)

// Without an Authorize, every client of a proxy on this machine sees the pages. They show what runs when, and nothing that people or handlers have
// written: no arguments, results, progress, headers, errors, notes and meta data.
func TestCrawlWithoutAuthorizeShowsNoContents(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		w := world{free: "canaryfree", hidden: "canary."}
		w.fill(t, store, func() {
			bare := dashboard.New(store, dashboard.Options{Logger: quiet, RedactError: func(_ *chime.JobInfo, text string) string { return text }})
			t.Cleanup(bare.Close)
			site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(50 * time.Millisecond) // fake time passes, to keep below the rate limit
				bare.ServeHTTP(w, r)
			})
			c := newCrawler(t, site, "")
			c.visit("", "search?q=dead", "schedules/cleanup", "jobs/default/dead", "jobs/default/done", "jobs/default/slow", "jobs/default/again", "schedules/report",
				"schedules/invoices", "queues/archive", "jobs/archive/waits", "schedules/report?day=2000-01-01", "schedules/report?runs=1000")
			seen := map[string]string{}
			for address, got := range c.pages {
				seen[address] = got.Body.String()
			}
			if len(seen) < 40 {
				t.Errorf("%d pages were visited, want more", len(seen))
			}
			for _, address := range []string{"jobs?state=all&q=error:refused", "jobs?state=dead&q=error:typed", "failures?q=error:refused", "jobs/mail/none", "schedules/none"} {
				seen[address] = send(site, "GET", "/"+address).Body.String()
			}
			for _, address := range slices.Sorted(maps.Keys(c.streams))[min(10, len(c.streams)):] {
				delete(c.streams, address) // all are of one viewer, who may not have many
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute) // fake time passes until every page had its turn
			defer stop()
			for address, text := range c.listen(ctx) {
				seen["the stream "+address] = text
			}
			for address, text := range seen {
				for _, secret := range []string{"canary", "refused", "42 orders", "anna"} { // anna has paused something
					if at := strings.Index(text, secret); at >= 0 && !strings.Contains(address, secret) { // the page shows its own filter
						t.Errorf("%q has %s: …%s", address, secret, text[max(0, at-150):min(len(text), at+50)])
					}
				}
			}
			wants(t, "a dead job", send(site, "GET", "/jobs/default/dead"), 200, "not shown without Options.Authorize")
			wants(t, "a paused schedule", send(site, "GET", "/schedules/cleanup"), 200, "paused")
			wants(t, "a filter", send(site, "GET", "/jobs?state=all&q="+url.QueryEscape("header:tenant=canaryfree")), 200, "this dashboard hides headers")
			wants(t, "a reveal", post(site, "/jobs/default/dead/reveal"), 403, "right to reveal")
		})
	})
}
