package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A bench is one server with a store on it, and short methods that call the store.
type bench struct {
	*testing.T
	store   *store
	client  redis.UniversalClient
	numbers map[string]int64 // of the last call of each session
	callers int64

	setClock   func(time.Time) // of the server; nil: it cannot be set
	noSuspects bool            // no session may be given one
}

// pauseSchedule pauses or resumes a schedule and returns what it is owed then.
func pauseSchedule(ctx context.Context, s *store, name string, paused bool) (protocol.Owed, error) {
	answer, err := s.PauseSchedule(ctx, protocol.Pausing{Name: name, Paused: paused})
	if answer.Owed == nil {
		return protocol.Owed{}, err
	}
	return *answer.Owed, err
}

var benches atomic.Int64

func newBench(t *testing.T, client redis.UniversalClient) *bench {
	t.Cleanup(func() { client.Close() })
	guardKeys(t, client)
	namespace := fmt.Sprintf("test%d", benches.Add(1))
	if selectedServer().lacks&namespaces != 0 {
		namespace = "chime" // the one of docs/access.md
	}
	b := &bench{T: t, store: newStore(client, Options{Namespace: namespace}), client: client, numbers: map[string]int64{}}
	if _, err := b.store.Partitions(t.Context(), defaultPartition.Queue); err != nil { // the queue is registered, as roles do before they use it
		t.Fatal(err)
	}
	return b
}

var defaultPartition = protocol.Partition{Queue: "default"}

func (b *bench) enqueue(items ...protocol.EnqueueItem) []bool {
	b.Helper()
	b.callers++
	answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "caller", Number: b.callers, Items: items}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer.Existing
}

func job(id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Body: []byte("\x01" + id)}
}

func own(id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Own: true, Body: []byte("\x01" + id)}
}

// work makes the next numbered call of a session.
func (b *bench) work(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	answer := b.try(session, call)
	if answer.Err != nil {
		b.Fatalf("call %d of %s: %v", b.numbers[session], session, answer.Err)
	}
	return answer
}

func (b *bench) try(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	b.numbers[session]++
	answer := b.repeat(session, call)
	if b.numbers[session] == 1 && len(answer.Taken) == 0 {
		b.numbers[session] = 0
	}
	return answer
}

// repeat makes a call with the number of the last one.
func (b *bench) repeat(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	call.Partition, call.Worker, call.Session, call.Number = defaultPartition, "w-"+session, session, b.numbers[session]
	call.Suspect = !b.noSuspects
	if call.TTL == 0 {
		call.TTL = 12 * time.Second
	}
	return b.store.Work(b.Context(), []protocol.WorkCall{call})[0]
}

// take takes up to n jobs and returns them.
func (b *bench) take(session string, n int) []protocol.TakenJob {
	b.Helper()
	return b.work(session, protocol.WorkCall{Take: n}).Taken
}

// settle ends one job and says whether the store took it.
func (b *bench) settle(session string, settled protocol.Settlement) bool {
	b.Helper()
	return len(b.work(session, protocol.WorkCall{Settle: []protocol.Settlement{settled}}).Refused) == 0
}

// sweep makes one call that sweeps the partition.
func (b *bench) sweep() (more bool, err error) {
	b.Helper()
	answer := b.store.Sweep(b.Context(), []protocol.Partition{defaultPartition}, 0)[0]
	return answer.More, answer.Err
}

// reapStep makes one call that reaps a session.
func (b *bench) reapStep(call protocol.ReapCall) (done bool, err error) {
	b.Helper()
	answer := b.store.Reap(b.Context(), []protocol.ReapCall{call})[0]
	return answer.Done, answer.Err
}

// ids are the IDs of jobs taken, in order, separated by spaces.
func ids(taken []protocol.TakenJob) string {
	text := ""
	for _, t := range taken {
		if text != "" {
			text += " "
		}
		text += t.ID
	}
	return text
}

func (b *bench) want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func (b *bench) stats() protocol.QueueStats {
	b.Helper()
	stats, err := b.store.QueueStats(b.Context(), []string{"default"})
	if err != nil {
		b.Fatal(err)
	}
	return stats[0]
}

func (b *bench) keys() partitionKeys { return b.store.keys.partition(defaultPartition) }

func redisZ(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }
