package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	countBatchScript  = scripts.Load("batches/count_batch")
	readReportsScript = scripts.Load("batches/read_reports")
	ackReportsScript  = scripts.Load("batches/ack_reports")
)

// CountBatch returns the counts of batches in partitions, and changes what the partitions take of them.
func (s *store) CountBatch(ctx context.Context, calls []protocol.CountCall) []protocol.CountAnswer {
	answers := make([]protocol.CountAnswer, len(calls))
	if s.bad != nil || len(calls) == 0 {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	sent := make([]call, len(calls))
	for i := range calls {
		c := &calls[i]
		k := s.keys.partition(c.Partition)
		letters := letterIf(c.Close || c.Cancel, "c") + letterIf(c.Cancel, "x") + letterIf(c.Ended, "e") + letterIf(c.Forget, "f")
		sent[i] = newCall(&countBatchScript, []string{k.state, k.batches, k.reports, k.callers}, []any{c.Batch, c.Above, letters, c.Void})
	}
	for i, cmd := range s.run(ctx, s.client, sent...) {
		values, err := list("count a batch on", calls[i].Partition.Queue, cmd)
		answers[i] = protocol.CountAnswer{Err: err, Now: values.now(), Counts: countsOf(calls[i].Partition, calls[i].Batch, values.text(1))}
	}
	return answers
}

// DueReports returns the counts of a partition that are to be reported.
func (s *store) DueReports(ctx context.Context, p protocol.Partition) (due []protocol.PartitionCounts, more bool, err error) {
	k := s.keys.partition(p)
	values, err := s.runOne(ctx, "read the reports of", p.Queue, newCall(&readReportsScript, []string{k.batches, k.reports, k.state}, []any{protocol.MaxReports}))
	if err != nil {
		return nil, false, err
	}
	for i := 2; i+1 < len(values); i += 2 {
		due = append(due, countsOf(p, values.text(i), values.text(i+1)))
	}
	return due, values.number(1) == 1, nil
}

// keepUnknown is how long a partition keeps the counts of a batch that its home does not know, from their last change on: as long as those of a batch that has
// ended, by default. A repeated EnqueueBatch may create a lost batch again, and the counts show which of its items were added.
const keepUnknown = 24 * time.Hour

// AckReports notes in a partition what the homes have answered to these counts.
func (s *store) AckReports(ctx context.Context, p protocol.Partition, acks []protocol.ReportAck) error {
	if len(acks) == 0 {
		return s.bad
	}
	k := s.keys.partition(p)
	_, err := s.runOne(ctx, "note the reports of", p.Queue, newCall(&ackReportsScript, []string{k.state, k.batches, k.reports}, ackArgs(acks)))
	return err
}

// ackArgs are the values of ack_reports.lua.
func ackArgs(acks []protocol.ReportAck) []any {
	args := []any{keepUnknown.Milliseconds()}
	for _, ack := range acks {
		args = append(args, ack.Batch, ack.Version, flag(ack.Unknown))
	}
	return args
}

// FillBatch adds members of batches. It uses enqueue.lua.
func (s *store) FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	answers := make([]protocol.FillAnswer, len(calls))
	if s.bad != nil || len(calls) == 0 {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	sent, enqueues := make([]call, len(calls)), make([]protocol.EnqueueCall, len(calls))
	for i := range calls {
		enqueues[i] = protocol.EnqueueCall{Partition: calls[i].Partition, Items: calls[i].Items}
		if calls[i].Token != "" {
			enqueues[i].Caller, enqueues[i].Number = calls[i].Token, 1
		}
		sent[i] = s.fillCall(&calls[i], &enqueues[i])
	}
	for i, cmd := range s.runBriefly(ctx, sent...) {
		c, answer := &calls[i], &answers[i]
		values, err := list("enqueue on", c.Partition.Queue, cmd)
		if isTokenVoid(err) {
			answer.Closed = true // the token was voided
			continue
		}
		if err != nil {
			answer.Err = err
			continue
		}
		var isNew bool
		var enqueued protocol.EnqueueAnswer
		enqueued, isNew = enqueueAnswerOf(&enqueues[i], slices.Delete(slices.Clone(values), 2, 3))
		text := strings.SplitN(values.text(2), " ", 3)
		answer.Now, answer.Existing, answer.Full = enqueued.Now, enqueued.Existing, enqueued.Full
		answer.Passed, _ = strconv.Atoi(text[0])
		if len(text) == 3 {
			answer.Closed, answer.Counts = text[1] == "1", countsOf(c.Partition, c.Batch, text[2])
		}
		if isNew {
			answer.Err = s.queues.relist(ctx, c.Partition.Queue)
		}
	}
	return answers
}

// isTokenVoid reports whether a call was refused because a later one of its caller was made: the token of a job that grows a batch is its caller.
func isTokenVoid(err error) bool { return err != nil && strings.Contains(err.Error(), "CHIMENUMBER") }

// fillCall is the call of enqueue.lua for members of a batch.
func (s *store) fillCall(c *protocol.FillCall, e *protocol.EnqueueCall) call {
	return s.enqueueWith(e, &fillArgs{batch: c.Batch, positions: c.Positions})
}

// fillArgs is what enqueue.lua needs in addition if the jobs are members of a batch.
type fillArgs struct {
	batch     string
	positions []int64
}

// text formats it, with how many jobs are ordinary.
func (f *fillArgs) text(ordinary int) string {
	b := strconv.AppendInt(nil, int64(ordinary), 10)
	b = append(append(append(b, '\t'), f.batch...), '\t')
	for i := 0; i < len(f.positions); {
		last := i + 1
		for last < len(f.positions) && f.positions[last] == f.positions[last-1]+1 {
			last++
		}
		b = append(strconv.AppendInt(b, f.positions[i], 10), '-')
		b = append(strconv.AppendInt(b, f.positions[last-1], 10), ' ')
		i = last
	}
	return string(b)
}

// countsOf reads the counts of a batch in a partition: the text of scripts/lib/members.lua.
func countsOf(p protocol.Partition, batch, text string) protocol.PartitionCounts {
	counts := protocol.PartitionCounts{Partition: p, Batch: batch}
	var flags, to string
	var told int64
	c := &counts.Counts
	_, _ = fmt.Sscan(text, &counts.Version, &c.Added, &c.Done, &c.Dead, &c.Cancelled, &c.Away, &c.Existing, &counts.Position, &flags, &told, &to)
	counts.Closed, counts.Cancelled, counts.To = flags != "-" && flags != "", strings.Contains(flags, "x"), targetsOf(to)
	return counts
}

// targetsOf reads the partitions to which members were carried.
func targetsOf(text string) (targets []protocol.Partition) {
	for path := range strings.SplitSeq(text, ",") {
		if p, addressed, ok := protocol.ParseLine(path); addressed && ok {
			targets = append(targets, p)
		}
	}
	return targets
}

// reportText is the report of a partition, as scripts/lib/batch.lua has it.
func reportText(p *protocol.PartitionCounts) string {
	c := &p.Counts
	to := ""
	for _, target := range p.To {
		to += "," + target.Path()
	}
	return fmt.Sprintf("%d %d %d %d %d %d %d %s %s", p.Version, c.Added, c.Done, c.Dead, c.Cancelled, c.Away, c.Existing, flag(p.Closed), cmp.Or(to, "-"))
}

// recordOf reads the fields of a record.
func recordOf(id string, fields map[string]string) protocol.BatchRecord {
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return n
	}
	instant := func(field string) time.Time {
		if fields[field] == "" {
			return time.Time{}
		}
		return time.UnixMilli(number(field)).UTC()
	}
	flags := fields["flags"]
	r := protocol.BatchRecord{
		BatchDefinition: protocol.BatchDefinition{
			ID: id, Spec: []byte(fields["spec"]), Keep: time.Duration(number("keep")) * time.Millisecond, KeepDead: time.Duration(number("keepdead")) * time.Millisecond,
			HasDone: strings.Contains(flags, "d"), HasEnded: strings.Contains(flags, "e"), DoneWithoutCancelled: strings.Contains(flags, "w"),
		},
		State: protocol.BatchState(fields["state"]), Sealing: fields["sealing"] != "", Revision: number("rev"),
		Created: instant("made"), Sealed: instant("sealed"), Ended: instant("ended"), Done: instant("done"), Position: number("position"), Hash: fields["hash"],
	}
	for field, text := range fields {
		if path, ok := strings.CutPrefix(field, "p:"); ok {
			p, _, _ := protocol.ParseLine(path)
			counts := protocol.PartitionCounts{Partition: p, Batch: id}
			c, closed, to := &counts.Counts, 0, ""
			_, _ = fmt.Sscan(text, &counts.Version, &c.Added, &c.Done, &c.Dead, &c.Cancelled, &c.Away, &c.Existing, &closed, &to)
			counts.Closed, counts.To = closed == 1, targetsOf(to)
			r.Partition = append(r.Partition, counts)
		}
		if token, ok := strings.CutPrefix(field, "g:"); ok {
			at, path, _ := strings.Cut(text, " ")
			ms, _ := strconv.ParseInt(at, 10, 64)
			p, _, _ := protocol.ParseLine(path)
			r.Growing = append(r.Growing, protocol.BatchGrowth{Token: token, Partition: p, Since: time.UnixMilli(ms).UTC()})
		}
	}
	slices.SortFunc(r.Partition, func(a, b protocol.PartitionCounts) int {
		return cmp.Or(cmp.Compare(a.Partition.Queue, b.Partition.Queue), cmp.Compare(a.Partition.Index, b.Partition.Index))
	})
	slices.SortFunc(r.Growing, func(a, b protocol.BatchGrowth) int { return cmp.Compare(a.Token, b.Token) })
	return r
}
