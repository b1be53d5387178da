package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	enqueueScript    = scripts.Load("jobs/enqueue")
	enqueueOneScript = scripts.Load("jobs/enqueue_one")
)

// largeBody is a length in bytes. If a partition has longer bodies, a take reads their lengths before it reads them, so that it remains
// within MaxBytes. Shorter bodies cannot exceed it.
const largeBody = 2 << 10

// For oneFor after a caller's last call of enqueue.lua its single jobs use enqueue_one.lua. That script costs the server half as much
// but does not return the time, read the state of the partition or renew the instant in …:callers. So all of these are at most
// oneFor old, which is short compared with the hour for which a caller is remembered. A pause or a newer layout stops it at once
// (see scripts/lib/gate.lua).
const oneFor = 10 * time.Second

// callerRound is the ROUND of scripts/lib/callers.lua.
const callerRound = 1 << 20

// Enqueue adds jobs in one round trip, with one call for each partition. A call that is sent again with the same number adds nothing. What a
// short call does not add is added by enqueue.lua in a second round trip.
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
		if goesAlone(&calls[i]) {
			sent[i] = s.enqueueOneCall(&calls[i])
		} else {
			sent[i] = s.enqueueCall(&calls[i])
		}
	}
	run := s.runBriefly
	if len(calls) == 1 && calls[0].Brief && s.patience.brief != nil {
		run = s.runWithin
	}
	var left []int  // calls of enqueue_one.lua that added nothing
	var fresh []int // calls that found a new partition
	answered := func(i int, cmd *redis.Cmd) {
		isNew := false
		if answers[i], isNew = enqueueAnswer(&calls[i], cmd); isNew {
			fresh = append(fresh, i)
		}
	}
	for i, cmd := range run(ctx, sent...) {
		if sent[i].script != &enqueueOneScript {
			answered(i, cmd)
		} else if added, err := cmd.Int64(); err != nil {
			answers[i].Err = failure("enqueue on", calls[i].Partition.Queue, err)
		} else if added == 1 {
			answers[i].Ticket = protocol.EnqueueTicket{Score: scoreAfter(&calls[i]), Until: calls[i].Ticket.Until}
		} else {
			left = append(left, i)
		}
	}
	if len(left) > 0 {
		sent = sent[:0]
		for _, i := range left {
			sent = append(sent, s.enqueueCall(&calls[i]))
		}
		for j, cmd := range run(ctx, sent...) {
			answered(left[j], cmd)
		}
	}
	for i := range answers {
		answers[i].Ticket.Brief = s.patience.brief != nil
	}
	for _, i := range fresh {
		answers[i].Err = s.queues.relist(ctx, calls[i].Partition.Queue)
	}
	return answers
}

// goesAlone reports whether a call may use enqueue_one.lua. It may not if the numbers in …:callers have restarted since the ticket, or if the job may
// be followed by others: enqueue_one.lua does not raise the layout.
func goesAlone(c *protocol.EnqueueCall) bool {
	return c.Ticket.Score > 0 && len(c.Items) == 1 && ordinaryItems(c) == 1 && !c.Items[0].Follows && len(c.Items[0].Body) <= largeBody &&
		c.Number%callerRound > c.Ticket.Score%callerRound && time.Now().Before(c.Ticket.Until)
}

// scoreAfter returns the score that the caller has in …:callers after such a call.
func scoreAfter(c *protocol.EnqueueCall) int64 {
	return c.Ticket.Score - c.Ticket.Score%callerRound + c.Number%callerRound
}

func (s *store) enqueueOneCall(c *protocol.EnqueueCall) call {
	keys := s.hotKeys(c.Partition)
	call := beginCall(&enqueueOneScript, len(keys.enqueueOne), keys.enqueueOne...)
	item := &c.Items[0]
	call.buffer.texts = append(call.buffer.texts[:0], textOf(item.Body))
	call.args = append(call.args, &c.Caller, scoreAfter(c), &item.ID, &call.buffer.texts[0])
	return call
}

// textOf returns a body as a string that shares its memory: nothing changes a body before the call is answered.
func textOf(body []byte) string { return unsafe.String(unsafe.SliceData(body), len(body)) }

