package dashboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// onEmbedded runs a test on its own store under fake time.
func onEmbedded(t *testing.T, test func(t *testing.T, store chime.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		test(t, server.Store())
	})
}

// newDashboard returns a dashboard that is closed when the test ends. Without an Authorize in the options it is for this machine, with all rights.
func newDashboard(t *testing.T, store chime.Store, options Options) *Dashboard {
	t.Helper()
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Authorize == nil {
		options.Authorize = Loopback
	}
	d := New(store, options)
	t.Cleanup(d.Close)
	return d
}

// as returns an Authorize that gives everybody these rights.
func as(rights Rights) func(*http.Request) (Viewer, error) {
	return func(*http.Request) (Viewer, error) { return Viewer{Name: "anna", Rights: rights}, nil }
}

func TestWithoutAuthorizeItServesThisMachineAlone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		bare := New(store, Options{Logger: quiet})
		t.Cleanup(bare.Close)
		wants(t, "no Authorize", send(bare, "GET", "/workers"), 200, "<h1>Workers</h1>", "READ-ONLY")
		for name, d := range map[string]*Dashboard{"no Authorize": bare, "Loopback": newDashboard(t, store, Options{Authorize: Loopback, Write: true})} {
			for what, header := range map[string]string{"a rebound name": "Host: evil.example", "a proxy": "X-Forwarded-For: 127.0.0.1", "a job": "Chime-Fence: 7"} {
				wants(t, name+", "+what, send(d, "GET", "/workers", header), 403, "serves only its own machine", "set Authorize in dashboard.Options")
			}
			r := httptest.NewRequest("GET", "/workers", nil)
			r.RemoteAddr, r.Host = "192.0.2.7:50000", "localhost"
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			wants(t, name+", the network", w, 403, "this request is from elsewhere")
		}
	})
}

func TestWhoIsNotAuthorizedLearnsNothing(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil))
		var lines strings.Builder
		options := Options{Logger: slog.New(slog.NewTextHandler(&lines, nil)), Authorize: as(View)}
		seen := newDashboard(t, store, options)
		wants(t, "a viewer", send(seen, "GET", "/workers"), 200, "chime", "Jobs wait on queue default")

		refused := errors.New("the token of anna has ended")
		for what, authorize := range map[string]func(*http.Request) (Viewer, error){
			"an error":      func(*http.Request) (Viewer, error) { return Viewer{}, refused },
			"no right":      as(0),
			"another right": as(Operate | Reveal),
		} {
			lines.Reset()
			options.Authorize = authorize
			d := newDashboard(t, store, options)
			_ = must(d.site.Read(t.Context())) // so that the page could show something
			got := send(d, "GET", "/workers")
			wants(t, what, got, 403, "You may not see this dashboard.")
			for _, secret := range []string{"Jobs wait on", "anna", "Namespace"} {
				if strings.Contains(got.Body.String(), secret) {
					t.Errorf("%s: the answer has %q:\n%s", what, secret, got.Body)
				}
			}
			if !strings.Contains(lines.String(), "event=dashboard.denied") {
				t.Errorf("%s: it was not logged: %s", what, &lines)
			}
		}
		wants(t, "a style", send(newDashboard(t, store, options), "GET", "/"+assetOf(t, send(seen, "GET", "/workers").Body.String(), "app.css")), 200)
	})
}

// assetOf returns the address of an asset that a page names.
func assetOf(t *testing.T, page, name string) string {
	t.Helper()
	before, _, found := strings.Cut(page, "/"+name+`"`)
	if !found {
		t.Fatalf("the page has no %s:\n%s", name, page)
	}
	return before[strings.LastIndex(before, `"`)+1:] + "/" + name
}

