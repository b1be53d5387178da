package hookstore

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Seal calls Fault with "seal".
func (s *Store) Seal(ctx context.Context, calls []protocol.SealCall) []protocol.SealAnswer {
	return batch(s, "seal", calls,
		func(c *protocol.SealCall) protocol.Partition { return c.Partition },
		func(err error) protocol.SealAnswer { return protocol.SealAnswer{Err: err} },
		func(sent []protocol.SealCall) []protocol.SealAnswer { return s.Store.Seal(ctx, sent) })
}

// Replace calls Fault with "replace".
func (s *Store) Replace(ctx context.Context, call protocol.ReplaceCall) (protocol.Replaced, error) {
	return one(s, "replace", func() (protocol.Replaced, error) { return s.Store.Replace(ctx, call) }, call.Partition)
}

// Poll calls Fault with "poll".
func (s *Store) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	return batch(s, "poll", calls,
		func(c *protocol.PollCall) protocol.Partition { return c.Partition },
		func(err error) protocol.PollAnswer { return protocol.PollAnswer{Err: err} },
		func(sent []protocol.PollCall) []protocol.PollAnswer { return s.Store.Poll(ctx, sent) })
}

// Leave calls Fault with "leave". If some calls fail, the others are still executed.
func (s *Store) Leave(ctx context.Context, calls []protocol.LeaveCall) error {
	return errors.Join(batch(s, "leave", calls,
		func(c *protocol.LeaveCall) protocol.Partition { return c.Partition },
		func(err error) error { return err },
		func(sent []protocol.LeaveCall) []error {
			answers := make([]error, len(sent))
			answers[0] = s.Store.Leave(ctx, sent)
			return answers
		})...)
}

// Report calls Fault with "report".
func (s *Store) Report(ctx context.Context, reports []protocol.ProgressReport) error {
	return errors.Join(batch(s, "report", reports,
		func(r *protocol.ProgressReport) protocol.Partition { return r.Partition },
		func(err error) error { return err },
		func(sent []protocol.ProgressReport) []error {
			answers := make([]error, len(sent))
			answers[0] = s.Store.Report(ctx, sent)
			return answers
		})...)
}

// CloseSession calls Fault with "close". It fails the test if a call of the session is running.
func (s *Store) CloseSession(ctx context.Context, p protocol.Partition, name string, measured *protocol.Measured) error {
	s.closing(name)
	return only(s, "close", func() error { return s.Store.CloseSession(ctx, p, name, measured) }, p)
}

// Lapsed calls Fault with "lapsed".
func (s *Store) Lapsed(ctx context.Context, p protocol.Partition) ([]protocol.LapsedSession, error) {
	return one(s, "lapsed", func() ([]protocol.LapsedSession, error) { return s.Store.Lapsed(ctx, p) }, p)
}

// Reap calls Fault with "reap".
func (s *Store) Reap(ctx context.Context, calls []protocol.ReapCall) []protocol.ReapAnswer {
	return batch(s, "reap", calls,
		func(c *protocol.ReapCall) protocol.Partition { return c.Partition },
		func(err error) protocol.ReapAnswer { return protocol.ReapAnswer{Err: err} },
		func(sent []protocol.ReapCall) []protocol.ReapAnswer { return s.Store.Reap(ctx, sent) })
}

// Sweep calls Fault with "sweep".
func (s *Store) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) []protocol.SweepAnswer {
	return batch(s, "sweep", partitions, itself,
		func(err error) protocol.SweepAnswer { return protocol.SweepAnswer{Err: err} },
		func(sent []protocol.Partition) []protocol.SweepAnswer { return s.Store.Sweep(ctx, sent, unless) })
}

// Bury calls Fault with "bury".
func (s *Store) Bury(ctx context.Context, p protocol.Partition, burials []protocol.Burial) (int, error) {
	return one(s, "bury", func() (int, error) { return s.Store.Bury(ctx, p, burials) }, p)
}

// Announce calls Fault with "announce".
func (s *Store) Announce(ctx context.Context, worker string, handled []protocol.Handled) error {
	return only(s, "announce", func() error { return s.Store.Announce(ctx, worker, handled) })
}

// Unhandled calls Fault with "unhandled".
func (s *Store) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	return one(s, "unhandled", func() ([]protocol.Handled, error) { return s.Store.Unhandled(ctx, asked) })
}

// AnnounceWorker calls Fault with "announce worker".
func (s *Store) AnnounceWorker(ctx context.Context, worker protocol.WorkerEntry) error {
	return only(s, "announce worker", func() error { return s.Store.AnnounceWorker(ctx, worker) })
}

// Beat calls Fault with "beat".
func (s *Store) Beat(ctx context.Context, name string, at time.Time) (now time.Time, lost bool, err error) {
	err = only(s, "beat", func() error {
		now, lost, err = s.Store.Beat(ctx, name, at)
		return err
	})
	return now, lost, err
}

// RetireWorker calls Fault with "retire worker".
func (s *Store) RetireWorker(ctx context.Context, name string) error {
	return only(s, "retire worker", func() error { return s.Store.RetireWorker(ctx, name) })
}

// CancelJob calls Fault with "cancel job".
func (s *Store) CancelJob(ctx context.Context, queue, id string, result *protocol.Result) (protocol.CancelResult, error) {
	return one(s, "cancel job", func() (protocol.CancelResult, error) { return s.Store.CancelJob(ctx, queue, id, result) }, protocol.Partition{Queue: queue})
}

// DeleteJobs calls Fault with "delete jobs".
func (s *Store) DeleteJobs(ctx context.Context, queue string, ids []string) ([]protocol.Changed, error) {
	return one(s, "delete jobs", func() ([]protocol.Changed, error) { return s.Store.DeleteJobs(ctx, queue, ids) }, protocol.Partition{Queue: queue})
}

// RequeueJobs calls Fault with "requeue jobs".
func (s *Store) RequeueJobs(ctx context.Context, queue string, jobs []protocol.RequeuedJob) ([]protocol.Changed, error) {
	return one(s, "requeue jobs", func() ([]protocol.Changed, error) { return s.Store.RequeueJobs(ctx, queue, jobs) }, protocol.Partition{Queue: queue})
}

// FindJobs calls Fault with "find jobs".
func (s *Store) FindJobs(ctx context.Context, queue string, ids []string) ([]protocol.FoundJob, error) {
	return one(s, "find jobs", func() ([]protocol.FoundJob, error) { return s.Store.FindJobs(ctx, queue, ids) }, protocol.Partition{Queue: queue})
}
