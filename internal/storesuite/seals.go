package storesuite

import (
	"fmt"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// A seal returns whether a call was carried out. The answer is the same each time, and nothing carries the call out afterwards.
func (s *Suite) TestASealedCallIsCarriedOutBeforeOrNever(t *testing.T) {
	for name, of := range map[string]struct {
		before      int64 // the number of the caller's last call; 0: none
		carriedOut  bool
		young       bool
		want        protocol.Sealed
		refusedLate bool
	}{
		"carried out, as the first":  {carriedOut: true, young: true, want: protocol.SealedDone},
		"carried out, long ago":      {before: 4, carriedOut: true, want: protocol.SealedDone},
		"not carried out":            {before: 4, young: true, want: protocol.SealedNever, refusedLate: true},
		"not, after some others":     {before: 1, want: protocol.SealedNever, refusedLate: true},
		"not, as the first":          {young: true, want: protocol.SealedNever, refusedLate: true},
		"the caller is forgotten":    {want: protocol.SealedUnknown},
		"carried out, numbers begin": {before: 1<<20 - 1, carriedOut: true, want: protocol.SealedDone},
		"not, as numbers begin":      {before: 1<<20 - 1, want: protocol.SealedNever, refusedLate: true},
	} {
		t.Run(name, func(t *testing.T) {
			s.onEveryServer(t, func(b *Bench) {
				number := max(of.before+1, 5)
				call := func(number int64, id string) error {
					return b.Store.Enqueue(b.Context(), []protocol.EnqueueCall{{
						Partition: DefaultPartition, Caller: "c", Number: number, Items: []protocol.EnqueueItem{Job(id)},
					}})[0].Err
				}
				jobs := int64(0)
				add := func(number int64) {
					jobs++
					if err := call(number, fmt.Sprint("j", number)); err != nil {
						b.Fatal(err)
					}
				}
				if of.before > 0 {
					add(of.before)
				}
				if of.carriedOut {
					add(number)
				}
				for range 3 {
					answer := b.Store.Seal(b.Context(), []protocol.SealCall{{Partition: DefaultPartition, Caller: "c", Number: number, Seal: number + 1, Young: of.young}})[0]
					if answer.Err != nil || answer.Sealed != of.want || answer.Now.IsZero() {
						b.Errorf("got %+v, want outcome %v", answer, of.want)
					}
				}
				if of.want != protocol.SealedUnknown {
					if err := call(number, fmt.Sprint("j", number)); (err != nil) != of.refusedLate {
						b.Errorf("the late call: %v, want an error: %v", err, of.refusedLate)
					}
				}
				add(number + 2)
				b.Want("waiting", fmt.Sprint(b.Stats().Waiting), fmt.Sprint(jobs))
			})
		})
	}
}
