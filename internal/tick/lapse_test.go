package tick

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

type leaseStore struct {
	protocol.LeaderStore
	down bool
}

func (s *leaseStore) Lead(_ context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	if s.down {
		return protocol.Leadership{}, errors.New("connection refused")
	}
	return protocol.Leadership{Leading: true, Leader: candidate, Term: 7, Left: ttl}, nil
}

func TestALeaseThatLapsesInAnOutageIsLoggedAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		store := new(leaseStore)
		e := election{store: store, id: "a", ttl: 10 * time.Second, log: slog.New(slog.NewTextHandler(&text, nil))}
		run := func(wantElected, wantLost int, when string) {
			t.Helper()
			_, _ = e.run(t.Context())
			if elected, lost := strings.Count(text.String(), "event=leader.elected"), strings.Count(text.String(), "event=leader.lost"); elected != wantElected || lost != wantLost {
				t.Errorf("%s: elected is logged %d times and lost %d times, want %d and %d", when, elected, lost, wantElected, wantLost)
			}
		}
		run(1, 0, "the first answer")
		store.down = true
		time.Sleep(9 * time.Second) // fake time
		run(1, 0, "an outage, within the lease")
		time.Sleep(time.Second) // fake time
		run(1, 1, "the lease has lapsed")
		run(1, 1, "the outage continues")
		store.down = false
		run(2, 1, "after the outage")
	})
}
