package chime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// An enqueueStore is the part of a Store that an Enqueuer uses, in memory. It keeps every job, counts every call, and fails the test
// if the enqueuer breaks the protocol of EnqueueCall.
type enqueueStore struct {
	protocol.Store
	t          testing.TB
	partitions int
	rtt        time.Duration // of a call
	perCall    time.Duration // of the server, which does one at a time
	perItem    time.Duration
	keep       bool // the jobs

	mu         sync.Mutex
	server     sync.Mutex
	last       map[protocol.Partition]protocol.EnqueueCall
	jobs       map[string]protocol.EnqueueItem
	order      []string
	calls      []protocol.EnqueueCall
	roundTrips int
	asked      int // calls of Partitions
	underWay   map[protocol.Partition]bool
	added      atomic.Int64

	// fault, if set, returns for each call an error before or after it is carried out.
	fault func(n int, call protocol.EnqueueCall) (before, after error)
	// askFault is the same for Partitions, checkFault for Check.
	askFault   func(n int) error
	checkFault func(ctx context.Context, n int) error
	checks     int
}

func newEnqueueStore(t testing.TB, partitions int) *enqueueStore {
	return &enqueueStore{
		t: t, partitions: partitions, keep: true,
		last: make(map[protocol.Partition]protocol.EnqueueCall), jobs: make(map[string]protocol.EnqueueItem), underWay: make(map[protocol.Partition]bool),
	}
}

func (s *enqueueStore) Check(ctx context.Context) error {
	s.mu.Lock()
	s.checks++
	n := s.checks
	s.mu.Unlock()
	if s.checkFault == nil {
		return nil
	}
	return s.checkFault(ctx, n)
}

func (s *enqueueStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

func (s *enqueueStore) Partitions(ctx context.Context, queue string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.askFault != nil {
		if err := s.askFault(s.asked); err != nil {
			return 0, err
		}
	}
	return s.partitions, nil
}

// FindJobs finds every job waiting.
func (s *enqueueStore) FindJobs(ctx context.Context, queue string, ids []string) ([]protocol.FoundJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]protocol.FoundJob, len(ids))
	for i, id := range ids {
		if item, ok := s.jobs[id]; ok {
			found[i] = protocol.FoundJob{ID: id, State: protocol.JobWaiting, Body: item.Body}
		}
	}
	return found, nil
}

func (s *enqueueStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	s.mu.Lock()
	s.roundTrips++
	for _, call := range calls {
		if s.underWay[call.Partition] {
			s.t.Errorf("two calls under way to %v", call.Partition)
		}
		s.underWay[call.Partition] = true
	}
	s.mu.Unlock()
	wait(ctx, s.rtt/2)
	answers := make([]protocol.EnqueueAnswer, len(calls))
	for i, call := range calls {
		answers[i] = s.enqueue(call)
	}
	wait(ctx, s.rtt/2)
	s.mu.Lock()
	for _, call := range calls {
		delete(s.underWay, call.Partition)
	}
	s.mu.Unlock()
	return answers
}

// wait sleeps; if the time is too short for a timer it spins.
func wait(ctx context.Context, d time.Duration) {
	if d >= 200*time.Microsecond {
		retry.Sleep(ctx, d)
		return
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

func (s *enqueueStore) enqueue(call protocol.EnqueueCall) protocol.EnqueueAnswer {
	if s.perCall > 0 {
		s.server.Lock()
		for end := time.Now().Add(s.perCall + time.Duration(len(call.Items))*s.perItem); time.Now().Before(end); {
		}
		s.server.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var after error
	if s.fault != nil {
		var before error
		if before, after = s.fault(len(s.calls)+1, call); before != nil {
			s.calls = append(s.calls, copyCall(call))
			return protocol.EnqueueAnswer{Err: before}
		}
	}
	answer := s.apply(call)
	if after != nil {
		return protocol.EnqueueAnswer{Err: after}
	}
	return answer
}

func copyCall(call protocol.EnqueueCall) protocol.EnqueueCall {
	call.Items = slices.Clone(call.Items) // the memory is the caller's again once the call is answered
	for i := range call.Items {
		call.Items[i].Body = bytes.Clone(call.Items[i].Body)
	}
	return call
}

func (s *enqueueStore) apply(call protocol.EnqueueCall) protocol.EnqueueAnswer {
	answer := protocol.EnqueueAnswer{Now: time.Now(), Existing: make([]bool, len(call.Items))}
	last := s.last[call.Partition]
	size := 0
	for _, item := range call.Items {
		size += len(item.Body)
	}
	if len(call.Items) == 0 || len(call.Items) > 500 || size > 1<<20 && len(call.Items) > 1 {
		s.t.Errorf("a call of %d items and %d bytes", len(call.Items), size)
	}
	if last.Caller != "" && last.Caller != call.Caller || call.Number < last.Number {
		s.t.Errorf("call %s %d follows %s %d", call.Caller, call.Number, last.Caller, last.Number)
	}
	again := call.Number == last.Number
	if again && fmt.Sprint(last.Items) != fmt.Sprint(call.Items) {
		s.t.Errorf("call %d was sent again with other items", call.Number)
	}
	if s.keep {
		s.calls = append(s.calls, copyCall(call))
		s.last[call.Partition] = s.calls[len(s.calls)-1]
	}
	s.added.Add(int64(len(call.Items)))
	if !s.keep {
		return answer
	}
	for i, item := range s.last[call.Partition].Items {
		_, exists := s.jobs[item.ID]
		if again || exists {
			answer.Existing[i] = item.Own
			continue
		}
		s.jobs[item.ID] = item
		s.order = append(s.order, item.ID)
	}
	return answer
}

var errLost = errors.New("connection lost")
