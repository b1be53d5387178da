package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestUnhandledReturnsWhatNoLiveWorkerAnnounced(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		report, mail := protocol.Handled{Queue: "default", Name: "report"}, protocol.Handled{Queue: "default", Name: "mail"}
		if err := b.store.Announce(b.Context(), "w", []protocol.Handled{report}); err != nil {
			b.Fatal(err)
		}
		missing, err := b.store.Unhandled(b.Context(), []protocol.Handled{report, mail})
		if err != nil || fmt.Sprint(missing) != fmt.Sprint([]protocol.Handled{mail}) {
			b.Errorf("unhandled %v, %v; want mail", missing, err)
		}
		long := time.Now().Add(-10 * time.Minute)
		b.client.HSet(b.Context(), b.keys().handlers, "report", fmt.Sprintf("w %d ", long.Unix()))
		if missing, err := b.store.Unhandled(b.Context(), []protocol.Handled{report}); err != nil || len(missing) != 1 {
			b.Errorf("unhandled %v, %v; want report: its worker has been silent for ten minutes", missing, err)
		}
	})
}

// A server that was restarted empty knows a queue again as soon as a worker of that queue has announced its handlers.
func TestAnnouncingRegistersTheQueueAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		handled := []protocol.Handled{{Queue: "mail", Name: "welcome"}}
		for range 2 {
			if err := b.store.Announce(b.Context(), "w", handled); err != nil {
				b.Fatal(err)
			}
			if queues := b.queues(); queues["mail"] != 1 {
				b.Fatalf("queues %v, want mail with 1 partition", queues)
			}
			b.client.Del(b.Context(), b.store.keys.queues())
		}
	})
}
