package batchmodel

import (
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
)

// report brings counts home.
func report(w *Walk, r protocol.BatchReport) protocol.ReportAnswer {
	if r.Counts.Batch == "" {
		w.fail("a report of no batch: %+v", r)
	}
	send := func() protocol.ReportAnswer { return w.ReportBatches(ctx, []protocol.BatchReport{r})[0] }
	a := send()
	if a.Err != nil {
		w.fail("report %+v: %w", r, a.Err)
	}
	w.made(nil, "report of %s from %s, version %d, %+v, grown %v: ends %v, unknown %v", r.Counts.Batch, r.Counts.Partition.Path(), r.Counts.Version, r.Counts.Counts, r.Grown, a.Ends, a.Unknown)
	w.again(lateCall{name: "report of " + r.Counts.Batch, call: func() { send() }})
	return a
}

// A reporter brings what is due in a partition to the homes, and notes that they have it.
type reporter struct {
	place Place
	due   []protocol.PartitionCounts
	acks  []protocol.ReportAck
	stage int
}

func (r *reporter) name() string { return "the reporter of " + r.place.Path() }

func (r *reporter) step(w *Walk) bool {
	switch {
	case r.stage == 0:
		due, _, err := w.DueReports(ctx, r.place)
		if err != nil {
			w.fail("due reports: %w", err)
		}
		w.read("%s: %d are due", r.name(), len(due))
		r.due, r.stage = due, 1
		return len(due) > 0
	case len(r.due) > 0:
		counts := r.due[0]
		a := report(w, protocol.BatchReport{Counts: counts})
		if r.due = r.due[1:]; !a.Unknown {
			r.acks = append(r.acks, protocol.ReportAck{Batch: counts.Batch, Version: counts.Version})
		}
		return true
	}
	acks := r.acks
	send := func() {
		if err := w.AckReports(ctx, r.place, acks); err != nil {
			w.fail("ack reports: %w", err)
		}
	}
	send()
	w.made(nil, "%s notes %+v", r.name(), acks)
	w.again(lateCall{name: r.name(), call: send})
	return false
}

// A looker asks each partition of a batch whose members have ended once more, and ends it. A careless one tries that also if it has seen that something has
// changed: the store must refuse it.
type looker struct {
	*plan
	careless bool
	record   protocol.BatchRecord
	counts   []protocol.PartitionCounts
	stage    int
}

func (l *looker) name() string {
	if l.plan == nil {
		return ""
	}
	return "the look at " + l.def.ID
}

func (w *Walk) beginLook() { w.begin(&looker{plan: w.anyPlan(), careless: w.random.IntN(2) == 0}) }

func (l *looker) step(w *Walk) bool {
	id := l.def.ID
	if l.stage == 0 {
		record, err := w.GetBatch(ctx, id)
		w.read("%s: %s, revision %d, %+v, growing %d, %v", l.name(), record.State, record.Revision, record.Totals(), len(record.Growing), err)
		l.record, l.stage = record, 1
		return err == nil && over(&record) && (l.careless || len(record.Growing) == 0)
	}
	if len(l.counts) < len(l.record.Partition) {
		part := l.record.Partition[len(l.counts)]
		call := protocol.CountCall{Partition: part.Partition, Batch: id, Above: part.Version, Close: true, Cancel: l.record.State == protocol.BatchCancelled}
		a := w.CountBatch(ctx, []protocol.CountCall{call})[0]
		if a.Err != nil {
			w.fail("count %s: %w", id, a.Err)
		}
		w.made(nil, "%s in %s: version %d, was %d, %+v", l.name(), part.Partition.Path(), a.Counts.Version, part.Version, a.Counts.Counts)
		if a.Counts.Version != part.Version {
			report(w, protocol.BatchReport{Counts: a.Counts})
			if !l.careless {
				return false
			}
		}
		l.counts = append(l.counts, a.Counts)
		return true
	}
	end := protocol.BatchEnding{Revision: l.record.Revision, Counts: l.counts, Done: &protocol.Follower{Queue: callbackQueue, Body: []byte("done")}, Ended: &protocol.Follower{Queue: callbackQueue, Body: []byte("ended")}}
	send := func() (protocol.BatchRecord, bool, error) { return w.EndBatch(ctx, id, end) }
	record, done, err := send()
	w.made(nil, "%s ends it with revision %d: %v, %s, %v", l.name(), end.Revision, done, record.State, err)
	if err != nil && !errors.Is(err, protocol.ErrNotFound) {
		w.fail("end %s: %w", id, err)
	}
	w.again(lateCall{name: l.name(), end: true, call: func() { _, _, _ = send() }})
	return false
}

// over reports whether the reports show that nothing is left.
func over(r *protocol.BatchRecord) bool {
	return (!r.Sealed.IsZero() || r.State == protocol.BatchCancelled) && r.Totals().Left() <= 0
}
