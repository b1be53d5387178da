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

// A Limit is how many jobs of a queue may run at once, and how many may begin per time, over all workers. [Queues.Limit] sets it. The intended
// use is a queue for each third party, with its limit: queues cost a worker next to nothing.
//
// Running holds at every instant for all that workers hold of the queue. A worker that vanishes gives back what it held when its session is
// reaped, some 17 s later. A handler that has not returned ten seconds after its timeout counts no longer, for its job is settled and may
// run again elsewhere: a handler should heed its ctx.
//
// Starts is a token bucket on the store's clock that holds Starts tokens and begins full: at once at most Starts jobs begin, and over any
// time t at most Starts + Starts × t / Per. A job that was taken and not begun, because its worker stops or has no handler for it, gives
// its token back. Every attempt is a start.
//
// Near its limit, or where starts are counted, workers take nothing ahead from a queue: a job waits for its start where it is, in the order
// of the queue, and nobody asks in vain meanwhile, for a worker is woken for the next start. While at most half of Running are held, a worker
// with short handlers may take jobs ahead. These count as held, and begin within about 20 ms or are given back.
type Limit struct {
	Running int           `json:"running,omitempty"` // jobs at once: 1 to 1,000,000; 0: any number
	Starts  int           `json:"starts,omitempty"`  // jobs that begin within Per: 1 to 1,000,000; 0: any number
	Per     time.Duration `json:"-"`                 // with Starts: 1 ms to 30 days; rounded up to a millisecond. In JSON: per_ms
}

// MarshalJSON has Per in milliseconds, as per_ms.
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

// validate returns all that is wrong with a limit.
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

// Limit sets the limit of a queue, in place of the one that it has; the zero Limit takes it away. It holds from the next job that a worker
// takes; what runs goes on, and counts. The same limit again changes nothing, so every process may set it at its start. Of a changed number
// of starts the bucket keeps what is in it. A queue that was never named is registered. It fails with an [InvalidError] for a limit out of
// range, and for a queue with several partitions.
//
// A process of an earlier version takes nothing more from a queue that had a limit once, and logs why.
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
