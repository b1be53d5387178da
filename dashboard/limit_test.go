package dashboard

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/guard"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A request for too much is refused before anything is read from the store.
func TestWhatAsksForTooMuchCostsTheStoreNothing(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		putRule(t, chime.NewSchedules(server.Store()), "report", "@daily")
		d := newDashboard(t, server.Store(), Options{Write: true, Authorize: crowd(allRights)})
		var c counter
		server.Client().AddHook(&c)
		long := strings.Repeat("x", guard.MaxQuery)
		for _, target := range []string{
			"/schedules?limit=201", "/schedules?limit=0", "/schedules?limit=-1", "/schedules?limit=1e12", "/schedules?limit=99999999999999999999", "/schedules?sort=size", "/schedules?state=x", "/schedules?prefix=" + long[:201],
			"/schedules?after=" + long[:201], "/schedules?owner=" + long[:201],
			"/schedules/report?runs=1001", "/schedules/report?runs=-1", "/schedules/report?day=99999", "/schedules/report?day=9999-01-01", "/schedules/report?day=0001-01-01",
			"/jobs?limit=201", "/jobs?limit=-1", "/jobs?limit=1e12", "/jobs?state=x", "/failures?state=waiting", "/failures?after=x",
			"/queues?limit=201", "/queues?limit=0", "/queues?from=1e12", "/queues?from=-1", "/queues?from=100001", "/queues?sort=x",
			"/?window=99999", "/?window=366d", "/queues/default?window=1y", "/search?q=" + long[:201], "/schedules/new?tab=x", "/schedules/report/edit?tab=x",
			"/workers?zone=Nowhere", "/workers?x=" + long, "/events?page=workers&x=" + long, "/events?page=none", "/calendar?zone=../etc/passwd", "/?page=" + long,
		} {
			got := send(d, "GET", target)
			wants(t, target, got, http.StatusBadRequest, "Bad Request")
		}
		for target, fields := range map[string][]string{
			"/preview?n=1":            {"n", "501", "tab", "cron", "cron", "@daily"},
			"/preview?n=2":            {"n", "-1", "tab", "cron", "cron", "@daily"},
			"/preview?n=3":            {"n", "1e12", "tab", "cron", "cron", "@daily"},
			"/jobs/bulk?n=1":          {"verb", "nothing"},
			"/jobs/bulk?n=2":          append([]string{"verb", "delete"}, strings.Split(strings.Repeat("id mail/x ", 201)+"sure 1", " ")...),
			"/failures/bulk":          append([]string{"verb", "delete"}, strings.Split(strings.Repeat("id a\tb ", 201)+"sure 1", " ")...),
			"/schedules/bulk":         append([]string{"verb", "delete"}, strings.Split(strings.Repeat("id x ", 201)+"sure 1", " ")...),
			"/schedules/report/pause": {"sure", "1", "note", strings.Repeat("n", guard.MaxBody)},
			"/schedules/new":          {"tab", "json", "json", strings.Repeat("n", guard.MaxDefinition)},
		} {
			wants(t, target, post(d, target, fields...), http.StatusBadRequest, "Bad Request")
		}
		if n := c.commands.Load(); n > 0 {
			t.Errorf("they sent %d commands to the store, want 0", n)
		}
	})
}

// A form without a length is read up to its limit and no further.
func TestALongFormIsNotReadToItsEnd(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		putRule(t, chime.NewSchedules(store), "report", "@daily")
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(allRights)})
		for _, form := range forms {
			path := "/" + strings.NewReplacer("{name}", "report", "{queue}", "default", "{id}", "1").Replace(form.path)
			for _, length := range []int64{-1, 1 << 30} {
				endless := &countingReader{r: io.MultiReader(strings.NewReader("a="), repeated('x'))}
				r := httptest.NewRequest("POST", path, endless)
				r.ContentLength = length
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				d.ServeHTTP(w, r)
				if w.Code != http.StatusBadRequest || endless.n > form.body+64<<10 || length > 0 && endless.n > 0 {
					t.Errorf("%s of length %d: got %d after %d bytes, want 400 after at most %d", path, length, w.Code, endless.n, form.body)
				}
			}
			// A form of exactly the maximum length is read.
			fields := url.Values{"verb": {"nothing"}, "note": {""}, "json": {""}}
			fields.Set("json", strings.Repeat("x", int(form.body)-len(fields.Encode())))
			r := httptest.NewRequest("POST", path, strings.NewReader(fields.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if strings.Contains(w.Body.String(), "too long") || strings.Contains(w.Body.String(), "longer than") {
				t.Errorf("%s: %d bytes are too long", path, len(fields.Encode()))
			}
		}
	})
}

// repeated is an endless reader.
type repeated byte

func (b repeated) Read(text []byte) (int, error) {
	copy(text, bytes.Repeat([]byte{byte(b)}, len(text)))
	return len(text), nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(text []byte) (int, error) {
	n, err := c.r.Read(text)
	c.n += int64(n)
	return n, err
}
