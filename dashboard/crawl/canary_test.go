package crawl_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/long"
)

// canaries are the places with a hidden text, each with the text that replaces it.
var (
	canaries = []string{"canary.arguments", "canary.schedule", "canary.result", "canary.error", "canary.progress"}
	canary   = regexp.MustCompile(`canary\.[a-z]+`)
)

// withoutCanaries hides the canaries in all contents of a job.
func withoutCanaries(_ *chime.JobInfo, held any) any {
	switch held := held.(type) {
	case string:
		return canary.ReplaceAllString(held, "[hidden]")
	case map[string]any:
		for key, value := range held {
			held[key] = withoutCanaries(nil, value)
		}
	}
	return held
}

// A witness is a dashboard that hides the canaries, with everything that it logs and audits.
type witness struct {
	*dashboard.Dashboard
	lines   strings.Builder
	audited []dashboard.Action
}

func newWitness(t *testing.T, store chime.Store, rights dashboard.Rights) *witness {
	w := &witness{}
	var viewers atomic.Int64 // all streams are opened at once
	var mu sync.Mutex
	w.Dashboard = newDashboard(t, store, dashboard.Options{
		Write: true, Redact: withoutCanaries,
		RedactError: func(_ *chime.JobInfo, text string) string { return canary.ReplaceAllString(text, "[hidden]") },
		Authorize: func(*http.Request) (dashboard.Viewer, error) { // each request comes from a new viewer, so that no rate limit applies
			return dashboard.Viewer{Name: fmt.Sprintf("anna%04d", viewers.Add(1)), Rights: rights}, nil
		},
		Audit: func(_ context.Context, a dashboard.Action) {
			mu.Lock()
			defer mu.Unlock()
			w.audited = append(w.audited, a)
		},
		Logger: slog.New(slog.NewTextHandler(&w.lines, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	return w
}

// formsOf returns the forms in which a text may be written: plain, in hexadecimal, and in base64 at any offset.
func formsOf(text string) []string {
	forms := []string{text, hex.EncodeToString([]byte(text))}
	for skipped := range 3 {
		whole := text[skipped : skipped+(len(text)-skipped)/3*3] // base64 encodes three bytes at a time
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte(whole)))
	}
	return forms
}

// hides fails the test if a text has a canary in any of its forms.
func hides(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range canaries {
		for _, form := range formsOf(secret) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s has %s: …%s", what, secret, text[max(0, at-100):min(len(text), at+50)])
			}
		}
	}
}

// A text that the application hides is in no page, stream, response, log or audit entry, for any rights and any request. The text next to it is.
func TestCrawlWhatIsHiddenIsNowhere(t *testing.T) {
	all := []dashboard.Rights{allRights &^ dashboard.Reveal, dashboard.View | dashboard.Reveal, dashboard.View, dashboard.View | dashboard.Operate}
	for _, rights := range all[:long.Seeds(1, len(all))] {
		onEmbedded(t, func(t *testing.T, store chime.Store) {
			w := world{free: "neighbour", hidden: "canary."}
			w.fill(t, store, func() {
				d := newWitness(t, store, rights)
				c := newCrawler(t, d, "")
				c.visit("")
				all := d.ask(t, c)
				for _, beside := range []string{"refused" + w.free + "[hidden]", "at main.go:7 " + w.free + "[hidden]", "42 orders" + w.free, "until the move is over" + w.free, "waits", "tomorrow"} {
					if !strings.Contains(all, beside) {
						t.Errorf("a viewer with %s does not see %q, which is not hidden", rights, beside)
					}
				}
				if rights&dashboard.Reveal != 0 && (!strings.Contains(all, "&#34;text&#34;: &#34;"+w.free) || !strings.Contains(all, "sent[hidden]") || !strings.Contains(all, w.free+"[hidden]&#34;")) {
					t.Error("a viewer who may reveal jobs does not see their contents")
				}
				if len(d.audited) == 0 && rights != dashboard.View {
					t.Errorf("no action of a viewer with %s was audited", rights)
				}
				if !strings.Contains(d.lines.String(), "dashboard.denied") && rights&dashboard.Reveal == 0 {
					t.Error("a refused request to reveal was not logged")
				}
				hides(t, "the log", d.lines.String())
				hides(t, "the audit", fmt.Sprintf("%+v", d.audited))
			})
		})
	}
}

