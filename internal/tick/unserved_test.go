package tick

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

type countedQueues struct {
	protocol.QueueStore
	stats []protocol.QueueStats
}

func (s *countedQueues) QueueStats(context.Context, []string) ([]protocol.QueueStats, error) {
	return s.stats, nil
}

func TestAQueueThatNobodyServesIsLoggedOnce(t *testing.T) {
	var text strings.Builder
	store, now := &countedQueues{}, time.Now()
	u := unserved{store: store, log: slog.New(slog.NewTextHandler(&text, nil))}
	for i, step := range []struct {
		stats protocol.QueueStats
		want  int // lines so far
		why   string
	}{
		{protocol.QueueStats{Waiting: 1}, 0, "the first check: the job may just have come"},
		{protocol.QueueStats{Waiting: 2}, 1, "nothing was taken since"},
		{protocol.QueueStats{Waiting: 3}, 1, "it was logged"},
		{protocol.QueueStats{Waiting: 3, Running: 1}, 1, "a job runs"},
		{protocol.QueueStats{Waiting: 2, Done: 1}, 1, "the first check since"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, 1, "a job has ended"},
		{protocol.QueueStats{Waiting: 2, Done: 2, Paused: true}, 1, "the queue is paused"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, 1, "the first check since"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, 2, "nothing was taken since"},
		{protocol.QueueStats{Done: 4}, 2, "nothing waits"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(time.Minute)}, 2, "a job is delayed"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(time.Minute)}, 2, "it is still delayed"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(-time.Minute)}, 2, "the first check since it was due"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(-time.Minute)}, 3, "it is overdue"},
	} {
		step.stats.Queue, step.stats.Now = "mail", now
		store.stats = []protocol.QueueStats{step.stats}
		if _, err := u.check(t.Context(), []string{"mail"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(text.String(), "event=queue.unserved queue=mail"); got != step.want {
			t.Errorf("check %d: %d lines, want %d: %s", i+1, got, step.want, step.why)
		}
	}
}
