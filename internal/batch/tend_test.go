package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A tendedStore records what is done for one batch.
type tendedStore struct {
	Store
	record protocol.BatchRecord
	fails  protocol.Partition // that does not answer
	done   []string
	jobs   []protocol.FoundJob // of the queue here, in the state waiting
}

func (s *tendedStore) note(format string, values ...any) {
	s.done = append(s.done, fmt.Sprintf(format, values...))
}

func (s *tendedStore) GetBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	return s.record, nil
}

func (s *tendedStore) CountBatch(ctx context.Context, calls []protocol.CountCall) (answers []protocol.CountAnswer) {
	for _, call := range calls {
		answer := protocol.CountAnswer{}
		if call.Partition == s.fails {
			answer.Err = errors.New("down")
		}
		for _, part := range s.record.Partition {
			if part.Partition == call.Partition {
				answer.Counts = part
			}
		}
		answers = append(answers, answer)
		what := ""
		for _, flag := range []struct {
			on   bool
			word string
		}{{call.Close, " closed"}, {call.Cancel, " cancelled"}, {call.Ended, " ended"}, {call.Forget, " forgotten"}, {call.Void != "", " void " + call.Void}} {
			if flag.on {
				what += flag.word
			}
		}
		s.note("ask %s%s", call.Partition.Queue, what)
	}
	return answers
}

func (s *tendedStore) ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	for _, report := range reports {
		if len(report.Grown) > 0 {
			s.note("clear %v", report.Grown)
		}
	}
	return make([]protocol.ReportAnswer, len(reports))
}

func (s *tendedStore) DeleteBatch(ctx context.Context, id string) error {
	s.note("delete")
	return nil
}

func (s *tendedStore) PutOffBatch(ctx context.Context, id string, at time.Time) error {
	s.note("again after %v", at.Sub(s.record.Now))
	return nil
}

func (s *tendedStore) PageJobs(ctx context.Context, call protocol.JobPageCall) (page protocol.JobPage, err error) {
	if call.Queue == here.Queue && call.State == protocol.JobWaiting {
		page.Jobs = s.jobs
	}
	return page, nil
}

func (s *tendedStore) CancelMembers(ctx context.Context, queue string, ids []string) error {
	s.note("cancel %v of %s", ids, queue)
	return nil
}

// What is done for a batch depends on its state and on what has passed since.
func TestABatchIsTended(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	member := wire.Envelope{Name: "j", Details: &wire.Details{Batch: "b"}}
	other := wire.Envelope{Name: "j", Details: &wire.Details{Batch: "c"}}
	for _, c := range []struct {
		name   string
		change func(s *tendedStore)
		want   []string
		fails  bool
	}{
		{"it runs", func(s *tendedStore) {}, []string{"ask here closed", "ask there closed", "again after 1m0s"}, false},
		{"it is open", func(s *tendedStore) { s.record.State, s.record.Sealed = protocol.BatchOpen, time.Time{} }, []string{"ask here", "ask there", "again after 1m0s"}, false},
		{"a job was to be added a moment ago", func(s *tendedStore) {
			s.record.Growing = []protocol.BatchGrowth{{Token: "t", Partition: there, Since: now.Add(-59 * time.Second)}}
		}, []string{"ask here closed", "ask there closed", "again after 1m0s"}, false},
		{"a job was to be added a minute ago", func(s *tendedStore) {
			s.record.Growing = []protocol.BatchGrowth{{Token: "t", Partition: there, Since: now.Add(-time.Minute)}}
		}, []string{"ask here closed", "ask there closed", "ask there closed void t", "clear [t]", "again after 1m0s"}, false},
		{"it was cancelled", func(s *tendedStore) {
			s.record.State = protocol.BatchCancelled
			s.jobs = []protocol.FoundJob{{ID: "m", Body: member.Encode()}, {ID: "n", Body: other.Encode()}, {ID: "o", Body: member.Encode(), Cancelled: true}}
		}, []string{"ask here closed cancelled", "ask there closed cancelled", "cancel [m] of here"}, false},
		{"it has ended", func(s *tendedStore) { s.end(now.Add(-time.Hour), 0) }, []string{"ask here ended", "ask there ended", "again after 1h0m0s"}, false},
		{"it is forgotten soon", func(s *tendedStore) { s.end(now.Add(-23*time.Hour-50*time.Minute), 0) }, []string{"ask here ended", "ask there ended", "again after 10m0s"}, false},
		{"it ended a day ago", func(s *tendedStore) { s.end(now.Add(-24*time.Hour), 0) }, []string{"ask here ended forgotten", "ask there ended forgotten", "delete"}, false},
		{"a partition does not forget it", func(s *tendedStore) { s.end(now.Add(-24*time.Hour), 0); s.fails = there }, []string{"ask here ended forgotten", "ask there ended forgotten"}, true},
		{"members died", func(s *tendedStore) { s.end(now.Add(-24*time.Hour), 1) }, []string{"ask here ended", "ask there ended", "again after 1h0m0s"}, false},
		{"members died long ago", func(s *tendedStore) { s.end(now.Add(-7*24*time.Hour), 1) }, []string{"ask here ended forgotten", "ask there ended forgotten", "delete"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &tendedStore{record: protocol.BatchRecord{
				BatchDefinition: protocol.BatchDefinition{ID: "b", Spec: []byte{0x80}, Keep: 24 * time.Hour, KeepDead: 7 * 24 * time.Hour},
				State:           protocol.BatchRunning, Sealed: now.Add(-time.Hour), Now: now,
				Partition: []protocol.PartitionCounts{{Partition: here, Version: 1, Counts: protocol.BatchCounts{Added: 1}}, {Partition: there, Version: 1}},
			}}
			c.change(s)
			err := NewReporter(s, func(protocol.Partition) {}, slog.New(slog.DiscardHandler)).tendOne(t.Context(), &s.record)
			if !slices.Equal(s.done, c.want) || (err != nil) != c.fails {
				t.Errorf("done %q, %v, want %q", s.done, err, c.want)
			}
		})
	}
}

// end sets that all members have ended, some of them dead.
func (s *tendedStore) end(at time.Time, dead int64) {
	s.record.State, s.record.Ended, s.record.Done = protocol.BatchEnded, at, at
	s.record.Partition[0].Counts = protocol.BatchCounts{Added: 1, Done: 1 - dead, Dead: dead}
}
