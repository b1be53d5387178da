package observe

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Store returns a store that reports each call of a role. Without an observer it returns the store itself.
func (o *Observer) Store(store protocol.Store) protocol.Store {
	if o.Called == nil || store == nil {
		return store
	}
	return &calledStore{Store: store, called: o.Called}
}

// A calledStore reports the calls of the roles: how long each took, and why it failed. Some answers are no failures, such as that a session is
// lost. Calls that only the collections of an application make are not reported.
type calledStore struct {
	protocol.Store
	called func(op string, took time.Duration, err error)
}

// report reports a call that has ended now.
func report(called func(string, time.Duration, error), op string, began time.Time, err error) {
	for _, answer := range []error{protocol.ErrSessionLost, protocol.ErrNotFound, protocol.ErrConflict, protocol.ErrUnreadable, context.Canceled} {
		if err != nil && errors.Is(err, answer) {
			err = nil
		}
	}
	called(op, time.Since(began), err)
}

// call makes a call with one answer.
func call[A any](s *calledStore, op string, do func() (A, error)) (A, error) {
	began := time.Now()
	answer, err := do()
	report(s.called, op, began, err)
	return answer, err
}

// only makes a call with no answer but an error.
func only(s *calledStore, op string, do func() error) error {
	began := time.Now()
	err := do()
	report(s.called, op, began, err)
	return err
}

// many makes a call with an answer for each of its parts.
func many[A any](called func(string, time.Duration, error), op string, do func() []A, failed func(*A) error) []A {
	began := time.Now()
	answers := do()
	var first error
	for i := range answers {
		err := failed(&answers[i])
		if err != nil && (first == nil || errors.Is(first, protocol.ErrSessionLost) || errors.Is(first, protocol.ErrUnreadable)) {
			first = err
		}
	}
	report(called, op, began, first)
	return answers
}

func (s *calledStore) Check(ctx context.Context) error {
	return only(s, "check", func() error { return s.Store.Check(ctx) })
}

func (s *calledStore) CheckUse(ctx context.Context, use protocol.Use, queues []string) error {
	return only(s, "check_use", func() error { return s.Store.CheckUse(ctx, use, queues) })
}

func (s *calledStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	return many(s.called, "enqueue", func() []protocol.EnqueueAnswer { return s.Store.Enqueue(ctx, calls) }, func(a *protocol.EnqueueAnswer) error { return a.Err })
}

func (s *calledStore) Seal(ctx context.Context, calls []protocol.SealCall) []protocol.SealAnswer {
	return many(s.called, "seal", func() []protocol.SealAnswer { return s.Store.Seal(ctx, calls) }, func(a *protocol.SealAnswer) error { return a.Err })
}

func (s *calledStore) Replace(ctx context.Context, c protocol.ReplaceCall) (protocol.Replaced, error) {
	return call(s, "replace", func() (protocol.Replaced, error) { return s.Store.Replace(ctx, c) })
}

func (s *calledStore) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	return many(s.called, "work", func() []protocol.WorkAnswer { return s.Store.Work(ctx, calls) }, func(a *protocol.WorkAnswer) error { return a.Err })
}

func (s *calledStore) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	return many(s.called, "poll", func() []protocol.PollAnswer { return s.Store.Poll(ctx, calls) }, func(a *protocol.PollAnswer) error { return a.Err })
}

func (s *calledStore) Leave(ctx context.Context, calls []protocol.LeaveCall) error {
	return only(s, "leave", func() error { return s.Store.Leave(ctx, calls) })
}

func (s *calledStore) Report(ctx context.Context, reports []protocol.ProgressReport) error {
	return only(s, "report", func() error { return s.Store.Report(ctx, reports) })
}

func (s *calledStore) CloseSession(ctx context.Context, partition protocol.Partition, session string, measured *protocol.Measured) error {
	return only(s, "close_session", func() error { return s.Store.CloseSession(ctx, partition, session, measured) })
}

func (s *calledStore) Lapsed(ctx context.Context, partition protocol.Partition) ([]protocol.LapsedSession, error) {
	return call(s, "lapsed", func() ([]protocol.LapsedSession, error) { return s.Store.Lapsed(ctx, partition) })
}

func (s *calledStore) Reap(ctx context.Context, calls []protocol.ReapCall) []protocol.ReapAnswer {
	return many(s.called, "reap", func() []protocol.ReapAnswer { return s.Store.Reap(ctx, calls) }, func(a *protocol.ReapAnswer) error { return a.Err })
}

