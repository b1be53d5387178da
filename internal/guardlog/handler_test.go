package guardlog

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// A faulty handler panics in the methods of a list.
type faulty struct {
	slog.Handler
	panics []string
}

func (h faulty) call(method string) {
	if slices.Contains(h.panics, method) {
		panic("the fault of " + method)
	}
}

func (h faulty) Enabled(ctx context.Context, level slog.Level) bool {
	h.call("Enabled")
	return h.Handler.Enabled(ctx, level)
}

func (h faulty) Handle(ctx context.Context, r slog.Record) error {
	h.call("Handle")
	return h.Handler.Handle(ctx, r)
}

func (h faulty) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.call("WithAttrs")
	return faulty{h.Handler.WithAttrs(attrs), h.panics}
}

func (h faulty) WithGroup(name string) slog.Handler {
	h.call("WithGroup")
	return faulty{h.Handler.WithGroup(name), h.panics}
}

func TestAPanicInAHandlerLosesALineAndIsReportedOnce(t *testing.T) {
	for _, c := range []struct {
		panics    string
		wantLines int
	}{{"Enabled", 4}, {"Handle", 0}, {"WithAttrs", 4}, {"WithGroup", 4}, {"none", 4}} {
		var out bytes.Buffer
		var reports []any
		log := slog.New(&handler{
			users:  faulty{slog.NewTextHandler(&out, nil), []string{c.panics}},
			report: once(func(v any) { reports = append(reports, v) }),
		})
		log.Info("one")
		log.With("a", 1).Info("two")
		log.WithGroup("g").Info("three", "b", 2)
		log.Info("four")
		if lines := strings.Count(out.String(), "\n"); lines != c.wantLines {
			t.Errorf("%s panics: %d lines were written, want %d:\n%s", c.panics, lines, c.wantLines, out.String())
		}
		want := []any{"the fault of " + c.panics}
		if c.panics == "none" {
			want = nil
		}
		if !slices.Equal(reports, want) {
			t.Errorf("%s panics: the reports are %q, want %q", c.panics, reports, want)
		}
	}
}

func TestALoggerIsGuardedOnce(t *testing.T) {
	log := New(slog.New(slog.DiscardHandler))
	if New(log) != log || New(nil) != nil {
		t.Error("a guarded logger was guarded again, or nil became a logger")
	}
}
