package crawl_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/dashboard/internal/visit"
	"github.com/chimejobs/chime/internal/long"
)

// For every mount, each link, form, asset and stream of every page leads to an existing address.
func TestCrawlEveryLinkLeadsSomewhereBelowItsMount(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		world{}.fill(t, store, func() {
			for _, m := range mounts[:long.Seeds(3, len(mounts))] {
				d := newDashboard(t, store, dashboard.Options{Prefix: m.prefix(), Write: true, Authorize: crowd(allRights)})
				site := m.handler(d)
				c := crawl(t, site, m.outside)
				c.sees("operations/{id}") // no link leads there: only the begin of an operation redirects there
				if len(c.posts) < 20 || len(c.streams) < 20 {
					t.Errorf("%s: the pages have only %d forms and %d streams", m.name, len(c.posts), len(c.streams))
				}
				for address := range c.posts {
					if allow := send(site, "OPTIONS", m.outside+"/"+address).Header().Get("Allow"); !strings.Contains(allow, "POST") {
						t.Errorf("%s: the form %q is sent to an address that accepts %q", m.name, address, allow)
					}
				}
			}
		})
	})
}

// strangeNames are names that browsers, proxies or routes could misinterpret.
var strangeNames = append([]string{
	"//evil.example", `\\evil.example`, "https://evil.example/", "javascript:alert(1)", "/chime//evil.example", "%2e%2e", "%2F", "a%2Fb", "a%b", "../../etc/passwd", "./x", "x/.", "x/..", ".hidden", "a//b", "/", "~", "~new",
	"edit", "pause", "delete", "events", "search", "assets", "a;b,c", "a&b", "a+b", "a@b:c$d", "#", "?", "?zone=x", "two  spaces", "quote'\"", "<b>", strings.Repeat("é", 100),
}, visit.HostileNames...)

// submit POSTs a form like a browser, and returns the page to which the response redirects.
func submit(t *testing.T, site http.Handler, address string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	got := post(site, address, fields...)
	if got.Code != http.StatusSeeOther {
		t.Errorf("%s: got %d, want 303: %.300s", address, got.Code, got.Body)
		return got
	}
	at, err := url.Parse("http://localhost" + address)
	if err == nil {
		at, err = at.Parse(got.Header().Get("Location"))
	}
	if err != nil || at.Host != "localhost" {
		t.Fatalf("%s leads to %v, %v", address, at, err)
	}
	synctest.Wait() // until all operations are done
	return send(site, "GET", at.RequestURI())
}

// For any name of a schedule or a job, its page opens from its link, its buttons work, and all addresses are below the mount.
func TestCrawlEveryNameHasAPageThatWorks(t *testing.T) {
	for i, m := range mounts[:long.Seeds(2, len(mounts))] {
		names := visit.HostileNames
		if i == len(mounts)-1 {
			names = strangeNames
		}
		onEmbedded(t, func(t *testing.T, store chime.Store) {
			d := newDashboard(t, store, dashboard.Options{Prefix: m.prefix(), Write: true, Authorize: crowd(allRights)})
			site := m.handler(d)
			schedules, jobs, enqueuer := chime.NewSchedules(store), chime.NewJobs(store), chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
			for _, name := range names {
				put(t, store, name, "0 * * * *")
				must(enqueuer.Enqueue(t.Context(), "send", map[string]int{"n": 1}, chime.ID(name), chime.In(60_000_000_000)))
			}
			c := newCrawler(t, site, m.outside)
			c.visit("schedules?limit=200", "jobs?state=delayed&limit=200")
			for _, name := range names {
				path := render.Path("schedules", name)
				page := c.pages[path]
				if page == nil {
					t.Errorf("%s: no link leads to %q, the page of schedule %q", m.name, path, name)
					continue
				}
				heading := "<h1>" + html.EscapeString(name) + "</h1>"
				wants(t, name, page, 200, strings.ReplaceAll(heading, "+", "&#43;"))
				at := m.outside + "/" + path
				for _, verb := range []string{"pause", "resume", "trigger", "backfill", "delete"} {
					if !c.posts[path+"/"+verb] && verb != "resume" {
						t.Errorf("%s: schedule %q has no form for %s", m.name, name, verb)
					}
				}
				wants(t, "the editor of "+name, send(site, "GET", at+"/edit"), 200, "0 * * * *")
				wants(t, "pause "+name, submit(t, site, at+"/pause", "sure", "1"), 200, "is paused.")
				wants(t, "resume "+name, submit(t, site, at+"/resume"), 200, "is resumed.")
				wants(t, "trigger "+name, submit(t, site, at+"/trigger", "sure", "1"), 200, "runs as soon as a worker is free")
				wants(t, "backfill "+name, post(site, at+"/backfill"), 200, "run now")
				wants(t, "delete "+name, submit(t, site, at+"/delete", "sure", "1", "name", name), 200, "is deleted.")
				if _, err := schedules.Get(t.Context(), name); err == nil {
					t.Errorf("%s: schedule %q still exists", m.name, name)
				}

				path = render.Path("jobs", "default", name)
				if page = c.pages[path]; page == nil {
					t.Errorf("%s: no link leads to %q, the page of job %q", m.name, path, name)
					continue
				}
				wants(t, name, page, 200, "Show the contents")
				at = m.outside + "/" + path
				wants(t, "reveal "+name, post(site, at+"/reveal"), 200, "&#34;n&#34;: 1")
				wants(t, "requeue "+name, submit(t, site, at+"/requeue"), 200, "runs as soon as a worker is free")
				wants(t, "delete "+name, submit(t, site, at+"/delete", "sure", "1"), 200, "is deleted.")
				if _, err := jobs.Get(t.Context(), "default", name); err == nil {
					t.Errorf("%s: job %q still exists", m.name, name)
				}
			}
		})
	}
}

// An address that names another host, or that climbs out of the dashboard, does not redirect there.
func TestNoAddressLeadsOut(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "0 * * * *")
		for _, m := range mounts {
			d := newDashboard(t, store, dashboard.Options{Prefix: m.prefix(), Write: true, Authorize: crowd(allRights)})
			stripped := http.StripPrefix(m.cut, d) // without a mux, because a mux cleans paths
			c := newCrawler(t, stripped, m.outside)
			for _, address := range []string{
				"/evil.example", "/evil.example/schedules", "//evil.example", "%2e%2e/", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2fetc/passwd", "schedules/%2e%2e", "schedules/..%2f..%2fworkers", "assets/../dashboard.go",
				"assets/%2e%2e/dashboard.go", "assets/x/..%2fapp.css", "debug/pprof", "debug/pprof/heap", "https:%2f%2fevil.example", "schedules/report/", "schedules//report", "schedules/report/pause/", "workers;x",
			} {
				got := send(stripped, "GET", m.outside+"/"+address)
				if got.Code != http.StatusNotFound || got.Header().Get("Location") != "" {
					t.Errorf("%s: %s: got %d to %q, want 404", m.name, address, got.Code, got.Header().Get("Location"))
				}
				for _, link := range c.linksOf(address, got) {
					if strings.HasPrefix(link, "assets/") {
						wants(t, address+": "+link, send(stripped, "GET", m.outside+"/"+link), 200)
					}
				}
			}
			got := post(stripped, m.outside+"/schedules/report/resume?said=//evil.example&zone=UTC&to=//evil.example&next=https://evil.example/", "next", "https://evil.example/")
			if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || strings.Contains(to, "evil") || !strings.HasPrefix(to, "../.././schedules/report") {
				t.Errorf("%s: it leads to %q", m.name, to)
			}
		}
	})
}
