package redisstore

import (
	"context"
	"fmt"
	"slices"
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

// unreadableValue describes an entry whose value no version of chime can read.
var unreadableValue = protocol.Finding{
	Detail: "it is to be brought to another queue, and no version of chime can read it: it holds up the later ones for that queue", Remedy: "it becomes a dead job of this queue",
}

// outbox verifies what a partition has for other ones. Entries without a value are removed before they are counted. The bytes of all entries are compared
// with the sums, and their number with that of the values, only if the sums have not changed while the entries were read.
func (v *verifier) outbox(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.state, k.outbox, k.outgoing, k.delivered, k.carried, k.jobs, k.dead}
	sums, changed, bytes, members := "", false, map[string]int64{}, int64(0)
	for i, what := range []string{"outbox", "delivered", "sums", "carried"} {
		at := ""
		if what == "sums" && !changed {
			at = fmt.Sprintf("%s\t%d\t%d\t%d", sums, bytes["outbox"], bytes["delivered"], members)
		}
		for first := true; first || at != ""; first = false {
			values, err := v.script(ctx, p, &verifyOutboxScript, v.repair, keys, flag(v.repair), what, at)
			if err != nil {
				return err
			}
			at = values.text(0)
			if before := values.text(1); before != sums && !(i == 0 && first) {
				changed = true
			}
			sums = values.text(2)
			bytes[what] += values.number(3)
			members += values.number(4)
			for fault := range slices.Chunk(values[5:], 3) {
				f := outboxFaults[what]
				if why, blocked := strings.CutPrefix(fault.text(2), "blocked "); blocked {
					f = protocol.Finding{Detail: "its jobs for this queue cannot be brought there: " + why}
				} else if why != "" {
					f = unreadableValue
				}
				f.Kind, f.Queue, f.ID, f.Repaired = protocol.FoundOutbox, p.Queue, fault.text(0), fault.number(1) == 1
				if n, ok := strings.CutPrefix(f.ID, "values "); ok {
					f.ID, f.Detail, f.Remedy = "outgoing", fmt.Sprintf("it keeps %s jobs that no entry names: they use memory until the queue is deleted", n), ""
				}
				v.found(f)
			}
		}
	}
	return nil
}