func TestItIsMountedWhereTheApplicationWants(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		deep := newDashboard(t, store, Options{Prefix: "/internal/jobs"})
		mux := http.NewServeMux()
		mux.Handle("/internal/jobs/", deep)
		mux.Handle("/chime/", newDashboard(t, store, Options{Prefix: "/chime"}))
		mux.Handle("/stripped/", http.StripPrefix("/stripped", newDashboard(t, store, Options{})))
		for _, prefix := range []string{"/internal/jobs", "/chime", "/stripped"} {
			got := send(mux, "GET", prefix+"/workers")
			wants(t, prefix, got, 200, `<base href="./">`)
			wants(t, prefix+" asset", send(mux, "GET", prefix+"/"+assetOf(t, got.Body.String(), "app.css")), 200)
			if strings.Contains(got.Body.String(), prefix) {
				t.Errorf("%s: the page knows where it is mounted, so it breaks behind a proxy that has another path", prefix)
			}
		}
		wants(t, "elsewhere", send(deep, "GET", "/workers"), 404, "it serves addresses below /internal/jobs/")
	})
}

func TestOptionsThatMakeNoSensePanic(t *testing.T) {
	server := embedded.StartInMemory()
	defer server.Close()
	for _, c := range []struct {
		store   chime.Store
		options Options
		want    string
	}{
		{nil, Options{}, "the store is nil"},
		{server.Store(), Options{Prefix: "chime"}, "want it to begin with a slash and to end without one"},
		{server.Store(), Options{Prefix: "/chime/"}, "want it to begin with a slash and to end without one"},
		{server.Store(), Options{Zone: time.Local}, "time.Local"},
		{server.Store(), Options{Write: true}, "Authorize: dashboard.Loopback"},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, c.want) {
					t.Errorf("%+v: got %q, want a panic with %q", c.options, text, c.want)
				}
			}()
			New(c.store, c.options)
		}()
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{})
		for _, target := range []string{"/workers", "/nothing", "/debug/pprof", "/workers?zone=Nowhere"} {
			got := send(d, "GET", target).Result().Header
			if !strings.HasPrefix(got.Get("Content-Security-Policy"), "default-src 'none'") || got.Get("Cache-Control") != "no-store" || got.Get("Set-Cookie") != "" {
				t.Errorf("%s: %v", target, got)
			}
		}
		asset := assetOf(t, send(d, "GET", "/workers").Body.String(), "app.css")
		if got := send(d, "GET", "/"+asset).Result().Header; !strings.Contains(got.Get("Cache-Control"), "immutable") || got.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the asset: %v", got)
		}
	})
}

func TestRequestsThatAreNotServed(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{})
		for _, c := range []struct {
			method, target, header string
			status                 int
			text                   string
		}{
			{"GET", "/nothing", "", 404, "There is no page at this address"},
			{"GET", "/debug/pprof", "", 404, "There is no page"},
			{"GET", "/workers/", "", 404, "There is no page"},
			{"DELETE", "/workers", "", 405, "accepts only GET"},
			{"POST", "/workers", "", 405, "accepts only GET"},
			{"POST", "/workers", "Sec-Fetch-Site: cross-site", 403, "a page of another site"},
			{"POST", "/workers", "Origin: https://evil.example", 403, "a page of another site"},
			{"GET", "/workers?zone=Nowhere", "", 400, "zone is &#34;Nowhere&#34;"},
			{"GET", "/workers?zone=../../etc/passwd", "", 400, "want the name of a time zone"},
			{"GET", "/workers?zone=Local", "", 400, "want the name of a time zone"},
			{"GET", "/workers?q=" + strings.Repeat("x", 3000), "", 400, "the query of the address has 3002 bytes, want at most 2048"},
			{"GET", "/events?page=nothing", "", 400, "want the address of a page"},
			{"GET", "/events?page=events", "", 400, "want the address of a page"},
		} {
			var headers []string
			if c.header != "" {
				headers = []string{c.header}
			}
			wants(t, c.method+" "+c.target+" "+c.header, send(d, c.method, c.target, headers...), c.status, c.text)
			time.Sleep(time.Second) // fake time: 20 requests are allowed in each
		}
		if allow := send(d, "POST", "/workers").Header().Get("Allow"); allow != "GET, HEAD" {
			t.Errorf("Allow is %q", allow)
		}
	})
}

