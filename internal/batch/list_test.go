package batch

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A listStore has marks and records of batches, and counts the records that were read.
type listStore struct {
	protocol.BatchStore
	marks   []protocol.BatchMark
	records map[string]protocol.BatchRecord // without those that were deleted meanwhile
	read    int
}

func (s *listStore) ListBatches(_ context.Context, home int, before protocol.BatchMark, limit int) (page []protocol.BatchMark, _ error) {
	for _, mark := range s.marks {
		if protocol.HomeOf(mark.ID) == home && (before == protocol.BatchMark{} || mark.Compare(before) > 0) && len(page) < limit {
			page = append(page, mark)
		}
	}
	return page, nil
}

func (s *listStore) UnendedBatches(_ context.Context, limit int) (marks []protocol.BatchMark, more bool, _ error) {
	var homes [protocol.BatchHomes]int
	for _, mark := range s.marks {
		if r := s.records[mark.ID]; r.Ended.IsZero() || len(mark.ID)%2 == 0 { // some of them have ended a moment ago
			if homes[protocol.HomeOf(mark.ID)]++; homes[protocol.HomeOf(mark.ID)] > limit {
				more = true
				continue
			}
			marks = append(marks, mark)
		}
	}
	rand.Shuffle(len(marks), func(i, j int) { marks[i], marks[j] = marks[j], marks[i] })
	return marks, more, nil
}

func (s *listStore) ReadBatches(_ context.Context, marks []protocol.BatchMark) (records []protocol.BatchRecord, _ error) {
	s.read += len(marks)
	for _, mark := range marks {
		if r, ok := s.records[mark.ID]; ok {
			records = append(records, r)
		}
	}
	return records, nil
}

// newListStore creates n batches, of which one of four is in progress and one of ten was deleted. Some were created in the same instant.
func newListStore(n int) *listStore {
	s := &listStore{records: map[string]protocol.BatchRecord{}}
	for i := range n {
		id, at := fmt.Sprint("b", i), time.UnixMilli(int64(1_000+rand.IntN(n)))
		s.marks = append(s.marks, protocol.BatchMark{Created: at.UnixMilli(), ID: id})
		if rand.IntN(10) == 0 {
			continue
		}
		r := protocol.BatchRecord{BatchDefinition: protocol.BatchDefinition{ID: id}, Created: at, Ended: at.Add(time.Second)}
		if rand.IntN(4) == 0 {
			r.Ended = time.Time{}
		}
		s.records[id] = r
	}
	slices.SortFunc(s.marks, protocol.BatchMark.Compare)
	return s
}

// Whatever the number of batches, and wherever a list begins, it has each batch once, in order, and few records are read in vain.
func TestAListHasEachBatchOnce(t *testing.T) {
	for _, n := range []int{0, 1, 15, 300, 3000, 40_000} {
		s := newListStore(n)
		for name, list := range map[string]func(context.Context, protocol.BatchStore, protocol.BatchMark) iter.Seq2[protocol.BatchRecord, error]{"all": List, "in progress": InProgress} {
			for _, begin := range []int{0, n / 3} {
				want, after := s.marks, protocol.BatchMark{}
				if begin > 0 {
					want, after = s.marks[begin:], s.marks[begin-1]
				}
				want = slices.DeleteFunc(slices.Clone(want), func(m protocol.BatchMark) bool {
					r, ok := s.records[m.ID]
					return !ok || name != "all" && !r.Unended()
				})
				want = want[:min(len(want), 200)]
				var got []protocol.BatchMark
				s.read = 0
				for r, err := range list(t.Context(), s, after) {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, r.Mark()); len(got) == len(want) {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s of %d, from %d on: got %d, want %d", name, n, begin, len(got), len(want))
				}
				if most := len(want)*5/4 + maxRecords; name == "all" && s.read > most {
					t.Errorf("%d of %d: %d records were read, want %d at most", len(want), n, s.read, most)
				}
			}
		}
	}
}
