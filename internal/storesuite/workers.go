package storesuite

import (
	"reflect"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestAWorkerIsShownFromItsAnnouncementToItsEnd(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		before := b.Now()
		entry := protocol.WorkerEntry{Name: "W", Host: "h", PID: 7, Version: "v1.2.3", Queues: map[string]int{"mail": 3}, Slots: 20, Many: true, Age: time.Hour}
		if err := b.Store.AnnounceWorker(b.Context(), entry); err != nil {
			b.Fatal(err)
		}
		entry.Age = 2 * time.Hour // the first announcement determines since when it runs
		if err := b.Store.AnnounceWorker(b.Context(), entry); err != nil {
			b.Fatal(err)
		}
		workers, err := b.Store.Workers(b.Context())
		if err != nil || len(workers) != 1 {
			b.Fatalf("workers %+v, %v; want one", workers, err)
		}
		got := workers[0]
		if since := got.Since.Sub(before.Add(-time.Hour)); since < -time.Millisecond || since > time.Minute || got.Seen.Before(before.Truncate(time.Millisecond)) {
			b.Errorf("since %v and seen %v, at %v", got.Since, got.Seen, before)
		}
		got.Since, got.Seen, entry.Age = time.Time{}, time.Time{}, 0
		if !reflect.DeepEqual(got, entry) {
			b.Errorf("got %+v, want %+v", got, entry)
		}
		if err := b.Store.RetireWorker(b.Context(), "W"); err != nil {
			b.Fatal(err)
		}
		if workers, err := b.Store.Workers(b.Context()); err != nil || len(workers) != 0 {
			b.Errorf("workers %+v, %v; want none", workers, err)
		}
	})
}
