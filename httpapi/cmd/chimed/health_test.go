package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chimejobs/chime/health"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func newHealth(t *testing.T) *health.Health {
	t.Helper()
	store := embedded.StartInMemory()
	t.Cleanup(func() { _ = store.Close() })
	h, err := health.New(health.Options{Store: store.Store()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The port closes at the same time, so only a proxy with an open connection ever reads this answer.
func TestAProcessThatEndsIsNotReady(t *testing.T) {
	s := &server{http: &http.Server{}, log: slog.New(slog.DiscardHandler), health: newHealth(t)}
	if err := s.health.Ready(t.Context()); err != nil {
		t.Errorf("before: got %v, want ready", err)
	}
	s.stop()
	if err := s.health.Ready(t.Context()); err == nil || err.Error() != "draining" {
		t.Errorf("after: got %v, want draining", err)
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	handler := withHealth(newHealth(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/": 401, "/livez/": 401, "/jobCollections": 401} {
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, httptest.NewRequest("GET", path, nil))
		if got.Code != want {
			t.Errorf("GET %s: got %d, want %d", path, got.Code, want)
		}
	}
}
