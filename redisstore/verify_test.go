package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// What is no longer wrong when its turn comes is not mended: here a job that was lost, and that a new session holds by then.
func TestWhatIsRightWhenItIsToBeMendedStaysAsItIs(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.client.Del(b.Context(), b.keys().ready)
		var taken []string
		store := b.hooked(func(cmd redis.Cmder) error {
			args := cmd.Args()
			if len(args) < 4 || args[1] != verifyJobScript.sha {
				return nil
			}
			switch mends := args[3+args[2].(int)] == "1"; {
			case mends && len(taken) == 0: // before it is mended
				meanwhile(func() {
					b.client.RPush(b.Context(), b.keys().ready, "a")
					taken = append(taken, storesuite.IDs(b.Take("new", 1)))
				})
			case len(taken) == 1: // and after it
				meanwhile(func() { taken = append(taken, storesuite.IDs(b.Take("other", 1))) })
			}
			return nil
		})
		if _, err := store.Verify(b.Context(), true, func(protocol.Finding) {}); err != nil {
			b.Fatal(err)
		}
		b.Want("taken meanwhile", fmt.Sprintf("%q", taken), `["a" ""]`)
		b.Verified()
	})
}

// The newest occurrence of a schedule that owes the next may wait for its second attempt: that is no schedule in two places.
func TestVerifyTakesARetryForNoSecondPlacement(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "allow", storesuite.Ago(time.Minute))
		held := b.Take("s1", 1)[0]
		b.Settle("s1", protocol.Settlement{ID: held.ID, Fence: held.Fence, Kind: protocol.SettleLater, Failed: true, Delay: time.Hour, Body: []byte("\x01b")})
		b.Want("owed", b.owedNames(), "[s]")
		b.Verified()
	})
}
