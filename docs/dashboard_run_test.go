package docs_test

import (
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/recurrence"
)

func TestThePageOnTheDashboardShowsCodeThatRuns(t *testing.T) {
	shows(t, "dashboard.md", "dashboard_test.go", "dashboard_run_test.go")
}

// browse sends a request as a browser on this machine does. A form is optional.
func browse(handler http.Handler, method, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestTheDashboardIsMountedAsItsPageSays(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		if _, err := chime.NewSchedules(c.Store()).Put(t.Context(), "report", recurrence.Recurrence{Cron: "@hourly"}); err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mountForThisMachine(mux, c.Store())
		if got := browse(mux, "GET", "/chime/schedules", nil); got.Code != 200 || !strings.Contains(got.Body.String(), "READ-ONLY") {
			t.Errorf("this machine: got %d %s", got.Code, got.Body)
		}
		if got := browse(mux, "GET", "/chime/schedules", nil, "X-Forwarded-For: 192.0.2.1"); got.Code != 403 {
			t.Errorf("through a proxy: got %d, want 403", got.Code)
		}

		mux = http.NewServeMux()
		admin := false
		pages := mountBehindLogin(mux, c.Store(), func(r *http.Request) (string, bool, error) {
			if r.Header.Get("Session") == "" {
				return "", false, errors.New("no session")
			}
			return "anna", admin, nil
		})
		servePages(new(http.Server), pages)
		two := http.NewServeMux()
		mountTwo(two, c.Store(), c.Store())
		if got := browse(two, "GET", "/billing/schedules", nil); got.Code != 200 || !strings.Contains(got.Body.String(), "production") || !strings.Contains(got.Body.String(), `href="../mail/"`) {
			t.Errorf("two dashboards: got %d %s", got.Code, got.Body)
		}
		defer pages.Close()
		sure := url.Values{"sure": {"1"}}
		if got := browse(mux, "GET", "/chime/schedules", nil); got.Code != 403 || strings.Contains(got.Body.String(), "no session") {
			t.Errorf("without a session: got %d %s", got.Code, got.Body)
		}
		if got := browse(mux, "GET", "/chime/schedules", nil, "Session: s"); got.Code != 200 || !strings.Contains(got.Body.String(), "billing") || !strings.Contains(got.Body.String(), "anna") {
			t.Errorf("with one: got %d %s", got.Code, got.Body)
		}
		if got := browse(mux, "POST", "/chime/schedules/report/delete", sure, "Session: s"); got.Code != 403 {
			t.Errorf("a deletion: got %d, want 403", got.Code)
		}
		if got := browse(mux, "POST", "/chime/schedules/report/pause", sure, "Session: s", "Sec-Fetch-Site: cross-site"); got.Code != 403 {
			t.Errorf("a form of another site: got %d, want 403", got.Code)
		}
		admin = true
		if got := browse(mux, "POST", "/chime/schedules/report/delete", sure, "Session: s"); got.Code == 403 {
			t.Errorf("a deletion by an admin: got 403: %s", got.Body)
		}
	})
}

func TestTheDashboardBehindBasicAuth(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		mux := http.NewServeMux()
		pages := mountBehindBasicAuth(mux, c.Store(), map[string][sha256.Size]byte{"anna": sha256.Sum256([]byte("secret")), "empty": {}})
		defer pages.Close()
		for _, request := range []struct {
			name, token string
			want        int
		}{
			{"anna", "secret", 200}, {"anna", "wrong", 401}, {"anna", "", 401}, {"otto", "secret", 401}, {"otto", "", 401}, {"empty", "", 401}, {"", "", 401},
		} {
			r := httptest.NewRequest("GET", "/chime/schedules", nil)
			r.SetBasicAuth(request.name, request.token)
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if w.Code != request.want {
				t.Errorf("%s with the token %q: got %d, want %d", request.name, request.token, w.Code, request.want)
			}
		}
		if got := browse(mux, "GET", "/chime/schedules", nil); got.Code != 401 || got.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("without a name: got %d, want 401 and a question for one", got.Code)
		}
	})
}

func TestTheDashboardAuditsActionsAndHidesSecrets(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		if _, err := chime.NewSchedules(c.Store()).Put(t.Context(), "report", recurrence.Recurrence{Cron: "@hourly"}); err != nil {
			t.Fatal(err)
		}
		entries := make(chan dashboard.Action, 1)
		options := auditTo(entries)
		options.Authorize, options.Write = dashboard.Loopback, true
		pages := dashboard.New(c.Store(), options)
		defer pages.Close()
		browse(pages, "POST", "/schedules/report/pause", url.Values{"sure": {"1"}, "note": {"migration"}})
		if got := <-entries; got.Act != "pause schedule" || got.Target != "report" || got.Note != "migration" || got.Viewer.Name != "this machine" || got.Err != nil {
			t.Errorf("got %+v", got)
		}
	})
	anna, pause := dashboard.Viewer{Name: "anna"}, dashboard.Action{Act: "pause schedule"}
	if err := onlyMail(t.Context(), anna, pause, []string{"mail-a", "report"}); err == nil || onlyMail(t.Context(), anna, pause, []string{"mail-a"}) != nil {
		t.Errorf("anna may pause report: %v", err)
	}
	hides := withoutSecrets()
	if got := hides.Redact(nil, map[string]any{"card": "4111"}).(map[string]any); got["card"] != "hidden" {
		t.Errorf("got %v", got)
	}
	if got := hides.RedactError(nil, "GET /?token=abc failed"); got != "GET /?token=… failed" {
		t.Errorf("got %q", got)
	}
	if got := hides.Links(&chime.JobInfo{ID: "a b"}); got[0].URL != "https://logs.example.com/?job=a+b" {
		t.Errorf("got %v", got)
	}
}

// The table of rights contains every right.
func TestThePageOnTheDashboardNamesEveryRight(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `(View|Operate|Edit|Delete|Reveal)` \\| ").FindAllString(readText(t, "dashboard.md"), -1)
	if all := dashboard.View | dashboard.Operate | dashboard.Edit | dashboard.Delete | dashboard.Reveal; len(rows) != len(strings.Split(all.String(), ", ")) {
		t.Errorf("the table has %q, want %s", rows, all)
	}
}
