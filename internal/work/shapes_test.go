package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// However many different errors there are, a call has a few shapes, and each failed attempt is in one of them.
func TestShapesAreBoundedAndNoneIsLost(t *testing.T) {
	var s shapes
	at := time.UnixMilli(1_780_000_000_000).UTC()
	worker := protocol.NewWorkerName("h", 1, "v1.2.3")
	if got := s.take(); got != nil {
		t.Errorf("nothing failed, and %v was taken", got)
	}
	const all = 200 * 10
	for i := range all {
		s.add(fmt.Sprintf("job-%03d", i%200), &shaped{at: at.Add(time.Duration(i) * time.Second), id: fmt.Sprint(i), shape: fmt.Sprint("error ", i/200%7), worker: worker})
	}
	s.add("job-000", &shaped{at: at.Add(-time.Second), id: "early", shape: "error 0", worker: worker})
	sum, names, taken := int64(0), map[string]int{}, s.take()
	for _, one := range taken {
		sum += one.Count
		names[one.Name]++
		if one.Version != "v1.2.3" || one.ID == "early" || one.First.After(one.Last) {
			t.Errorf("got %+v", one)
		}
	}
	if sum != all+1 || len(taken) > protocol.MaxMeasuredShapes || names[protocol.OtherNames] != 1 {
		t.Errorf("%d shapes of %d names with %d failed attempts, want at most %d with %d", len(taken), len(names), sum, protocol.MaxMeasuredShapes, all+1)
	}
	for name, n := range names {
		if n > protocol.MaxNameShapes+1 {
			t.Errorf("%s has %d shapes, want at most %d", name, n, protocol.MaxNameShapes+1)
		}
	}
	for i := range 20 {
		s.add("job", &shaped{at: at, id: "j", shape: fmt.Sprint("error ", i), worker: worker})
	}
	s.add("job", &shaped{at: at.Add(time.Second), id: "last", shape: "error 1", worker: "random"})
	taken = s.take()
	if len(taken) != 5 || taken[0].Shape != "" || taken[0].Count != 16 || taken[2].Count != 2 || taken[2].ID != "last" || !taken[2].First.Equal(at) || s.take() != nil {
		t.Errorf("got %+v, want four shapes, and the others together", taken)
	}
}