// ask sends all other requests that a viewer may send, in addition to the found pages, and returns all responses.
func (d *witness) ask(t *testing.T, c *crawler) string {
	t.Helper()
	var all strings.Builder
	heard := func(what, text string) {
		hides(t, what, text)
		all.WriteString(text)
	}
	for address, got := range c.pages {
		heard(address, got.Body.String())
	}
	for _, address := range []string{
		"jobs?q=error:refused", "jobs?state=dead&q=error:neighbour", "failures?q=error:refused", "jobs?q=worker:*&state=all", "jobs?q=schedule:report&state=done", "search?q=dead", "schedules?prefix=report", "calendar?zone=Asia/Tokyo",
		"schedules/report?day=2000-01-01", "jobs?limit=200&state=all", "jobs/mail/none", "schedules/none", "nothing",
	} {
		heard(address, send(d, "GET", "/"+address).Body.String())
		heard(address+" as JSON", send(d, "GET", "/"+address, "Accept: application/json").Body.String())
	}
	for address := range c.posts { // the confirmations and refusals
		for _, verb := range []string{"requeue", "delete", "pause"} {
			got := post(d, "/"+address, "verb", verb, "id", "report", "id", "default/dead", "filter", "state:dead error:refused")
			heard("POST "+address, got.Body.String())
		}
	}
	for _, job := range []string{"dead", "again", "done", "tomorrow", "slow"} {
		heard("a look at "+job, post(d, "/jobs/default/"+job+"/reveal").Body.String())
	}
	group := []string{"verb", "requeue", "id", "broken\tdial tcp #.#.#.#:#: refusedneighbour[hidden]\\n\\tat main.go:#  neighbour[hidden]", "filter", ""}
	for _, form := range [][]string{{"/jobs/bulk", "verb", "requeue", "id", "default/none"}, append([]string{"/failures/bulk"}, group...), {"/schedules/report/resume"}, {"/schedules/none/resume"}} {
		heard("POST "+form[0], post(d, form[0], append(form[1:], "sure", "1")...).Body.String())
	}
	time.Sleep(5 * time.Second)       // fake time passes
	synctest.Wait()                   // until all operations are done, so that every page shows the same moment
	for _, secret := range canaries { // a hidden text and an absent text get the same response
		nonsense := "nonsen" + secret[len("canary"):]
		for _, path := range []string{"jobs?state=all&q=", "jobs?state=dead&q=error:", "jobs?state=all&q=dead+error:", "failures?q=error:", "search?q=", "jobs?q=schedule:", "jobs?state=all&limit=1&q=error:", "schedules?prefix="} {
			asked := map[string]string{}
			send(d, "GET", "/"+path+"begun") // a list in which only what was changed was read again says so, once
			for _, text := range []string{secret, nonsense} {
				page := send(d, "GET", "/"+path+url.QueryEscape(text)).Body.String()
				asked[text] = regexp.MustCompile(`anna\d{4}`).ReplaceAllString(strings.ReplaceAll(page, text, "…"), "anna")
			}
			if asked[secret] != asked[nonsense] {
				t.Errorf("the response to %s%s differs from that to %s:\n%s\n%s", path, secret, nonsense, asked[secret], asked[nonsense])
			}
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // fake time passes until every page had its turn
	defer stop()
	for address, text := range c.listen(ctx) {
		if !strings.Contains(text, "event: region") && !strings.Contains(text, "event: broken") { // a job that was requeued and ran
			t.Errorf("%s: nothing was sent: %.200s", address, text)
		}
		heard(address, text)
	}
	return all.String()
}
