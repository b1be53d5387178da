package batch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
	calls   int // of UnendedBatches
}

func (s *listStore) ListBatches(_ context.Context, home int, before protocol.BatchMark, limit int) (page []protocol.BatchMark, _ error) {
	for _, mark := range s.marks {
		if protocol.HomeOf(mark.ID) == home && (before == protocol.BatchMark{} || mark.Compare(before) > 0) && len(page) < limit {
			page = append(page, mark)
		}
	}
	return page, nil
}

func (s *listStore) UnendedBatches(_ context.Context, after protocol.BatchMark, limit int) (marks []protocol.BatchMark, more bool, _ error) {
	s.calls++
	for _, mark := range s.marks {
		r := s.records[mark.ID]
		if unended := r.Ended.IsZero() || len(mark.ID)%2 == 0; !unended || (after != protocol.BatchMark{}) && mark.Compare(after) <= 0 { // some of them have ended a moment ago
			continue
		}
		if len(marks) == limit {
			return marks, true, nil
		}
		marks = append(marks, mark)
	}
	return marks, false, nil
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
		for _, c := range []Listing{{}, {InProgress: true}, {Prefix: "b7"}, {Prefix: "b7", InProgress: true}} {
			for _, begin := range []int{0, n / 3} {
				want := s.marks
				if begin > 0 {
					want, c.After = s.marks[begin:], s.marks[begin-1]
				}
				want = slices.DeleteFunc(slices.Clone(want), func(m protocol.BatchMark) bool {
					r, ok := s.records[m.ID]
					return !ok || c.InProgress && !r.Unended() || !strings.HasPrefix(m.ID, c.Prefix)
				})
				want = want[:min(len(want), 700)]
				var got []protocol.BatchMark
				s.read, s.calls = 0, 0
				listing := c
				for r, err := range List(t.Context(), s, &listing) {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, r.Mark()); len(got) == len(want) {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%+v of %d, from %d on: got %d, want %d", c, n, begin, len(got), len(want))
				}
				if most := len(want)*5/4 + 2*maxRecords; !c.InProgress && s.read > most {
					t.Errorf("%+v of %d: %d records were read for %d, want %d at most", c, n, s.read, len(want), most)
				}
				if c.InProgress && s.read > 4*len(want)+2*maxRecords {
					t.Errorf("%+v of %d: %d records were read for %d", c, n, s.read, len(want))
				}
			}
		}
	}
}

// A list that looks at a number of batches only has the same batches in parts.
func TestAListThatIsCutContinues(t *testing.T) {
	s := newListStore(3000)
	for _, inProgress := range []bool{false, true} {
		var got, want []protocol.BatchMark
		for r := range List(t.Context(), s, &Listing{Prefix: "b7", InProgress: inProgress}) {
			want = append(want, r.Mark())
		}
		parts := 0
		for after, more := (protocol.BatchMark{}), true; more; parts++ {
			listing := Listing{Prefix: "b7", InProgress: inProgress, After: after, Looked: 200}
			for r, err := range List(t.Context(), s, &listing) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Mark())
			}
			after, more = listing.Last, listing.Cut
		}
		if !slices.Equal(got, want) || len(want) == 0 || parts < 3 {
			t.Errorf("in progress %v: in %d parts %d batches, want %d", inProgress, parts, len(got), len(want))
		}
	}
}
