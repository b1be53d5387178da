package batchmodel

import (
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The calls of a partition.

// FillBatch is System's.
func (m *Model) FillBatch(_ context.Context, calls []protocol.FillCall) (answers []protocol.FillAnswer) {
	for _, call := range calls {
		answers = append(answers, m.fill(call))
	}
	return answers
}

func (m *Model) fill(call protocol.FillCall) (a protocol.FillAnswer) {
	part, c := m.at(call.Partition), m.countsOf(call.Partition, call.Batch)
	switch {
	case call.Token != "" && part.tokens[call.Token] && m.keeps(GrowthOnce):
		a.Closed = true
	case call.Token != "":
		if a.Closed = c.Cancelled; !a.Closed {
			part.tokens[call.Token] = true
			for _, item := range call.Items {
				a.Existing = append(a.Existing, m.add(call.Partition, call.Batch, item.ID))
			}
		}
	default:
		a.Existing = make([]bool, len(call.Items))
		for i, item := range call.Items {
			if call.Positions[i] <= c.Position && m.keeps(PositionOnce) {
				a.Passed++
				continue
			}
			if c.Closed && m.keeps(ClosedRefuses) || c.Cancelled && m.keeps(MarkRefuses) {
				a.Closed = true
				break
			}
			c.Position = max(c.Position, call.Positions[i])
			a.Existing[i] = m.add(call.Partition, call.Batch, item.ID)
		}
	}
	a.Counts = c.report()
	return a
}

// CountBatch is System's.
func (m *Model) CountBatch(_ context.Context, calls []protocol.CountCall) (answers []protocol.CountAnswer) {
	for _, call := range calls {
		part, c := m.at(call.Partition), m.countsOf(call.Partition, call.Batch)
		if call.Void != "" && m.keeps(VoidUsesUp) {
			part.tokens[call.Void] = true
		}
		if call.Close && !c.Closed || call.Cancel && !c.Cancelled {
			c.Closed, c.Cancelled = true, c.Cancelled || call.Cancel
			m.draw(c)
		}
		if c.Version < call.Above && m.keeps(Raises) {
			c.Version = call.Above
			m.draw(c)
		}
		answers = append(answers, protocol.CountAnswer{Counts: c.report()})
		if call.Forget {
			delete(part.counts, call.Batch)
		}
	}
	return answers
}

// DueReports is System's.
func (m *Model) DueReports(_ context.Context, p Place) (due []protocol.PartitionCounts, more bool, err error) {
	for _, c := range m.at(p).counts {
		if c.Version > c.reported || c.again <= m.clock && m.keeps(ReportsAgain) {
			due = append(due, c.report())
		}
	}
	slices.SortFunc(due, func(a, b protocol.PartitionCounts) int { return int(a.Version - b.Version) })
	return due, false, nil
}

// AckReports is System's.
func (m *Model) AckReports(_ context.Context, p Place, acks []protocol.ReportAck) error {
	for _, ack := range acks {
		if c := m.at(p).counts[ack.Batch]; c != nil {
			c.reported = max(c.reported, ack.Version)
			c.again = m.clock + time.Minute.Microseconds()
			if day := (24 * time.Hour).Microseconds(); c.Counts.Left() == 0 && m.clock-c.Version >= time.Minute.Microseconds() {
				c.again = c.Version + day*((m.clock-c.Version)/day+1)
			}
		}
	}
	return nil
}

// The calls of a home.

func (m *Model) record(id string) (*protocol.BatchRecord, error) {
	r := m.home(id).records[id]
	if r == nil {
		return nil, notFound(id)
	}
	r.Now = m.now()
	return r, nil
}

func (m *Model) now() time.Time { return time.UnixMicro(m.clock + 1) }

// OpenBatch is System's.
func (m *Model) OpenBatch(_ context.Context, def protocol.BatchDefinition) (record protocol.BatchRecord, existed bool, err error) {
	if r, err := m.record(def.ID); err == nil {
		if string(r.Spec) != string(def.Spec) {
			return clone(r), true, conflict(def.ID, "it has another definition")
		}
		return clone(r), true, nil
	}
	r := &protocol.BatchRecord{BatchDefinition: def, State: protocol.BatchOpen, Created: m.now(), Revision: 1}
	m.home(def.ID).records[def.ID] = r
	return clone(r), false, nil
}

func (m *Model) part(r *protocol.BatchRecord, p Place) *protocol.PartitionCounts {
	at := slices.IndexFunc(r.Partition, func(c protocol.PartitionCounts) bool { return c.Partition == p })
	if at < 0 {
		r.Partition = append(r.Partition, protocol.PartitionCounts{Partition: p, Batch: r.ID})
		r.Revision++
		at = len(r.Partition) - 1
	}
	return &r.Partition[at]
}

// NoteFill is System's.
func (m *Model) NoteFill(_ context.Context, id string, note protocol.FillNote) (protocol.BatchRecord, error) {
	r, err := m.record(id)
	switch {
	case err != nil:
		return protocol.BatchRecord{}, err
	case r.State != protocol.BatchOpen || r.Sealing:
		return clone(r), conflict(id, "it is "+string(r.State))
	case note.Before == r.Position && note.BeforeHash == r.Hash:
		r.Position, r.Hash = note.Position, note.Hash
		r.Revision++
	case note.Position > r.Position || note.Position == r.Position && note.Hash != r.Hash:
		return clone(r), conflict(id, "other items")
	}
	if m.keeps(NotedFirst) {
		for _, p := range note.Partitions {
			m.part(r, p)
		}
	}
	return clone(r), nil
}

// SealBatch is System's.
func (m *Model) SealBatch(_ context.Context, id string, total int64, hash string, asIs bool, counts []protocol.PartitionCounts) (protocol.BatchRecord, bool, error) {
	r, err := m.record(id)
	switch {
	case err != nil:
		return protocol.BatchRecord{}, false, err
	case !asIs && (r.Position != total || r.Hash != hash):
		return clone(r), false, conflict(id, "other items")
	case r.State == protocol.BatchCancelled:
		return clone(r), false, conflict(id, "it is cancelled")
	case r.State != protocol.BatchOpen:
		return clone(r), true, nil
	}
	if !r.Sealing {
		r.Sealing = true
		r.Revision++
	}
	for _, c := range counts {
		m.store(r, c)
	}
	closed := !slices.ContainsFunc(r.Partition, func(p protocol.PartitionCounts) bool { return !p.Closed })
	if closed || !m.keeps(ClosedRefuses) {
		r.State, r.Sealed, r.Sealing = protocol.BatchRunning, m.now(), false
		r.Revision++
	}
	return clone(r), r.State == protocol.BatchRunning, nil
}

// store stores a report, and says whether home has its counts or later ones.
func (m *Model) store(r *protocol.BatchRecord, c protocol.PartitionCounts) bool {
	p := m.part(r, c.Partition)
	if c.Version > p.Version || !m.keeps(LowerRefused) {
		*p = c
		r.Revision++
	}
	if m.keeps(TargetsNamed) {
		for _, to := range c.To {
			m.part(r, to)
		}
	}
	return c.Version >= p.Version
}

// ReportBatches is System's.
func (m *Model) ReportBatches(_ context.Context, reports []protocol.BatchReport) (answers []protocol.ReportAnswer) {
	for _, report := range reports {
		r, err := m.record(report.Counts.Batch)
		if err != nil {
			answers = append(answers, protocol.ReportAnswer{Unknown: true})
			continue
		}
		has := !m.keeps(ClearedByReport) && len(report.Grown) > 0 || m.store(r, report.Counts)
		for _, token := range report.Grown {
			if at := slices.IndexFunc(r.Growing, func(g protocol.BatchGrowth) bool { return g.Token == token }); at >= 0 && (has || !m.keeps(LowerClearsNothing)) {
				r.Growing = slices.Delete(r.Growing, at, at+1)
				r.Revision++
			}
		}
		answers = append(answers, protocol.ReportAnswer{Ends: m.over(r)})
	}
	return answers
}

// GrowBatch is System's.
func (m *Model) GrowBatch(_ context.Context, id, token string, p Place) (protocol.BatchRecord, error) {
	r, err := m.record(id)
	if err != nil {
		return protocol.BatchRecord{}, err
	}
	if m.keeps(EndedRefuses) && !r.Ended.IsZero() || r.State == protocol.BatchCancelled {
		return clone(r), conflict(id, "it has ended")
	}
	if !slices.ContainsFunc(r.Growing, func(g protocol.BatchGrowth) bool { return g.Token == token }) {
		r.Growing = append(r.Growing, protocol.BatchGrowth{Token: token, Partition: p, Since: m.now()})
		r.Revision++
	}
	m.part(r, p)
	return clone(r), nil
}

func (m *Model) over(r *protocol.BatchRecord) bool {
	return (r.State == protocol.BatchCancelled || !r.Sealed.IsZero()) && (len(r.Growing) == 0 || !m.keeps(PendingHolds)) && r.Totals().Left() <= 0
}

// EndBatch is System's.
func (m *Model) EndBatch(_ context.Context, id string, end protocol.BatchEnding) (protocol.BatchRecord, bool, error) {
	r, err := m.record(id)
	if err != nil {
		return protocol.BatchRecord{}, false, err
	}
	ended := func() bool { return !r.Ended.IsZero() }
	if !m.over(r) || r.Revision != end.Revision && m.keeps(EndCompares) {
		return clone(r), ended(), nil
	}
	for i := range r.Partition {
		p := &r.Partition[i]
		at := slices.IndexFunc(end.Counts, func(c protocol.PartitionCounts) bool { return c.Partition == p.Partition })
		if m.keeps(SecondLook) && (at < 0 || end.Counts[at].Version != p.Version || end.Counts[at].Counts.Left() > 0) {
			return clone(r), ended(), nil
		}
		if !p.Closed && m.keeps(LookCloses) {
			return clone(r), ended(), nil
		}
	}
	sum := r.Totals()
	bad := r.State == protocol.BatchCancelled || m.keeps(DeadHolds) && sum.Dead > 0 || sum.Cancelled > 0 && !r.DoneWithoutCancelled
	if !ended() || !m.keeps(EndsOnce) {
		r.Ended = m.now()
		m.follow(r, "#ended", end.Ended)
		if r.State != protocol.BatchCancelled {
			r.State = protocol.BatchEnded
		}
		r.Revision++
	}
	if !bad && r.Done.IsZero() {
		r.Done, r.State = m.now(), protocol.BatchDone
		m.follow(r, "#done", end.Done)
		r.Revision++
	}
	return clone(r), true, nil
}

func (m *Model) follow(r *protocol.BatchRecord, ending string, f *protocol.Follower) {
	if f == nil {
		return
	}
	id := r.ID + ending
	m.home(r.ID).outbox[id] = &entry{id: id, to: Place{Queue: f.Queue, Index: protocol.PartitionOf(id, 2)}, number: m.clock}
}

// CancelBatch is System's.
func (m *Model) CancelBatch(_ context.Context, id string) (protocol.BatchRecord, error) {
	r, err := m.record(id)
	switch {
	case err != nil:
		return protocol.BatchRecord{}, err
	case !r.Ended.IsZero():
		return clone(r), conflict(id, "it has ended")
	case r.State != protocol.BatchCancelled:
		r.State = protocol.BatchCancelled
		r.Revision++
	}
	return clone(r), nil
}

// DeleteBatch is System's.
func (m *Model) DeleteBatch(_ context.Context, id string) error {
	r, err := m.record(id)
	if err != nil {
		return err
	}
	if r.Ended.IsZero() {
		return conflict(id, "it has not ended")
	}
	delete(m.home(id).records, id)
	return nil
}

// GetBatch is System's.
func (m *Model) GetBatch(_ context.Context, id string) (protocol.BatchRecord, error) {
	r, err := m.record(id)
	if err != nil {
		return protocol.BatchRecord{}, err
	}
	return clone(r), nil
}
