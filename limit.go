package chime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Limit sets how many jobs of a queue may run at once, and how many may start in a period, over all workers. [Queues.Limit] sets it. The
// intended use is one queue for each third party, with its limit: a queue costs a worker almost nothing.
//
// Running limits, at every instant, all jobs of the queue that workers hold. If a worker vanishes, its jobs count until its session is reaped,
// about 17 s later. If a handler has not returned ten seconds after its timeout, its job is settled and no longer counts. The job may run again
// elsewhere: a handler should return when its ctx ends.
//
// Starts limits how many jobs start within Per: within any period of this length, on the store's clock, no more than Starts jobs are taken from
// the queue. All of them may start at once. If there are always jobs, 94 to 100 % of the permitted number start, for a Per of 20 ms or more. A job
// does not count if it was taken and not started, because its worker stops or has no handler for the job. Every attempt is a start. A start is
// counted when a worker takes the job. The handler begins a moment later, so a server that counts by its own clock may see two starts a little
// closer together.
//
// If the queue has Starts, or if workers hold more than half of Running, workers take no jobs ahead from it: jobs wait in the queue, in order,
// until they can start. Workers do not poll meanwhile, because one is woken for the next start. While workers hold at most half of Running, a
// worker with short handlers may take jobs ahead. These count as held, and start within about 20 ms or are returned.
type Limit struct {
	Running int           `json:"running,omitempty"` // jobs at once: 1 to 1,000,000; 0: any number
	Starts  int           `json:"starts,omitempty"`  // jobs that start within Per: 1 to 1,000,000; 0: any number
	Per     time.Duration `json:"-"`                 // the period of Starts: 1 ms to 30 days; rounded up to a millisecond. In JSON: per_ms
}

// MarshalJSON encodes Per in milliseconds, as per_ms.
func (l Limit) MarshalJSON() ([]byte, error) {
	type plain Limit
	return json.Marshal(struct {
		plain
		PerMS int64 `json:"per_ms,omitempty"`
	}{plain(l), l.Per.Milliseconds()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Limit) UnmarshalJSON(data []byte) error {
	type plain Limit
	read := struct {
		*plain
		PerMS int64 `json:"per_ms"`
	}{plain: (*plain)(l)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if most := protocol.MaxPer.Milliseconds(); read.PerMS < 0 || read.PerMS > most {
		return protocol.Invalid("Limit.Per", strconv.FormatInt(read.PerMS, 10)+" ms", "0 to "+strconv.FormatInt(most, 10)+" ms")
	}
	l.Per = time.Duration(read.PerMS) * time.Millisecond
	return nil
}

// validate returns every problem of a limit.
func (l Limit) validate() error {
	var bad []error
	for _, n := range []struct {
		field string
		value int
	}{{"Limit.Running", l.Running}, {"Limit.Starts", l.Starts}} {
		if n.value < 0 || n.value > protocol.MaxLimit {
			bad = append(bad, protocol.Invalid(n.field, strconv.Itoa(n.value), "0 (no limit) to 1000000"))
		}
	}
	const per = "1ms to 720h (30 days), together with Starts"
	switch {
	case l.Starts == 0 && l.Per != 0:
		bad = append(bad, protocol.Because(protocol.Invalid("Limit.Per", l.Per.String(), per), "comes without Starts"))
	case l.Starts != 0 && l.Per == 0:
		bad = append(bad, protocol.Invalid("Limit.Per", "", per))
	case l.Starts != 0 && (l.Per < protocol.MinPer || l.Per > protocol.MaxPer):
		bad = append(bad, protocol.Invalid("Limit.Per", l.Per.String(), per))
	}
	return errors.Join(bad...)
}

// Limit replaces the limit of a queue; the zero Limit removes it. It applies from the next job that a worker takes. Running jobs continue, and
// count. Setting the same limit again changes nothing, so every process may set it when it starts. If Starts or Per changes, the starts that
// counted before still count. A queue that was never used is registered. Limit fails with an [InvalidError] for a limit out of range, and for a queue
// with several partitions.
//
// A process of an earlier version stops taking jobs from a queue that has ever had a limit, and logs the reason.
func (q *Queues) Limit(ctx context.Context, queue string, limit Limit) error {
	err := q.check(ctx, queue)
	if err == nil {
		err = limit.validate()
	}
	if err != nil {
		return fmt.Errorf("chime: limit queue %.40q: %w", queue, err)
	}
	if err := q.store.LimitQueue(ctx, queue, protocol.QueueLimit(limit)); err != nil {
		return fmt.Errorf("chime: limit queue %q: %w", queue, err)
	}
	return nil
}
