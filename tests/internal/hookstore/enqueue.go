package hookstore

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

// An enqueueLog records the calls of Enqueue.
type enqueueLog struct {
	senders map[sender]*sent
	calls   []protocol.EnqueueCall
}

// A sender is an enqueuer that adds jobs to a partition.
type sender struct {
	partition protocol.Partition
	caller    string
}

// sent is the last call of a sender.
type sent struct {
	underWay   bool
	number     int64
	unanswered []protocol.EnqueueItem // the items of the last call; nil: it was answered
}

// Enqueue checks the calls against the protocol of EnqueueCall.
func (s *Store) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	for i := range calls {
		s.checkEnqueue(&calls[i])
	}
	delay(s.Latency)
	answers := s.enqueueAll(ctx, calls)
	delay(s.Lag)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range calls {
		of := s.enqueue.senders[sender{calls[i].Partition, calls[i].Caller}]
		if of.underWay, of.unanswered = false, nil; answers[i].Err != nil {
			of.unanswered = copyEnqueue(&calls[i]).Items
		}
	}
	return answers
}

func (s *Store) enqueueAll(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	failed := func(err error) protocol.EnqueueAnswer { return protocol.EnqueueAnswer{Err: err} }
	return batch(s, "enqueue", calls, func(c *protocol.EnqueueCall) protocol.Partition { return c.Partition }, failed, func(parts []protocol.EnqueueCall) []protocol.EnqueueAnswer {
		if s.EnqueueFault == nil {
			return s.Store.Enqueue(ctx, parts)
		}
		answers := make([]protocol.EnqueueAnswer, len(parts))
		for i := range parts {
			before, after := s.EnqueueFault(&parts[i])
			if before == nil {
				answers[i] = s.Store.Enqueue(ctx, parts[i:i+1])[0]
			}
			if before != nil || after != nil {
				answers[i] = failed(cmp.Or(before, after))
			}
		}
		return answers
	})
}

func (s *Store) checkEnqueue(c *protocol.EnqueueCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.KeepEnqueue {
		s.enqueue.calls = append(s.enqueue.calls, copyEnqueue(c))
	}
	key := sender{c.Partition, c.Caller}
	of := s.enqueue.senders[key]
	if of == nil {
		of = &sent{}
		s.enqueue.senders[key] = of
	}
	size := 0
	for i := range c.Items {
		size += len(c.Items[i].Body)
	}
	if len(c.Items) == 0 || len(c.Items) > protocol.MaxItems || size > protocol.MaxBytes && len(c.Items) > 1 {
		s.t.Errorf("%s: a call of %d items and %d bytes", c.Caller, len(c.Items), size)
	}
	if of.underWay {
		s.t.Errorf("%s: two concurrent calls to %v", c.Caller, c.Partition)
	}
	switch {
	case c.Number > of.number: // also after a call with an unknown outcome; a seal takes a number of its own
	case c.Number != of.number || of.unanswered == nil:
		s.t.Errorf("%s: call %d follows %d (unanswered: %v)", c.Caller, c.Number, of.number, of.unanswered != nil)
	case !reflect.DeepEqual(of.unanswered, c.Items):
		s.t.Errorf("%s: call %d was sent again with other items", c.Caller, c.Number)
	}
	of.underWay, of.number = true, c.Number
}

// copyEnqueue copies a call, because its memory belongs to the caller again after the answer.
func copyEnqueue(c *protocol.EnqueueCall) protocol.EnqueueCall {
	copied := *c
	copied.Items = slices.Clone(c.Items)
	for i := range copied.Items {
		copied.Items[i].Body = bytes.Clone(c.Items[i].Body)
	}
	return copied
}

// EnqueueCalls returns the calls of Enqueue so far, including repeated ones, if KeepEnqueue is set.
func (s *Store) EnqueueCalls() []protocol.EnqueueCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.enqueue.calls)
}
