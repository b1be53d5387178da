package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestAProcessIsReadyWhileItsStoreAnswersAndItsRolesTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		var away error
		pulses := map[string]time.Time{}
		r := &readiness{
			ask:   func(context.Context) error { asked++; return away },
			loops: []func() map[string]time.Time{func() map[string]time.Time { return pulses }},
		}
		check := func(when, want string) {
			t.Helper()
			if got := r.why(t.Context()); got != want {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		check("before the roles have begun", "the roles do not run")
		pulses["ticker"] = time.Now()
		check("when they have", "")
		away = errors.New("connection refused")
		check("within a second of an answer", "")
		if asked != 1 {
			t.Errorf("the store was asked %d times within a second, want once", asked)
		}
		time.Sleep(time.Second)
		check("while the store is away", "the store does not answer")
		away = nil
		time.Sleep(time.Second)
		check("when it is back", "")
		time.Sleep(pulseWithin)
		check("when a loop has been stuck", "the roles do not run")
		pulses["ticker"] = time.Now()
		check("when it turns again", "")
		r.draining.Store(true)
		check("when the process was told to end", "draining")
	})
}

// The port closes at the same time, so nobody but a proxy that holds a connection ever reads this.
func TestAProcessThatEndsIsNotReady(t *testing.T) {
	s := &server{http: &http.Server{}, log: slog.New(slog.DiscardHandler), ready: &readiness{ask: func(context.Context) error { return nil }}}
	if why := s.ready.why(t.Context()); why != "" {
		t.Errorf("before: got %q, want ready", why)
	}
	s.stop()
	if why := s.ready.why(t.Context()); why != "draining" {
		t.Errorf("after: got %q, want draining", why)
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	r := &readiness{ask: func(context.Context) error { return nil }}
	handler := r.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/": 401, "/livez/": 401, "/jobCollections": 401} {
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, httptest.NewRequest("GET", path, nil))
		if got.Code != want {
			t.Errorf("GET %s: got %d, want %d", path, got.Code, want)
		}
	}
}
