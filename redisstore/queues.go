package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
)

var pauseQueueScript = scripts.Load("queues/pause_queue")

// PauseQueue stops taking from a queue, with a note, or resumes it, in all its partitions. Jobs are still added while it is paused. A
// failing partition does not stop the others; the call may be repeated.
func (s *store) PauseQueue(ctx context.Context, queue string, paused bool, note protocol.Note) error {
	found, err := s.queues.lookUp(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return err
	}
	if found[0].partitions == 0 {
		return fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
	}
	stored, err := queueNote(note)
	if err != nil {
		return err
	}
	calls, name := make([]call, found[0].partitions), rand.Text()
	for i := range calls {
		calls[i] = s.pauseQueue(protocol.Partition{Queue: queue, Index: i}, flag(paused), stored, name)
	}
	var failed []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, failure("pause or resume queue", queue, err))
		}
	}
	return errors.Join(failed...)
}

// pauseQueue returns a call of pause_queue.lua.
func (s *store) pauseQueue(p protocol.Partition, what, note, name string) call {
	k := s.keys.partition(p)
	return newCall(&pauseQueueScript, []string{k.state, k.idle, k.due, k.ready, k.turns, k.opens, k.callers, k.ends}, []any{what, s.keys.wake(), note, name})
}