func (s *calledStore) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) []protocol.SweepAnswer {
	return many(s.called, "sweep", func() []protocol.SweepAnswer { return s.Store.Sweep(ctx, partitions, unless) }, func(a *protocol.SweepAnswer) error { return a.Err })
}

func (s *calledStore) Bury(ctx context.Context, partition protocol.Partition, burials []protocol.Burial) (int, error) {
	return call(s, "bury", func() (int, error) { return s.Store.Bury(ctx, partition, burials) })
}

func (s *calledStore) Announce(ctx context.Context, worker string, handled []protocol.Handled) error {
	return only(s, "announce", func() error { return s.Store.Announce(ctx, worker, handled) })
}

func (s *calledStore) AnnounceWorker(ctx context.Context, worker protocol.WorkerEntry) error {
	return only(s, "announce_worker", func() error { return s.Store.AnnounceWorker(ctx, worker) })
}

func (s *calledStore) Beat(ctx context.Context, name string, at time.Time) (now time.Time, lost bool, err error) {
	err = only(s, "beat", func() error {
		now, lost, err = s.Store.Beat(ctx, name, at)
		return err
	})
	return now, lost, err
}

func (s *calledStore) RetireWorker(ctx context.Context, name string) error {
	return only(s, "retire_worker", func() error { return s.Store.RetireWorker(ctx, name) })
}

func (s *calledStore) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	return call(s, "unhandled", func() ([]protocol.Handled, error) { return s.Store.Unhandled(ctx, asked) })
}

func (s *calledStore) Partitions(ctx context.Context, queue string) (int, error) {
	return call(s, "partitions", func() (int, error) { return s.Store.Partitions(ctx, queue) })
}

func (s *calledStore) QueueStats(ctx context.Context, queues []string) ([]protocol.QueueStats, error) {
	return call(s, "queue_stats", func() ([]protocol.QueueStats, error) { return s.Store.QueueStats(ctx, queues) })
}

func (s *calledStore) Acknowledgements(ctx context.Context) ([]protocol.Acknowledgement, error) {
	return call(s, "acknowledgements", func() ([]protocol.Acknowledgement, error) { return s.Store.Acknowledgements(ctx) })
}

func (s *calledStore) Acknowledge(ctx context.Context, a protocol.Acknowledgement) error {
	return only(s, "acknowledge", func() error { return s.Store.Acknowledge(ctx, a) })
}

func (s *calledStore) Unacknowledge(ctx context.Context, a protocol.Acknowledgement) (bool, error) {
	return call(s, "unacknowledge", func() (bool, error) { return s.Store.Unacknowledge(ctx, a) })
}

func (s *calledStore) EndPauses(ctx context.Context, partitions []protocol.Partition) (protocol.EndedPauses, error) {
	return call(s, "end_pauses", func() (protocol.EndedPauses, error) { return s.Store.EndPauses(ctx, partitions) })
}

func (s *calledStore) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	return call(s, "served", func() ([]protocol.QueueSize, error) { return s.Store.Served(ctx, also) })
}

func (s *calledStore) Queues(ctx context.Context, cursor string) ([]protocol.QueueSize, string, error) {
	began := time.Now()
	queues, next, err := s.Store.Queues(ctx, cursor)
	report(s.called, "queues", began, err)
	return queues, next, err
}

func (s *calledStore) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	return many(s.called, "declare", func() []protocol.DeclareAnswer { return s.Store.Declare(ctx, declarations) }, func(a *protocol.DeclareAnswer) error { return a.Err })
}

func (s *calledStore) Place(ctx context.Context, placements []protocol.Placement) []protocol.PlaceAnswer {
	return many(s.called, "place", func() []protocol.PlaceAnswer { return s.Store.Place(ctx, placements) }, func(a *protocol.PlaceAnswer) error { return a.Err })
}

func (s *calledStore) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	return call(s, "owed", func() ([]protocol.Owed, error) { return s.Store.Owed(ctx, partitions) })
}

func (s *calledStore) Postpone(ctx context.Context, owed protocol.Owed) error {
	return only(s, "postpone", func() error { return s.Store.Postpone(ctx, owed) })
}

func (s *calledStore) RepairOrphans(ctx context.Context, cursor string) (string, []protocol.Orphan, error) {
	began := time.Now()
	next, repaired, err := s.Store.RepairOrphans(ctx, cursor)
	report(s.called, "repair_orphans", began, err)
	return next, repaired, err
}