func (s *store) enqueueCall(c *protocol.EnqueueCall) call { return s.enqueueWith(c, nil) }

// enqueueWith is enqueueCall for members of a batch; fill is nil if the jobs are no members.
func (s *store) enqueueWith(c *protocol.EnqueueCall, fill *fillArgs) call {
	ordinary := ordinaryItems(c)
	large := "0"
	for i := range c.Items {
		if len(c.Items[i].Body) > largeBody {
			large = "1"
		}
	}
	keys := s.hotKeys(c.Partition)
	n, manual := len(keys.enqueue), hasManual(c.Items[ordinary:])
	grouped := manual || fill != nil || hasGroup(c.Items[ordinary:])
	if grouped {
		n += len(keys.grouping)
	}
	if manual {
		n++
	}
	if fill != nil {
		n += 2
	}
	call := beginCall(&enqueueScript, n, keys.enqueue...)
	if grouped {
		call.args = append(call.args, keys.grouping...)
	}
	if manual {
		call.args = append(call.args, keys.last)
	}
	how := any(ordinary)
	if fill != nil {
		call.args, how = append(call.args, keys.batches, keys.reports), fill.text(ordinary)
	}
	args := append(call.args, c.Caller, c.Number, keys.wake, large, how)
	call.buffer.texts = slices.Grow(call.buffer.texts[:0], len(c.Items))[:len(c.Items)]
	for i := range c.Items {
		item := &c.Items[i]
		body := &call.buffer.texts[i]
		*body = textOf(item.Body)
		args = append(args, &item.ID) // a pointer: storing a string in an any allocates
		if i >= ordinary {
			args = append(args, when(item))
		}
		args = append(args, body)
	}
	call.args = args
	return call
}

// ordinaryItems counts the items at the beginning that run now, with an ID that the enqueuer generated.
func ordinaryItems(c *protocol.EnqueueCall) int {
	for i := range c.Items {
		if c.Items[i].Own || c.Items[i].In > 0 || !c.Items[i].At.IsZero() || c.Items[i].Schedule != "" || c.Items[i].Expire > 0 || c.Items[i].Group != "" {
			return i
		}
	}
	return len(c.Items)
}

// hasManual reports whether a manual run is among the items.
func hasManual(items []protocol.EnqueueItem) bool {
	return slices.ContainsFunc(items, func(item protocol.EnqueueItem) bool { return item.Schedule != "" })
}

// hasGroup reports whether one of the items belongs to a group.
func hasGroup(items []protocol.EnqueueItem) bool {
	return slices.ContainsFunc(items, func(item protocol.EnqueueItem) bool { return item.Group != "" })
}

