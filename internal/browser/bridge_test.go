package browser

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/incident"
)

// A bridge lets a browser use the dashboard of a store that lives under fake time. The fake clock goes as fast as the real one while the bridge is open, so that
// open pages change and jobs run.
//
// No goroutine of one side waits for a channel of the other side, except in the loop that carries out calls.
type bridge struct {
	url   string      // of the dashboard, with a slash at its end
	calls chan func() // are carried out under fake time
	world *incident.World
}

// bridgeTick is how often the fake clock is moved.
const bridgeTick = 10 * time.Millisecond

// newBridge fills the store of a bad day, and serves its dashboard until the test ends. prepare adds to the store.
func newBridge(t *testing.T, prepare func(*testing.T, *incident.World)) *bridge {
	t.Helper()
	b := &bridge{calls: make(chan func())}
	ready, ended := make(chan *dashboard.Dashboard, 1), make(chan struct{})
	end, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		defer close(ready)
		synctest.Test(t, func(t *testing.T) {
			b.world = incident.New(t, incident.Small)
			prepare(t, b.world)
			d := dashboard.New(b.world.Store, dashboard.Options{Write: true, Logger: slog.New(slog.DiscardHandler), Authorize: everyone()})
			defer d.Close()
			ready <- d
			for call := range b.calls {
				call()
			}
		})
	}()
	d := <-ready
	if d == nil {
		t.FailNow()
	}
	ticked := make(chan struct{})
	go func() { // moves the fake clock, until the end
		defer close(ticked)
		tick := time.NewTicker(bridgeTick)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case now := <-tick.C:
				passed := now.Sub(last)
				last = now
				b.calls <- func() { time.Sleep(passed) } // fake time passes
			case <-end.Done():
				return
			}
		}
	}()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.serve(d, w, r) }))
	b.url = server.URL + "/"
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		cancel()
		<-ticked
		close(b.calls)
		<-ended
	})
	return b
}

// serve carries a request over.
func (b *bridge) serve(d *dashboard.Dashboard, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the browser has gone
	}
	answer := &answer{header: http.Header{}, parts: make(chan []byte, 1<<12)}
	var cancel context.CancelFunc
	b.calls <- func() {
		var ctx context.Context
		ctx, cancel = context.WithCancel(context.Background())
		inside := r.Clone(ctx)
		inside.Body = io.NopCloser(bytes.NewReader(body))
		go func() {
			defer close(answer.parts)
			d.ServeHTTP(answer, inside)
			answer.WriteHeader(http.StatusOK)
		}()
	}
	defer func() { b.calls <- func() { cancel() } }()
	for begun := false; ; {
		select {
		case part, more := <-answer.parts:
			if !more {
				return
			}
			if !begun {
				begun = true
				for name, values := range answer.sent {
					w.Header()[name] = values
				}
				w.WriteHeader(answer.status)
			}
			_, _ = w.Write(part)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// An answer is the ResponseWriter of the side with fake time. Its parts are written on the other side. The status and the header belong to the first part.
type answer struct {
	header, sent http.Header
	status       int
	parts        chan []byte
}

// Header returns the header, which is sent with the first part.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader sends the header, once.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.sent = status, a.header.Clone()
		a.parts <- nil
	}
}

// Write sends a part.
func (a *answer) Write(part []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.parts <- bytes.Clone(part)
	return len(part), nil
}

// Flush does nothing, because each part is sent at once.
func (a *answer) Flush() {}

// inside carries out a call under fake time, and waits for it.
func (b *bridge) inside(call func()) {
	done := make(chan struct{})
	b.calls <- func() { defer close(done); call() }
	<-done
}

// now returns the fake instant.
func (b *bridge) now() (now time.Time) {
	b.inside(func() { now = time.Now() })
	return now
}