func (s *calledStore) ZonedIn(ctx context.Context, partition protocol.Partition, cursor string) ([]protocol.ZonedEntry, string, error) {
	began := time.Now()
	entries, next, err := s.Store.ZonedIn(ctx, partition, cursor)
	report(s.called, "zoned", began, err)
	return entries, next, err
}

func (s *calledStore) Replan(ctx context.Context, replans []protocol.Replan) ([]*protocol.Owed, error) {
	return call(s, "replan", func() ([]*protocol.Owed, error) { return s.Store.Replan(ctx, replans) })
}

func (s *calledStore) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	return call(s, "find", func() ([]protocol.Stored, error) { return s.Store.Find(ctx, names) })
}

func (s *calledStore) Standings(ctx context.Context, asked []protocol.Address) ([]protocol.Standing, error) {
	return call(s, "standings", func() ([]protocol.Standing, error) { return s.Store.Standings(ctx, asked) })
}

func (s *calledStore) Names(ctx context.Context, of protocol.NameRange) ([]string, string, error) {
	began := time.Now()
	names, last, err := s.Store.Names(ctx, of)
	report(s.called, "names", began, err)
	return names, last, err
}

func (s *calledStore) Remove(ctx context.Context, removal protocol.Removal) (bool, error) {
	return call(s, "remove", func() (bool, error) { return s.Store.Remove(ctx, removal) })
}

func (s *calledStore) Prune(ctx context.Context, owner protocol.Owner, cursor string) (string, []string, error) {
	began := time.Now()
	next, pruned, err := s.Store.Prune(ctx, owner, cursor)
	report(s.called, "prune", began, err)
	return next, pruned, err
}

func (s *calledStore) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	return call(s, "lead", func() (protocol.Leadership, error) { return s.Store.Lead(ctx, candidate, ttl) })
}

func (s *calledStore) Lease(ctx context.Context) (string, error) {
	return call(s, "lease", func() (string, error) { return s.Store.Lease(ctx) })
}

func (s *calledStore) Resign(ctx context.Context, candidate string) error {
	return only(s, "resign", func() error { return s.Store.Resign(ctx, candidate) })
}

func (s *calledStore) Sample(ctx context.Context, partitions []protocol.Partition, missing int) []protocol.SampleAnswer {
	return many(s.called, "sample", func() []protocol.SampleAnswer { return s.Store.Sample(ctx, partitions, missing) }, func(a *protocol.SampleAnswer) error { return a.Err })
}

// Listen also reports heartbeats.
func (s *calledStore) Listen(name string) protocol.Listener {
	return &calledListener{Listener: s.Store.Listen(name), called: s.called}
}

type calledListener struct {
	protocol.Listener
	called func(op string, took time.Duration, err error)
}

func (l *calledListener) Extend(ctx context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	return many(l.called, "extend", func() []protocol.ExtendAnswer { return l.Listener.Extend(ctx, calls) }, func(a *protocol.ExtendAnswer) error { return a.Err })
}

func (s *calledStore) BlockOutbox(ctx context.Context, source protocol.Partition, line string, blocked time.Duration, why string) error {
	return only(s, "block_outbox", func() error { return s.Store.BlockOutbox(ctx, source, line, blocked, why) })
}

func (s *calledStore) ReadOutbox(ctx context.Context, source protocol.Partition, after string) (protocol.OutboxLines, error) {
	return call(s, "read_outbox", func() (protocol.OutboxLines, error) { return s.Store.ReadOutbox(ctx, source, after) })
}

func (s *calledStore) AddressOutbox(ctx context.Context, source protocol.Partition, line string, to []protocol.Addressed) (int, error) {
	return call(s, "address_outbox", func() (int, error) { return s.Store.AddressOutbox(ctx, source, line, to) })
}

func (s *calledStore) AdvanceOutbox(ctx context.Context, source, target protocol.Partition, mark string, asked time.Time, want int) (protocol.OutboxBatch, error) {
	return call(s, "advance_outbox", func() (protocol.OutboxBatch, error) {
		return s.Store.AdvanceOutbox(ctx, source, target, mark, asked, want)
	})
}

func (s *calledStore) Carry(ctx context.Context, source, target protocol.Partition, after string, entries []protocol.OutboxEntry) (protocol.CarryAnswer, error) {
	return call(s, "carry", func() (protocol.CarryAnswer, error) { return s.Store.Carry(ctx, source, target, after, entries) })
}
