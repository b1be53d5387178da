package storesuite

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestAMarkThatHasComeBackElsewhereBeginsAgainAtTheFront(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Own("a"), Own("b"), Own("c"), Own("d"))
		got, page := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, Limit: 2})
		b.Want("the first page", got, "a b")
		for _, taken := range b.Take("s", 2) {
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
		}
		b.Enqueue(Own("b"), Own("e"))
		got, page = b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, After: page.Next})
		b.Want("the page after b, which is behind d now", got, "c d b e")
		if !page.Restarted {
			b.Error("the page is not marked as restarted")
		}
	})
}

// A job that was cancelled while it was in ready is not shown there; if it is enqueued again for later, it is shown as delayed.
func (s *Suite) TestACancelledJobIsNotShown(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Own("a"), Own("b"))
		b.Cancel("a")
		got, _ := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting})
		b.Want("waiting", got, "b")
		later := Own("a")
		later.At = b.Now().Add(time.Hour)
		b.Enqueue(later)
		got, _ = b.Listed(protocol.JobPageCall{State: protocol.JobWaiting})
		b.Want("waiting", got, "b")
		got, page := b.Listed(protocol.JobPageCall{State: protocol.JobDelayed})
		b.Want("delayed", got, "a")
		b.Want("its body", string(page.Jobs[0].Body), "\x01a")
	})
}
