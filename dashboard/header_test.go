package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// safe are the headers that every response has.
var safe = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types chime",
	"X-Content-Type-Options":     "nosniff",
	"X-Frame-Options":            "DENY",
	"Referrer-Policy":            "same-origin",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Cache-Control":              "no-store",
}

// Every response has the security headers, and caches may keep only assets.
func TestEveryKindOfAnswerHasTheHeaders(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		var out outage
		server.Client().AddHook(&out)
		store := server.Store()
		putRule(t, chime.NewSchedules(store), "report", "0 9 * * *")
		_ = must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "send", nil, chime.ID("one")))
		d := newDashboard(t, store, Options{Prefix: "/chime", Write: true, Authorize: crowd(allRights)})
		slow := newDashboard(t, store, Options{Prefix: "/chime", Authorize: as(View)})
		for range perSecond {
			send(slow, "GET", "/chime/workers")
		}
		broken := newDashboard(t, store, Options{Prefix: "/chime", Authorize: as(View)})
		broken.pages["workers"] = page{"no such template", nil, View, broken.site.Workers}
		broken.routes = broken.allRoutes()
		down := newDashboard(t, store, Options{Prefix: "/chime", Authorize: as(View)})
		asset := "/chime/" + assetOf(t, send(d, "GET", "/chime/").Body.String(), "app.css")
		ended, end := context.WithCancel(t.Context())
		end()

		for _, c := range []struct {
			kind   string
			status int
			answer func() *httptest.ResponseRecorder
		}{
			{"a page", 200, func() *httptest.ResponseRecorder { return send(d, "GET", "/chime/schedules") }},
			{"its head", 200, func() *httptest.ResponseRecorder { return send(d, "HEAD", "/chime/schedules") }},
			{"what was found", 200, func() *httptest.ResponseRecorder {
				return send(d, "GET", "/chime/search?q=r", "Accept: application/json")
			}},
			{"a question", 200, func() *httptest.ResponseRecorder { return post(d, "/chime/schedules/report/pause") }},
			{"what a job holds", 200, func() *httptest.ResponseRecorder { return post(d, "/chime/jobs/default/one/reveal") }},
			{"a preview", 200, func() *httptest.ResponseRecorder { return post(d, "/chime/preview", "tab", "cron", "cron", "@daily") }},
			{"a stream", 200, func() *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				d.ServeHTTP(w, httptest.NewRequestWithContext(ended, "GET", "/chime/events?page=workers", nil))
				return w
			}},
			{"a redirect", 303, func() *httptest.ResponseRecorder { return post(d, "/chime/schedules/report/resume") }},
			{"a bad request", 400, func() *httptest.ResponseRecorder { return send(d, "GET", "/chime/schedules?limit=0") }},
			{"what is not allowed", 403, func() *httptest.ResponseRecorder { return post(down, "/chime/schedules/report/pause", "sure", "1") }},
			{"what is not there", 404, func() *httptest.ResponseRecorder { return send(d, "GET", "/chime/schedules/none") }},
			{"what is elsewhere", 404, func() *httptest.ResponseRecorder { return send(d, "GET", "/schedules") }},
			{"the profiles of the program", 404, func() *httptest.ResponseRecorder { return send(d, "GET", "/chime/debug/pprof/") }},
			{"the profiles elsewhere", 404, func() *httptest.ResponseRecorder { return send(d, "GET", "/debug/pprof/") }},
			{"a wrong method", 405, func() *httptest.ResponseRecorder { return send(d, "DELETE", "/chime/schedules") }},
			{"a conflict", 409, func() *httptest.ResponseRecorder {
				return post(d, "/chime/schedules/new", "tab", "cron", "name", "report", "cron", "@daily", "do", "put")
			}},
			{"too many requests", 429, func() *httptest.ResponseRecorder { return send(slow, "GET", "/chime/workers") }},
			{"a page that cannot be rendered", 500, func() *httptest.ResponseRecorder { return send(broken, "GET", "/chime/workers") }},
			{"a store that is away", 503, func() *httptest.ResponseRecorder {
				out.down.Store(true)
				defer out.down.Store(false)
				return send(down, "GET", "/chime/workers")
			}},
			{"an asset of another version", 200, func() *httptest.ResponseRecorder { return send(d, "GET", "/chime/assets/0/app.css") }},
			{"a missing asset", 404, func() *httptest.ResponseRecorder { return send(d, "GET", "/chime/assets/0/app.js") }},
			{"a form for an asset", 405, func() *httptest.ResponseRecorder { return post(d, asset) }},
			{"an asset", 200, func() *httptest.ResponseRecorder { return send(d, "GET", asset) }},
		} {
			got := c.answer()
			if got.Code != c.status {
				t.Errorf("%s: got %d, want %d: %.300s", c.kind, got.Code, c.status, got.Body)
			}
			for name, want := range safe {
				if c.kind == "an asset" && name == "Cache-Control" {
					want = "public, max-age=31536000, immutable"
				}
				if values := got.Header().Values(name); fmt.Sprint(values) != fmt.Sprint([]string{want}) {
					t.Errorf("%s: %s is %q, want %q", c.kind, name, values, want)
				}
			}
			if cookies := got.Result().Cookies(); len(cookies) > 0 {
				t.Errorf("%s: it sets %v", c.kind, cookies)
			}
			if strings.Contains(got.Body.String(), " style=") || strings.Contains(got.Body.String(), "<style") || strings.Contains(got.Body.String(), "javascript:") {
				t.Errorf("%s: it has an inline style or script", c.kind)
			}
		}
	})
}

