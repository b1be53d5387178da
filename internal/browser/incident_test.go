package browser

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/incident"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A mirror serves the pages of a store on a bad day: many queues and schedules, and names of 100 letters. That store lives under fake time, so its pages were read
// before, and have no stream.
type mirror struct {
	url   string
	paths []string
	pages map[string]*httptest.ResponseRecorder
}

var eventsPattern = regexp.MustCompile(` data-events="[^"]*"`)

// everyone is an Authorize that allows everything; each request is that of a new viewer, so that no limit of rates applies.
func everyone() func(*http.Request) (dashboard.Viewer, error) {
	var n atomic.Int64
	return func(*http.Request) (dashboard.Viewer, error) {
		return dashboard.Viewer{Name: fmt.Sprint("viewer-", n.Add(1)), Rights: dashboard.View | dashboard.Operate | dashboard.Edit | dashboard.Delete | dashboard.Reveal}, nil
	}
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{pages: map[string]*httptest.ResponseRecorder{}}
	options := dashboard.Options{Write: true, Logger: slog.New(slog.DiscardHandler), Environment: dashboard.Environment{Name: "production", Color: dashboard.Red}}
	synctest.Test(t, func(t *testing.T) {
		w := incident.New(t, incident.Small)
		options := options
		options.Authorize = everyone()
		d := dashboard.New(w.Store, options)
		defer d.Close()
		read := func(path string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "/"+path, nil)
			r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
			got := httptest.NewRecorder()
			d.ServeHTTP(got, r)
			return got
		}
		m.paths = append(incidentPaths(), "schedules/"+url.PathEscape(longestSchedule(t, w.Store)))
		for _, path := range m.paths {
			for range 3 { // a page reads on when it is requested again
				m.pages[path] = read(path)
			}
			if m.pages[path].Code != 200 {
				t.Fatalf("%s: %d %.300s", path, m.pages[path].Code, m.pages[path].Body)
			}
		}
		for what, pattern := range map[string]*regexp.Regexp{"jobs?state=dead": regexp.MustCompile(`href="\./(jobs/[^/"?]+/[^"?]+)"`), "workers": regexp.MustCompile(`href="\./(workers/[^"?]+)"`)} {
			if found := pattern.FindStringSubmatch(m.pages[what].Body.String()); found != nil {
				m.paths = append(m.paths, found[1])
				m.pages[found[1]] = read(found[1])
			}
		}
	})
	assets := embedded.StartInMemory()
	t.Cleanup(func() { _ = assets.Close() })
	options.Authorize = everyone()
	d := dashboard.New(assets.Store(), options)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := m.pages[strings.TrimPrefix(r.URL.RequestURI(), "/")]
		if page == nil {
			d.ServeHTTP(w, r)
			return
		}
		for name, values := range page.Header() {
			if name != "Content-Length" && name != "Content-Encoding" {
				w.Header()[name] = values
			}
		}
		_, _ = io.Copy(w, bytes.NewReader(eventsPattern.ReplaceAll(page.Body.Bytes(), nil)))
	}))
	t.Cleanup(func() { server.Close(); d.Close() })
	m.url = server.URL + "/"
	return m
}

// incidentPaths are the pages of a bad day.
func incidentPaths() []string {
	return []string{
		"", "schedules", "schedules?state=failing", "schedules/" + incident.Failing, "schedules/" + incident.Edited, "schedules/new", "queues", "queues/" + incident.Long, "queues/" + incident.Tenants,
		"queues/" + incident.Paused, "queues/a", "jobs", "jobs?state=dead", "jobs?state=running", "jobs?state=retrying", "jobs?state=all", "failures", "find", "find?is=7&state=dead", "workers", "calendar", "search?q=import",
	}
}

// longestSchedule returns the schedule with the longest name.
func longestSchedule(t *testing.T, store chime.Store) (longest string) {
	t.Helper()
	for s, err := range chime.NewSchedules(store).List(t.Context(), chime.ScheduleFilter{}) {
		check(t, err)
		if len(s.Name) > len(longest) {
			longest = s.Name
		}
	}
	return longest
}

// cutText returns the texts that a page cuts off without an ellipsis, and the controls that are too small to hit.
const tooSmall = `[...document.querySelectorAll("main input[type=checkbox], main button, main summary, main td a")].filter((e) => { const b = e.getBoundingClientRect();
	return b.width && (b.width < 24 || b.height < 24) && !e.closest("p, .note, label"); }).slice(0, 3).map((e) => e.outerHTML.slice(0, 120))`

// narrowErrors are the errors of lists that are not as wide as their rows.
const narrowErrors = `[...document.querySelectorAll(".list tr > .whole")].filter((e) => e.getBoundingClientRect().width < e.parentElement.getBoundingClientRect().width * .95).slice(0, 3).map((e) => e.innerText)`

// A page never scrolls sideways, at any width, whatever names the store has, and its controls are large enough to hit. With a folder in CHIME_SHOTS it takes pictures.
func TestPagesOfABadDayFitEveryWindow(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	folder := os.Getenv("CHIME_SHOTS")
	p, err := chromium.Open(Look{Width: 1440, Height: 900})
	check(t, err)
	defer p.Close()
	for _, width := range []int64{1440, 1280, 1100, 1024, 768, 390, 320} {
		check(t, p.Look(Look{Width: width, Height: 900}))
		for _, path := range m.paths {
			check(t, p.Go(m.url+path))
			wait(t, p, `document.fonts.status === "loaded"`)
			if wide := eval[string](t, p, wider); wide != "" {
				t.Errorf("%d: %s scrolls sideways: %s", width, path, wide)
			}
			if small := eval[[]string](t, p, tooSmall); len(small) > 0 {
				t.Errorf("%d: %s has controls below 24 px: %q", width, path, small)
			}
			if narrow := eval[[]string](t, p, narrowErrors); width >= 1100 && len(narrow) > 0 {
				t.Errorf("%d: %s has errors that are not a row of their own: %q", width, path, narrow)
			}
			if screens := eval[float64](t, p, `document.documentElement.scrollHeight / 844`); width == 390 && screens > maxScreens && !slices.Contains(longPages, path) {
				t.Errorf("on a phone %s is %.1f screens long, want at most %d", path, screens, maxScreens)
			}
			if folder != "" {
				picture, err := p.Shot()
				check(t, err)
				name := fmt.Sprintf("%d-%s.png", width, strings.NewReplacer("/", "_", "?", "_", "=", "_", "%", "_").Replace(path[:min(len(path), 40)]))
				check(t, os.WriteFile(filepath.Join(folder, name), picture, 0o644))
			}
		}
	}
	if trouble := p.Trouble(); len(trouble) > 0 {
		t.Errorf("the pages recorded: %s", strings.Join(trouble[:min(len(trouble), 5)], "\n"))
	}
}

// maxScreens is how many screens of a phone a page may have.
const maxScreens = 5

// longPages is the form of a new schedule.
var longPages = []string{"schedules/new"}
