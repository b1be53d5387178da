package crawl_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/dashboard/internal/visit"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// rightsOfRoutes has the right that each route needs.
func rightsOfRoutes(t *testing.T) map[string]dashboard.Rights {
	t.Helper()
	all := map[string]dashboard.Rights{}
	for route, right := range visit.Routes(t, "../testdata/routes.txt") {
		for _, r := range []dashboard.Rights{dashboard.View, dashboard.Operate, dashboard.Edit, dashboard.Delete, dashboard.Reveal} {
			if r.String() == right {
				all[route] = r
			}
		}
	}
	return all
}

// methods are the methods of HTTP, and some invalid ones.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "post"}

// A trial is one request of TestCrawlRouteByRightByMethod.
type trial struct {
	d            *dashboard.Dashboard
	method, path string
	verb         string // for a form with several actions
	write        bool
	rights       dashboard.Rights
}

// send sends the request with everything that a form needs for its action.
func (c trial) send(t *testing.T, headers ...string) *httptest.ResponseRecorder {
	name := strings.NewReplacer("{name}", "report", "{queue}", "mail", "{id}", "dead", "{worker}", "none").Replace(c.path)
	form := url.Values{"verb": {c.verb}, "sure": {"1"}, "number": {"1"}, "id": {"report"}, "name": {"report"}, "tab": {"cron"}, "cron": {"0 1 * * *"}, "do": {"put"}, "revision": {"1"}}
	if strings.HasPrefix(c.path, "jobs") {
		form.Set("id", "mail/dead")
	}
	if strings.HasPrefix(c.path, "queues") {
		form.Set("name", "mail")
	}
	ctx, gone := context.WithCancel(t.Context())
	defer gone()
	if c.path == "events" {
		gone() // to end the stream
	}
	body := form.Encode()
	if c.method == "GET" || c.method == "HEAD" {
		body = ""
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/"+name+"?page=workers", strings.NewReader(body))
	r.Method = c.method
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	c.d.ServeHTTP(w, r)
	return w
}

// This test tries each route with each single right and without rights, with and without Write, and by each method. A route is served only to viewers
// with its right and only by its own methods, and nothing else changes anything.
func TestCrawlRouteByRightByMethod(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		world{}.fill(t, server.Store(), func() {})
		var rights dashboard.Rights
		dashboards, n := map[bool]*dashboard.Dashboard{}, 0
		for _, write := range []bool{false, true} {
			dashboards[write] = newDashboard(t, server.Store(), dashboard.Options{Write: write, Authorize: func(*http.Request) (dashboard.Viewer, error) {
				n++
				return dashboard.Viewer{Name: fmt.Sprint("viewer-", n), Rights: rights}, nil
			}})
		}
		needed := rightsOfRoutes(t)
		var allowed []trial // trials that may change something
		before := dump(t, server.Client())
		for name, right := range needed {
			own, path, _ := strings.Cut(name, " ")
			path, verb, _ := strings.Cut(path, " ")
			_, alsoGET := needed["GET "+path]
			_, alsoPOST := needed["POST "+path]
			for write, d := range dashboards {
				all := []dashboard.Rights{0, dashboard.View, allRights &^ right, allRights, dashboard.View | dashboard.Operate, dashboard.View | dashboard.Edit, dashboard.View | dashboard.Delete, dashboard.View | dashboard.Reveal, dashboard.Operate, dashboard.Edit, dashboard.Delete, dashboard.Reveal}
				for _, rights = range all[:long.Seeds(5, len(all))] {
					for _, method := range methods {
						c := trial{d, method, path, verb, write, rights}
						what := fmt.Sprintf("%s %q %s with %s, write is %v", method, path, verb, rights, write)
						may := rights&dashboard.View != 0 && rights&right == right && (write || right&writing == 0)
						switch is := method == own || method == "HEAD" && own == "GET"; {
						case is && may && method == "POST":
							allowed = append(allowed, c)
						case is && may:
							if got := c.send(t); got.Code == http.StatusForbidden || got.Code == http.StatusMethodNotAllowed {
								t.Errorf("%s: got %d", what, got.Code)
							}
						case is, rights&dashboard.View == 0:
							wants(t, what, c.send(t), http.StatusForbidden)
						case (method == "GET" || method == "HEAD") && alsoGET, method == "POST" && alsoPOST: // it has its own line
						default:
							got := c.send(t)
							wants(t, what, got, http.StatusMethodNotAllowed)
							if !strings.Contains(got.Header().Get("Allow"), own) {
								t.Errorf("%s: Allow is %q, want %s", what, got.Header().Get("Allow"), own)
							}
						}
					}
				}
			}
			if changes := differences(before, dump(t, server.Client())); len(changes) > 0 {
				t.Errorf("a refused request, or a page, changed something for %q: %q", name, changes)
				before = dump(t, server.Client())
			}
		}
		for _, c := range allowed { // sent by a page of another site
			for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example", "Origin: null", "Origin: http://localhost:7081"} {
				rights = c.rights
				wants(t, fmt.Sprintf("%+v by %s", c, header), c.send(t, header), http.StatusForbidden, "a page of another site")
			}
		}
		if changes := differences(before, dump(t, server.Client())); len(changes) > 0 {
			t.Errorf("a page of another site has changed %q", changes)
		}
		done := map[int]int{}
		for _, c := range allowed {
			rights = c.rights
			got := c.send(t, "Sec-Fetch-Site: same-origin")
			done[got.Code]++
			if got.Code == http.StatusForbidden || got.Code == http.StatusMethodNotAllowed {
				t.Errorf("%+v: got %d: %.300s", c, got.Code, got.Body)
			}
		}
		if done[http.StatusSeeOther] == 0 || len(differences(before, dump(t, server.Client()))) == 0 {
			t.Errorf("allowed requests have changed nothing: %v", done)
		}
	})
}
