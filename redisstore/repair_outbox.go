package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var verifyOutboxScript = scripts.Load("repair/verify_outbox")

// outboxFaults describe the faults of an outbox, by the part in which they are.
var outboxFaults = map[string]protocol.Finding{
	"outbox":    {Detail: "it is to be brought to another queue, but the job is gone: it never runs", Remedy: "the entry is removed"},
	"delivered": {Detail: "it was brought to another queue, and the copy that is kept for a minute is gone", Remedy: "the entry is removed"},
	"sums":      {Detail: "the counts of its jobs for other queues are wrong: nobody brings them there, or its own jobs are not taken", Remedy: "they are counted again"},
	"carried":   {Detail: "another queue has a job with a higher number than the last one that was drawn: jobs might be skipped", Remedy: "the last number is raised"},
}

// outbox verifies what a partition has for other ones. Entries without a value are removed before they are counted.
func (v *verifier) outbox(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.state, k.outbox, k.outgoing, k.delivered, k.carried}
	for _, what := range []string{"outbox", "delivered", "sums", "carried"} {
		for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
			values, err := v.script(ctx, p, &verifyOutboxScript, v.repair, keys, flag(v.repair), what, cursor)
			if err != nil {
				return err
			}
			cursor = values.text(0)
			for i := 1; i+1 < len(values); i += 2 {
				f := outboxFaults[what]
				f.Kind, f.Queue, f.ID, f.Repaired = protocol.FoundOutbox, p.Queue, values.text(i), values.number(i+1) == 1
				if n, ok := strings.CutPrefix(f.ID, "values "); ok {
					f.ID, f.Detail, f.Remedy = "outgoing", fmt.Sprintf("it keeps %s jobs that no entry names: they use memory until the queue is deleted", n), ""
				}
				v.found(f)
			}
		}
	}
	return nil
}
