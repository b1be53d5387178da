package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// verify reads the namespace and returns what is wrong in it.
func (b *bench) verify(repair bool) []protocol.Finding {
	b.Helper()
	var found []protocol.Finding
	if _, err := b.store.Verify(b.Context(), repair, func(f protocol.Finding) { found = append(found, f) }); err != nil {
		b.Fatal(err)
	}
	return found
}

// verified fails the test if anything is wrong.
func (b *bench) verified() {
	b.Helper()
	if found := b.verify(false); len(found) > 0 {
		b.Fatalf("found %+v, want nothing", found)
	}
}

const verifyEvery = 20 // steps of a walk

// verifiedNowAndThen is verified in some steps of a walk.
func (b *bench) verifiedNowAndThen(step int) {
	b.Helper()
	if step%verifyEvery == 0 {
		b.verified()
	}
}

// What is no longer wrong when its turn comes is not mended: here a job that was lost, and that a new session holds by then.
func TestWhatIsRightWhenItIsToBeMendedStaysAsItIs(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		b.client.Del(b.Context(), b.keys().ready)
		var taken []string
		store := b.hooked(func(cmd redis.Cmder) error {
			args := cmd.Args()
			if len(args) < 4 || args[1] != verifyJobScript.SHA {
				return nil
			}
			switch mends := args[3+args[2].(int)] == "1"; {
			case mends && len(taken) == 0: // before it is mended
				meanwhile(func() {
					b.client.RPush(b.Context(), b.keys().ready, "a")
					taken = append(taken, ids(b.take("new", 1)))
				})
			case len(taken) == 1: // and after it
				meanwhile(func() { taken = append(taken, ids(b.take("other", 1))) })
			}
			return nil
		})
		if _, err := store.Verify(b.Context(), true, func(protocol.Finding) {}); err != nil {
			b.Fatal(err)
		}
		b.want("taken meanwhile", fmt.Sprintf("%q", taken), `["a" ""]`)
		b.verified()
	})
}

// The newest occurrence of a schedule that owes the next may wait for its second attempt: that is no schedule in two places.
func TestVerifyTakesARetryForNoSecondPlacement(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.scheduled("s", "allow", ago(time.Minute))
		held := b.take("s1", 1)[0]
		b.settle("s1", protocol.Settlement{ID: held.ID, Fence: held.Fence, Kind: protocol.SettleLater, Failed: true, Delay: time.Hour, Body: []byte("\x01b")})
		b.want("owed", b.owedNames(), "[s]")
		b.verified()
	})
}
