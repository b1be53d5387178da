package crawl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// evil is a text that could run a script in a careless page, end its title, reverse its text, colour a terminal, or cut off the page.
const evil = "\"><script>alert(1)</script></title>'\u202e\u2066\x1b[31m\x00"

// forge replaces a text in the fields of all hashes, like a person who writes to Redis directly.
func forge(t *testing.T, client redis.UniversalClient, old, text string) {
	t.Helper()
	ctx, n := t.Context(), 0
	for _, key := range must(client.Keys(ctx, "*").Result()) {
		if must(client.Type(ctx, key).Result()) != "hash" {
			continue
		}
		for field, value := range must(client.HGetAll(ctx, key).Result()) {
			if forged := strings.ReplaceAll(value, old, text); forged != value {
				must(client.HSet(ctx, key, field, forged).Result())
				n++
			}
		}
	}
	if n == 0 {
		t.Fatalf("nothing has %s", old)
	}
}

// Any data in Redis is shown as text on every page and in every event. The crawler knows all elements and attributes that templates write.
func TestWhateverRedisHoldsIsText(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		w := world{free: evil, name: nameable(evil), hidden: evil}
		w.fill(t, store, func() {
			worker := must(chime.NewWorkers(store).List(t.Context()))[0]
			forge(t, server.Client(), `"host":"`+worker.Host+`"`, `"host":`+string(must(json.Marshal("host"+evil))))
			time.Sleep(3 * time.Second) // fake time passes until the workers are read again
			var viewers atomic.Int64    // all streams are opened at once
			d := newDashboard(t, store, dashboard.Options{
				Title: "billing" + evil, Write: true, Authorize: func(*http.Request) (dashboard.Viewer, error) {
					return dashboard.Viewer{Name: fmt.Sprint("anna", evil, viewers.Add(1)), Rights: allRights}, nil
				},
				Links: func(*chime.JobInfo) []dashboard.Link {
					return []dashboard.Link{{Text: "Logs" + evil, URL: "https://logs.example.com/?" + url.QueryEscape(evil)}, {Text: "no address", URL: "javascript:alert(1)"}, {Text: "none", URL: "//evil.example"}}
				},
			})
			c := newCrawler(t, d, "")
			c.elsewhere = "https://logs.example.com"
			c.visit("")
			c.sees("operations/{id}")
			queries := []string{"q", "queue", "zone", "said", "prefix", "owner", "after", "state", "sort", "day", "window", "tab", "limit"}
			for _, query := range queries[:long.Seeds(2, len(queries))] { // in the address
				for _, path := range []string{"", "schedules", "jobs", "failures", "queues", "search", "calendar", "workers", "schedules/new"} {
					address := path + "?" + query + "=" + url.QueryEscape(evil)
					got := send(d, "GET", "/"+address)
					if got.Code != http.StatusOK && got.Code != http.StatusBadRequest {
						t.Errorf("%s: got %d", address, got.Code)
					}
					c.linksOf(address, got)
					c.pages[address] = got
				}
			}
			for address := range c.posts { // the confirmations
				got := post(d, "/"+address, "verb", "delete", "id", "report"+w.name, "id", "mail/dead"+w.name, "note", evil)
				if got.Code < 500 && got.Code != http.StatusSeeOther {
					c.linksOf("POST "+address, got)
					c.pages["POST "+address] = got
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), 9*time.Second)
			defer stop()
			for address, text := range c.listen(ctx) {
				for line := range strings.Lines(text) {
					var data struct{ HTML string }
					if rest, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(rest), &data) == nil {
						c.tags(address, data.HTML)
						lacksUnseen(t, address, data.HTML)
					}
				}
			}
			all := ""
			for address, got := range c.pages {
				if page := got.Body.String(); strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
					all += page
					if title, _, _ := strings.Cut(page[strings.Index(page, "<title>"):], "</title>"); !strings.Contains(title, "billing&#34;&gt;&lt;script&gt;") {
						t.Errorf("%s: its title is %q", address, title)
					}
					lacksUnseen(t, address, page)
				}
			}
			shown := html.UnescapeString(all)
			for _, begins := range []string{
				`report`, `dead`, `refused`, `until the move is over`, `anna`, `the printer is being repaired\`, `42 orders`, `host`, `Logs`, `billing`, `at main.go:7 `,
			} {
				if !strings.Contains(shown, begins+`"><script>alert(1)</script></title>'`) {
					t.Errorf("no page shows the text that begins with %q", begins)
				}
			}
		})
	})
}

// sentBack matches the parts of a page that a form sends back or that are addresses: values, text areas and addresses.
var sentBack = regexp.MustCompile(`(?s)<textarea[^>]*>.*?</textarea>| (value|data-exactly|href|action|id|for|aria-describedby)="[^"]*"`)

// lacksUnseen fails the test if a readable text of a page or of its attributes contains an invisible character.
func lacksUnseen(t *testing.T, address, page string) {
	t.Helper()
	page = html.UnescapeString(sentBack.ReplaceAllString(page, ""))
	if at := strings.IndexAny(page, "\x00\x1b\u202e\u2066"); at >= 0 {
		t.Errorf("%s: an invisible character is not escaped: %q", address, page[max(0, at-100):at+10])
	}
}
