package batch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/carry"
	"github.com/chimejobs/chime/internal/protocol"
)

// An EndingStore is what a process calls that may end a batch although it is no worker.
type EndingStore interface {
	Store
	carry.Store
}

// carryTime is how long such a process tries to bring the jobs that follow a batch to their queues. A worker or a scheduler does what it leaves.
const carryTime = 2 * time.Second

// endAndCarry ends a batch if no member is left, and brings the jobs that follow it to their queues.
func endAndCarry(ctx context.Context, store EndingStore, id string) error {
	if err := End(ctx, store, id); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, carryTime)
	carrier := carry.New(store, slog.New(slog.DiscardHandler))
	carrier.Note(protocol.Home(protocol.HomeOf(id)))
	var running sync.WaitGroup
	running.Go(func() { carrier.Run(limited) })
	carrier.Finish(limited)
	cancel()
	running.Wait()
	return nil
}
