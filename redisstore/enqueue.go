package redisstore

import (
	"context"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var enqueueScript = load("enqueue")

// largeBody is the length in bytes of a body above which a take reads the lengths of bodies before it reads them, in order to stay
// within MaxBytes. Shorter ones cannot exceed it.
const largeBody = 2 << 10

// Enqueue adds jobs, one call a partition, in one round trip. Sent again with the same number a call adds nothing.
func (s *store) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	answers := make([]protocol.EnqueueAnswer, len(calls))
	if s.bad != nil {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	sent := make([]call, len(calls))
	for i := range calls {
		sent[i] = s.enqueueCall(&calls[i])
	}
	for i, cmd := range s.runBriefly(ctx, sent...) {
		answers[i] = enqueueAnswer(&calls[i], cmd)
	}
	return answers
}

func (s *store) enqueueCall(c *protocol.EnqueueCall) call {
	ordinary := ordinaryItems(c)
	large := "0"
	for i := range c.Items {
		if len(c.Items[i].Body) > largeBody {
			large = "1"
		}
	}
	keys := s.hotKeys(c.Partition)
	call := beginCall(&enqueueScript, len(keys.enqueue), keys.enqueue...)
	args := append(call.args, c.Caller, c.Number, keys.wake, large, ordinary)
	call.buffer.texts = slices.Grow(call.buffer.texts[:0], len(c.Items))[:len(c.Items)]
	for i := range c.Items {
		item := &c.Items[i]
		body := &call.buffer.texts[i]
		*body = unsafe.String(unsafe.SliceData(item.Body), len(item.Body)) // nobody changes a body before the call is answered
		args = append(args, &item.ID)                                      // a pointer: storing a string in an any allocates
		if i >= ordinary {
			args = append(args, when(item))
		}
		args = append(args, body)
	}
	call.args = args
	return call
}

// ordinaryItems counts the items at the beginning that run now, under an ID that the enqueuer made.
func ordinaryItems(c *protocol.EnqueueCall) int {
	for i := range c.Items {
		if c.Items[i].Own || c.Items[i].In > 0 || !c.Items[i].At.IsZero() {
			return i
		}
	}
	return len(c.Items)
}

// when formats when a job is due: empty now, +n in n µs, @n at n Unix ms, rounded up so that no job is early. An o in front: the ID
// is the caller's own.
func when(item *protocol.EnqueueItem) string {
	own := ""
	if item.Own {
		own = "o"
	}
	switch {
	case item.In > 0:
		return own + "+" + strconv.FormatInt(int64((item.In+time.Microsecond-1)/time.Microsecond), 10)
	case !item.At.IsZero():
		return own + "@" + milli(item.At)
	}
	return own
}

// milli formats an instant in Unix ms, rounded up.
func milli(t time.Time) string {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return strconv.FormatInt(ms, 10)
}

func enqueueAnswer(c *protocol.EnqueueCall, cmd *redis.Cmd) protocol.EnqueueAnswer {
	values, err := list("enqueue on", c.Partition.Queue, cmd)
	if err != nil {
		return protocol.EnqueueAnswer{Err: err}
	}
	answer := protocol.EnqueueAnswer{Now: values.now(), Existing: make([]bool, len(c.Items))}
	for i, ordinary := 1, int64(ordinaryItems(c)); i < len(values); i++ {
		if position := ordinary + values.number(i); position >= 1 && position <= int64(len(c.Items)) {
			answer.Existing[position-1] = true
		}
	}
	return answer
}
