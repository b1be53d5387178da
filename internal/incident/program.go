package incident

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A program is the store as a process of the world sees it, with the identity of that process: the names of its workers have its host and its version.
type program struct {
	protocol.Store
	host, version string
}

func (p program) Protocol() protocol.Store { return p }

// named returns the name of a worker of this process.
func (p program) named(worker string) string {
	return fmt.Sprintf("%s:%d:%s:%s", p.host, pid, p.version, worker[strings.LastIndexByte(worker, ':')+1:])
}

// pid is the number of every process.
const pid = 4711

func (p program) Listen(worker string) protocol.Listener { return p.Store.Listen(p.named(worker)) }

func (p program) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Worker = p.named(calls[i].Worker)
		calls[i].Measured = p.measured(calls[i].Measured)
	}
	return p.Store.Work(ctx, calls)
}

func (p program) CloseSession(ctx context.Context, partition protocol.Partition, session string, measured *protocol.Measured) error {
	return p.Store.CloseSession(ctx, partition, session, p.measured(measured))
}

// measured returns measurements of a process with the version of this one, not of the program that plays it.
func (p program) measured(all *protocol.Measured) *protocol.Measured {
	if all == nil {
		return nil
	}
	mine := *all
	mine.Shapes = slices.Clone(all.Shapes)
	for i := range mine.Shapes {
		mine.Shapes[i].Version = p.version
	}
	return &mine
}

func (p program) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Worker = p.named(calls[i].Worker)
	}
	return p.Store.Poll(ctx, calls)
}

func (p program) Leave(ctx context.Context, calls []protocol.LeaveCall) error {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Worker = p.named(calls[i].Worker)
	}
	return p.Store.Leave(ctx, calls)
}

func (p program) Announce(ctx context.Context, worker string, handled []protocol.Handled) error {
	return p.Store.Announce(ctx, p.named(worker), handled)
}

func (p program) AnnounceWorker(ctx context.Context, worker protocol.WorkerEntry) error {
	worker.Name, worker.Host, worker.PID, worker.Version = p.named(worker.Name), p.host, pid, p.version
	return p.Store.AnnounceWorker(ctx, worker)
}

func (p program) Beat(ctx context.Context, worker string, at time.Time) (now time.Time, lost bool, err error) {
	return p.Store.Beat(ctx, p.named(worker), at)
}

func (p program) RetireWorker(ctx context.Context, worker string) error {
	return p.Store.RetireWorker(ctx, p.named(worker))
}
