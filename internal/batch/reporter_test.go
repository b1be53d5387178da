package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A fakeStore has one batch with members in two partitions. It keeps to the protocol of a single reporter.
type fakeStore struct {
	Store
	mu     sync.Mutex
	counts map[protocol.Partition]protocol.PartitionCounts // in the partitions
	record protocol.BatchRecord
	acked  map[protocol.Partition]int64
	fails  error // of ReportBatches
	ended  int
	looks  int
}

func (s *fakeStore) DueReports(ctx context.Context, p protocol.Partition) (due []protocol.PartitionCounts, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.counts[p]; ok && s.acked[p] != c.Version {
		due = append(due, c)
	}
	return due, false, nil
}

func (s *fakeStore) AckReports(ctx context.Context, p protocol.Partition, acks []protocol.ReportAck) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ack := range acks {
		s.acked[p] = ack.Version
	}
	return nil
}

func (s *fakeStore) ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := make([]protocol.ReportAnswer, len(reports))
	for i, report := range reports {
		answers[i].Err = s.fails
		for k := range s.record.Partition {
			if part := &s.record.Partition[k]; s.fails == nil && part.Partition == report.Counts.Partition {
				*part = report.Counts
			}
		}
		answers[i].Ends = s.fails == nil && s.record.HasEnded() && s.record.Owes()
	}
	return answers
}

func (s *fakeStore) GetBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := s.record
	record.Partition = append([]protocol.PartitionCounts(nil), record.Partition...)
	return record, nil
}

func (s *fakeStore) CountBatch(ctx context.Context, calls []protocol.CountCall) (answers []protocol.CountAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	for _, call := range calls {
		answers = append(answers, protocol.CountAnswer{Counts: s.counts[call.Partition]})
	}
	return answers
}

func (s *fakeStore) EndBatch(ctx context.Context, id string, end protocol.BatchEnding) (protocol.BatchRecord, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, counts := range end.Counts {
		if s.record.Partition[i].Version != counts.Version {
			s.record.Partition[i] = counts
			return s.record, false, nil
		}
	}
	s.ended++
	s.record.Ended, s.record.Done, s.record.State = time.Now(), time.Now(), protocol.BatchDone
	return s.record, true, nil
}

func (s *fakeStore) TendBatches(ctx context.Context, home int) ([]protocol.BatchRecord, bool, error) {
	return nil, home == 3, nil
}

// set sets the counts of a partition.
func (s *fakeStore) set(p protocol.Partition, version, added, done int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[p] = protocol.PartitionCounts{Partition: p, Batch: "b", Version: version, Counts: protocol.BatchCounts{Added: added, Done: done}, Closed: true}
}

func (s *fakeStore) ackedOf(p protocol.Partition) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked[p]
}

var here, there = protocol.Partition{Queue: "here"}, protocol.Partition{Queue: "there"}

// reporting runs a reporter in a bubble of fake time while do runs.
func reporting(t *testing.T, do func(t *testing.T, s *fakeStore, r *Reporter, carried func() string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{counts: map[protocol.Partition]protocol.PartitionCounts{}, acked: map[protocol.Partition]int64{}}
		s.record = protocol.BatchRecord{
			BatchDefinition: protocol.BatchDefinition{ID: "b", Spec: []byte{0x80}}, State: protocol.BatchRunning, Sealed: time.Now(),
			Partition: []protocol.PartitionCounts{{Partition: here, Batch: "b"}, {Partition: there, Batch: "b"}},
		}
		s.set(here, 1, 2, 0)
		s.set(there, 1, 1, 0)
		for _, p := range []protocol.Partition{here, there} {
			s.ReportBatches(t.Context(), []protocol.BatchReport{{Counts: s.counts[p]}})
			s.acked[p] = 1
		}
		var mu sync.Mutex
		carried := map[int]int{}
		r := NewReporter(s, func(p protocol.Partition) {
			mu.Lock()
			defer mu.Unlock()
			carried[p.Index]++
		}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { r.Run(ctx) })
		do(t, s, r, func() string {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(carried)
		})
		stop()
		run.Wait()
	})
}

// A batch ends when the last partition has reported, and its home is passed on to the carrier.
func TestAReporterEndsABatch(t *testing.T) {
	reporting(t, func(t *testing.T, s *fakeStore, r *Reporter, carried func() string) {
		s.set(here, 2, 2, 2)
		r.Note(here, true, true)
		r.Finish(t.Context())
		if s.ended != 0 || s.ackedOf(here) != 2 {
			t.Errorf("ended %d times with members left, acked %d", s.ended, s.ackedOf(here))
		}
		s.set(there, 2, 1, 1)
		r.Note(there, true, true)
		r.Finish(t.Context())
		if want := fmt.Sprint(map[int]int{protocol.HomeOf("b"): 1}); s.ended != 1 || carried() != want {
			t.Errorf("ended %d times, carried from homes %s, want once, %s", s.ended, carried(), want)
		}
	})
}

// The second look finds what has changed since the reports.
func TestAReporterLooksASecondTime(t *testing.T) {
	reporting(t, func(t *testing.T, s *fakeStore, r *Reporter, carried func() string) {
		s.set(there, 2, 1, 1)
		s.ReportBatches(t.Context(), []protocol.BatchReport{{Counts: s.counts[there]}})
		s.set(there, 3, 2, 1) // another member was added since
		s.set(here, 2, 2, 2)
		r.Note(here, true, true)
		r.Finish(t.Context())
		if s.ended != 0 || s.looks == 0 {
			t.Errorf("ended %d times although a member was left, after %d looks", s.ended, s.looks)
		}
	})
}

// Counts that are not due yet are reported a second later, although no answer names them.
func TestCountsAreReportedASecondLater(t *testing.T) {
	reporting(t, func(t *testing.T, s *fakeStore, r *Reporter, carried func() string) {
		s.set(here, 2, 2, 1)
		r.Note(here, false, true)
		time.Sleep(reportEvery - time.Millisecond)
		synctest.Wait()
		before := s.ackedOf(here)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if before != 1 || s.ackedOf(here) != 2 {
			t.Errorf("acked version %d before the second is over, then %d", before, s.ackedOf(here))
		}
	})
}

// A report that fails is made again.
func TestAReportThatFailsIsMadeAgain(t *testing.T) {
	reporting(t, func(t *testing.T, s *fakeStore, r *Reporter, carried func() string) {
		s.mu.Lock()
		s.fails = errors.New("refused")
		s.mu.Unlock()
		s.set(here, 2, 2, 2)
		r.Note(here, true, true)
		time.Sleep(5 * time.Second)
		s.mu.Lock()
		s.fails = nil
		s.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if acked := s.ackedOf(here); acked != 2 {
			t.Errorf("acked %d", acked)
		}
	})
}

// While there are batches the homes are asked what others have left undone; without batches nobody asks.
func TestTheHomesAreAskedWhileThereAreBatches(t *testing.T) {
	reporting(t, func(t *testing.T, s *fakeStore, r *Reporter, carried func() string) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := carried(); got != "map[]" {
			t.Errorf("carried from homes %s before there was a batch", got)
		}
		r.Note(here, false, true)
		time.Sleep(2 * tendEvery)
		synctest.Wait()
		if got := carried(); got != "map[3:1]" {
			t.Errorf("carried from homes %s, want the third one once", got)
		}
	})
}