// Requests are served by Loopback only if they name this machine, come from it and came through no proxy.
func TestLoopbackServesThisMachineAlone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		putRule(t, chime.NewSchedules(store), "report", "@daily")
		asked := 0
		for _, c := range []struct {
			peer, host, header string
			served             bool
		}{
			{"127.0.0.1:50000", "localhost", "", true},
			{"127.0.0.1:50000", "localhost:7080", "", true},
			{"127.0.0.1:50000", "LOCALHOST:7080", "", true},
			{"127.0.0.1:50000", "127.0.0.1:7080", "", true},
			{"[::1]:50000", "[::1]:7080", "", true},
			{"[::1]:50000", "[::1]", "", true},
			{"[::ffff:127.0.0.1]:50000", "127.0.0.1", "", true},

			{"127.0.0.1:50000", "evil.example", "", false},
			{"127.0.0.1:50000", "evil.example:7080", "", false},
			{"127.0.0.1:50000", "localhost.evil.example", "", false},
			{"127.0.0.1:50000", "localhost.", "", false},
			{"127.0.0.1:50000", "localhost:7080@evil.example", "", false},
			{"127.0.0.1:50000", "127.0.0.1.evil.example", "", false},
			{"127.0.0.1:50000", "0.0.0.0", "", false},
			{"127.0.0.1:50000", "192.0.2.7", "", false},
			{"127.0.0.1:50000", "[::ffff:192.0.2.7]", "", false},
			{"127.0.0.1:50000", "[2001:db8::1]:7080", "", false},
			{"127.0.0.1:50000", "", "", false},
			{"192.0.2.7:50000", "localhost", "", false},
			{"10.0.0.1:50000", "127.0.0.1", "", false},
			{"[2001:db8::1]:50000", "[::1]", "", false},
			{"[::ffff:192.0.2.7]:50000", "127.0.0.1", "", false},
			{"@", "localhost", "", false},
			{"127.0.0.1:50000", "localhost", "Forwarded: for=127.0.0.1", false},
			{"127.0.0.1:50000", "localhost", "X-Forwarded-For: 127.0.0.1", false},
			{"127.0.0.1:50000", "localhost", "X-Forwarded-Host: localhost", false},
			{"127.0.0.1:50000", "localhost", "X-Forwarded-Proto: http", false},
			{"127.0.0.1:50000", "localhost", "X-Real-IP: 127.0.0.1", false},
			{"127.0.0.1:50000", "localhost", "Via: 1.1 proxy", false},
		} {
			for _, target := range []string{"GET /", "GET /workers", "GET /search?q=r", "GET /events?page=none", "POST /schedules/report/resume", "GET /none"} {
				method, path, _ := strings.Cut(target, " ")
				r := httptest.NewRequest(method, path, nil)
				r.RemoteAddr, r.Host = c.peer, c.host
				if name, value, ok := strings.Cut(c.header, ": "); ok {
					r.Header.Set(name, value)
				}
				w := httptest.NewRecorder()
				d.ServeHTTP(w, r)
				if (w.Code == http.StatusForbidden) == c.served {
					t.Errorf("%s from %q of host %q with %q: got %d, want it served: %v", target, c.peer, c.host, c.header, w.Code, c.served)
				}
				if !c.served && (!strings.Contains(w.Body.String(), "serves only its own machine") || strings.Contains(w.Body.String(), ">chime</span>")) {
					t.Errorf("%s from %q of host %q with %q: the page does not contain what to do, or contains too much:\n%s", target, c.peer, c.host, c.header, w.Body)
				}
			}
			if asked++; asked%3 == 0 {
				time.Sleep(time.Second) // fake time passes: 20 requests are allowed in each
			}
		}
	})
}
