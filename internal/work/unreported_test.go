package work

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
)

// Observers receive an outcome after the answer to the call that carried it, in the order in which the jobs ended.
func TestAnOutcomeIsReportedAfterItsAnswer(t *testing.T) {
	var got []string
	receives := func(what string) func([]observe.Job) {
		return func(jobs []observe.Job) {
			if len(jobs) > reportedTogether {
				t.Errorf("%d jobs are reported at once, want %d at most", len(jobs), reportedTogether)
			}
			for _, j := range jobs {
				got = append(got, what+" "+j.ID)
			}
		}
	}
	config := &Config{Observe: observe.Observer{Ended: receives("ended"), Returned: receives("returned")}} // nobody receives parked jobs
	l := newLane(protocol.Partition{Queue: "default"}, &share{weight: 1})
	h := &flights{config: config}
	now := time.Now()
	var want []string
	end := func(n int) {
		for i := range n {
			f := &flight{claim: claim{config: config, id: fmt.Sprint(len(want), "-", i), clock: &storeClock{}}, Attempt: &Attempt{}, lane: l, session: &session{}}
			s := f.done()
			switch {
			case i%150 == 3:
				s = f.park("other")
			case i%70 == 9:
				s = f.back()
				want = append(want, "returned "+f.id)
			default:
				want = append(want, "ended "+f.id)
			}
			h.keep(f, s, now)
		}
	}
	end(700)
	call := l.call("w", time.Second, 0, 0, false, false, nil, now)
	end(20)
	if len(got) > 0 {
		t.Fatalf("%d outcomes were reported before the answer", len(got))
	}
	if _, _, err := l.answered(&protocol.WorkAnswer{}, now); err != nil {
		t.Fatal(err)
	}
	h.settled(l, len(call.Settle))
	if settled := len(call.Settle); len(got) > settled || len(got) < settled-settled/100 || !slices.Equal(got, want[:len(got)]) {
		t.Errorf("after an answer to %d outcomes %d were reported, the last is %s", settled, len(got), got[len(got)-1])
	}
	h.end([]*lane{l})
	if !slices.Equal(got, want) {
		t.Errorf("at the end %d outcomes were reported, want %d in the same order", len(got), len(want))
	}
}
