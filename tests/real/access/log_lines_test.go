//go:build real

package access_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// logLines collects the log of a program. It is safe for concurrent use.
type logLines struct {
	mu    sync.Mutex
	text  strings.Builder
	added chan struct{}
}

func newLogLines() *logLines { return &logLines{added: make(chan struct{}, 1)} }

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.added <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// count returns how many lines contain all of the texts.
func (l *logLines) count(texts ...string) (n int) {
	for line := range strings.Lines(l.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			n++
		}
	}
	return n
}

// untilTrouble makes a call, whose ctx ends when a line reports that the store does not answer.
func (l *logLines) untilTrouble(ctx context.Context, call func(ctx context.Context) error) error {
	const trouble = "event=store.trouble"
	before := l.count(trouble)
	ctx, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			select {
			case <-l.added:
				if l.count(trouble) > before {
					stop()
				}
			case <-ctx.Done():
			}
		}
	}()
	err := call(ctx)
	stop()
	<-watched
	return err
}

// await waits until a line contains a text.
func (l *logLines) await(t testing.TB, text string) {
	t.Helper()
	timeout := time.After(20 * time.Second) // real time: a line that is never logged fails the test
	for l.count(text) == 0 {
		select {
		case <-l.added:
		case <-timeout:
			t.Fatalf("no line with %q is logged:\n%s", text, l)
		}
	}
}
