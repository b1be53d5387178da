package redisstore

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

var sealScript = scripts.Load("jobs/seal")

// Seal seals the last calls of callers in one round trip. If a call was carried out, the queue is registered, because the caller may have failed
// before it could do that.
func (s *store) Seal(ctx context.Context, calls []protocol.SealCall) []protocol.SealAnswer {
	answers := make([]protocol.SealAnswer, len(calls))
	if s.bad != nil {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	sent := make([]call, len(calls))
	for i, c := range calls {
		young := "0"
		if c.Young {
			young = "1"
		}
		k := s.keys.partition(c.Partition)
		sent[i] = newCall(&sealScript, []string{k.callers, k.state}, []any{c.Caller, c.Number, c.Seal, young, c.Items})
	}
	for i, cmd := range s.runBriefly(ctx, sent...) {
		queue := calls[i].Partition.Queue
		values, err := list("seal a call on", queue, cmd)
		if err != nil {
			answers[i].Err = err
			continue
		}
		answers[i] = protocol.SealAnswer{Now: values.now(), Sealed: protocol.Sealed(values.number(1))}
		for n := 2; n < len(values); n++ {
			answers[i].Refused = append(answers[i].Refused, int(values.number(n)-1))
		}
		if answers[i].Sealed == protocol.SealedDone {
			answers[i].Err = s.queues.relist(ctx, queue)
		}
	}
	return answers
}