func TestAViewerWhoAsksTooOftenWaits(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Authorize: as(View)})
		for range perSecond {
			wants(t, "within the rate", send(d, "GET", "/workers"), 200)
		}
		got := send(d, "GET", "/workers")
		wants(t, "beyond it", got, 429, "more than 20 requests in one second")
		if got.Header().Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", got.Header().Get("Retry-After"))
		}
		wants(t, "an asset", send(d, "GET", "/"+assetOf(t, got.Body.String(), "app.css")), 200)
		time.Sleep(time.Second) // fake time
		wants(t, "a second later", send(d, "GET", "/workers"), 200)
	})
}

func TestTheZoneThatIsAskedForIsKept(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		d := newDashboard(t, store, Options{Zone: berlin})
		wants(t, "of the options", send(d, "GET", "/workers"), 200, `data-zone="Europe/Berlin"`)
		wants(t, "of the viewer", send(d, "GET", "/workers?zone=Asia/Kathmandu"), 200, `data-zone="Asia/Kathmandu"`, `href="./workers?zone=Asia%2FKathmandu"`)
	})
}

func TestARedisThatIsDownIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		d := newDashboard(t, server.Store(), Options{})
		server.Close()
		got := send(d, "GET", "/workers")
		wants(t, "a page", got, 503, "No answer from Redis", "Jobs and schedules are safe", "Load again", `<meta http-equiv="refresh" content="5">`)
		if got.Header().Get("Retry-After") == "" {
			t.Error("the response does not contain when to try again")
		}
	})
}

// An open page receives its changes, and nothing else is read for it.
func TestAnOpenPageIsKeptUpToDate(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Authorize: as(View)})
		next := watch(t, d, "/events?page=workers")
		next("event: region")
		next("no worker")
		next("event: beat")
		worker := chime.NewWorker(store, chime.WorkerOptions{})
		worker.Handle("resize", func(context.Context, *chime.Job) error { return nil })
		during(t, func() {
			next("event: region")
			next("1 worker")
		}, worker)
	})
}

// Problems of the whole store are on every page, so every open page is updated with them.
func TestTheBannersOfAnOpenPageAreKeptUpToDate(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Authorize: as(View)})
		next := watch(t, d, "/events?page=schedules&zone=Asia/Tokyo")
		next("event: beat")
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil))
		next(`Jobs wait on queue default, but no live worker serves it.\u003c/span\u003e \u003ca href=\"./queues?zone=Asia%2FTokyo\"`)
	})
}

// watch opens the stream of a page until the test ends. It returns a function that reads until a line contains a text.
func watch(t *testing.T, d *Dashboard, target string) (next func(want string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.ServeHTTP(&streamWriter{httptest.NewRecorder(), writer}, httptest.NewRequestWithContext(ctx, "GET", target, nil))
		writer.Close()
	}()
	t.Cleanup(func() { cancel(); <-ended })
	lines := make(chan string, 1000)
	go func() {
		scanner := bufio.NewScanner(reader)
		scanner.Buffer(nil, 1<<20) // an event is one line
		for scanner.Scan() {
			lines <- scanner.Text()
		}
		close(lines)
	}()
	return func(want string) {
		t.Helper()
		for end := time.After(time.Hour); ; { // fake time passes
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the stream has ended without %q", want)
				}
				if strings.Contains(line, want) {
					return
				}
			case <-end:
				t.Fatalf("the stream has not sent %q within an hour", want)
			}
		}
	}
}

// A streamWriter is a response that is read while it is written.
type streamWriter struct {
	*httptest.ResponseRecorder
	to io.Writer
}

func (w *streamWriter) Write(text []byte) (int, error) { return w.to.Write(text) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
