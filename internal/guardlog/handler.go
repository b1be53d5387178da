// Package guardlog keeps a panic in an application's slog.Handler from ending the process: the library logs in goroutines that hold jobs.
package guardlog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
)

// New returns a logger with the same handler. If the handler panics, only a line is lost. The first panic is written to the standard error. New
// returns nil for nil. If New has returned the logger before, it returns the same logger.
func New(log *slog.Logger) *slog.Logger {
	if log == nil {
		return nil
	}
	if _, ok := log.Handler().(*handler); ok {
		return log
	}
	return slog.New(&handler{users: log.Handler(), report: once(write)})
}

// A handler calls the application's handler and recovers its panics.
type handler struct {
	users  slog.Handler
	report func(panicked any) // called in the panicking goroutine, also for the handlers that are derived from this one
}

// write reports a panic on the standard error: another logger might have the same handler.
func write(panicked any) {
	fmt.Fprintf(os.Stderr, "chime: a slog handler panicked, and a log line is lost; later panics are not reported: %v\n%s\n", panicked, debug.Stack())
}

// once returns a function that calls f only the first time.
func once(f func(any)) func(any) {
	var first sync.Once
	return func(v any) { first.Do(func() { f(v) }) }
}

// Enabled reports true if the application's method panics: Handle may still work.
func (h *handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() {
		if v := recover(); v != nil {
			h.report(v)
			enabled = true
		}
	}()
	return h.users.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	defer h.recovered()
	return h.users.Handle(ctx, record)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derive(func() slog.Handler { return h.users.WithAttrs(attrs) })
}

func (h *handler) WithGroup(name string) slog.Handler {
	return h.derive(func() slog.Handler { return h.users.WithGroup(name) })
}

// derive returns a handler with the one that derive returns, or the same handler if derive panics: its lines lack the attributes.
func (h *handler) derive(derive func() slog.Handler) (derived slog.Handler) {
	derived = h
	defer h.recovered()
	if users := derive(); users != nil {
		derived = &handler{users: users, report: h.report}
	}
	return derived
}

// recovered is called by defer.
func (h *handler) recovered() {
	if v := recover(); v != nil {
		h.report(v)
	}
}