// when formats when a job is due: empty now, +n in n µs, @n at n Unix ms, rounded up so that no job is early. A leading o means that the ID
// is the caller's own. A leading u<ms> and a blank also stop the ID from being added again for that time. A tab, the maximum of unfinished runs, a
// tab and a schedule after it mark a manual run of that schedule. A line end and a number at the end: the job expires that many ms after it is due.
// A vertical tab and a group at the end: it belongs to that group.
func when(item *protocol.EnqueueItem) string {
	if item.Group != "" {
		plain := *item
		plain.Group = ""
		return when(&plain) + "\v" + item.Group
	}
	if item.Expire > 0 {
		plain := *item
		plain.Expire = 0
		return when(&plain) + "\n" + strconv.FormatInt(item.Expire.Milliseconds(), 10)
	}
	if item.Schedule != "" {
		plain := *item
		plain.Schedule = ""
		return when(&plain) + "\t" + strconv.Itoa(item.MaxUnfinished) + "\t" + item.Schedule
	}
	own := ""
	switch {
	case item.Own && item.Once > 0:
		own = "u" + strconv.FormatInt(item.Once.Milliseconds(), 10) + " "
	case item.Own:
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

// enqueueAnswer reads the answer of enqueue.lua, and whether the queue must be registered.
func enqueueAnswer(c *protocol.EnqueueCall, cmd *redis.Cmd) (answer protocol.EnqueueAnswer, isNew bool) {
	values, err := list("enqueue on", c.Partition.Queue, cmd)
	if err != nil {
		return protocol.EnqueueAnswer{Err: err}, false
	}
	return enqueueAnswerOf(c, values)
}

// enqueueAnswerOf is enqueueAnswer for an answer without an error.
func enqueueAnswerOf(c *protocol.EnqueueCall, values reply) (answer protocol.EnqueueAnswer, isNew bool) {
	answer = protocol.EnqueueAnswer{
		Now: values.now(), Existing: make([]bool, len(c.Items)),
		Ticket: protocol.EnqueueTicket{Score: values.number(1), Until: time.Now().Add(oneFor)},
	}
	for i, ordinary := 2, int64(ordinaryItems(c)); i < len(values); i++ {
		if values.number(i) == 0 {
			isNew = true
		} else if values.number(i) < 0 {
			if answer.Full == nil {
				answer.Full = make([]error, len(c.Items))
			}
			n, why := -values.number(i), protocol.ErrGroupFull
			if n > protocol.MaxItems {
				n, why = n-protocol.MaxItems, protocol.ErrMaxUnfinished
			}
			if position := ordinary + n; position >= 1 && position <= int64(len(c.Items)) {
				answer.Full[position-1] = why
			}
		} else if position := ordinary + values.number(i); position >= 1 && position <= int64(len(c.Items)) {
			answer.Existing[position-1] = true
		}
	}
	return answer, isNew
}

var replaceScript = scripts.Load("jobs/replace")

// replacePurging is the answer of the script while a purge runs: a job that the purge will delete must not be replaced.
const replacePurging = 4

// Replace enqueues a job in place of the one that has its ID. It reads where that job is, and passes every session and every list of parked
// jobs to the script. If one has begun since, it reads again.
func (s *store) Replace(ctx context.Context, call protocol.ReplaceCall) (protocol.Replaced, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	item, queue := &call.Item, call.Partition.Queue
	k := s.keys.partition(call.Partition)
	for range discardTries {
		var at whereabouts
		if err := at.look(ctx, s.jobs(call.Partition), []string{item.ID}, false); err != nil {
			return 0, unfitIfDenied(failure("replace on", queue, err))
		}
		keys := []string{
			k.ready, k.due, k.jobs, k.callers, k.state, k.idle, k.stale, k.once, k.dead, k.crashes, k.after, k.sessions, k.unhandled, k.last, k.line, k.places,
			k.turns, k.groups, k.grules, k.opens, k.batches, k.reports,
		}
		plain := *item
		plain.Own, plain.Once, plain.Schedule = false, 0, ""
		once := ""
		if item.Once > 0 {
			once = strconv.FormatInt(item.Once.Milliseconds(), 10)
		}
		if call.Batch != "" {
			once += "\t" + call.Batch
		}
		args := []any{
			call.Token, s.keys.wake(), len(at.sessions), len(at.lists), at.mark, item.ID, at.shared[item.ID], item.Body, when(&plain), once,
		}
		for _, session := range at.sessions {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		for _, list := range at.lists {
			keys, args = append(keys, k.parked(list)), append(args, list)
		}
		values, err := s.runOne(ctx, "replace on", queue, newCall(&replaceScript, keys, args))
		if err != nil {
			return 0, unfitIfDenied(err)
		}
		switch became := values.number(1); became {
		case 0: // a session or a list has begun
		case replacePurging:
			if _, err := s.finishPurge(ctx, call.Partition); err != nil {
				return 0, err
			}
		default:
			if values.number(2) == 1 {
				err = s.queues.relist(ctx, queue)
			}
			return protocol.Replaced(became), err
		}
	}
	return 0, failure("replace on", queue, errUnsettled)
}

// unfitIfDenied adds ErrUnfit to an error about a missing right: a process that only enqueues need not have the rights of Replace and of the end
// of a batch, and a retry cannot grant them. The script reads all its keys before it writes, so nothing was changed.
func unfitIfDenied(err error) error {
	if denied(err) {
		return fmt.Errorf("%w: %w", protocol.ErrUnfit, err)
	}
	return err
}
