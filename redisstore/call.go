package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// A call is one script as it is sent, with its data and its keys, which are all of one partition.
type call struct {
	script *script.Script
	args   []any       // EVALSHA, the script's SHA-1, the number of keys, the keys, the data
	buffer *callBuffer // of args; nil: newCall allocated them
}

func newCall(s *script.Script, keys []string, data []any) call {
	args := make([]any, 0, 3+len(keys)+len(data))
	args = append(args, "evalsha", s.SHA, len(keys))
	for _, key := range keys {
		args = append(args, key)
	}
	return call{script: s, args: append(args, data...)}
}

// readOnly makes the server refuse all writes of the script, so that a user who may only read can make the call.
func (c call) readOnly() call {
	c.args[0] = "evalsha_ro"
	return c
}

// readOnlyForAll is readOnly for a short script that users with any rights call: all of them may send it as a text, for the check of rights.
func (c call) readOnlyForAll() call {
	c.args[0], c.args[1] = "eval_ro", c.script.Text
	return c
}

// A callBuffer is the memory of a call. It is reused after the call was answered: the calls that carry jobs are long and frequent, and
// allocating for each would keep the garbage collector busy.
type callBuffer struct {
	args  []any
	texts []string // bodies: storing a slice in an any allocates, storing a pointer to a string does not
}

var callBuffers = sync.Pool{New: func() any { return new(callBuffer) }}

// beginCall begins a call in a buffer from the pool. The caller appends the other keys and the data.
func beginCall(s *script.Script, keys int, first ...any) call {
	buffer := callBuffers.Get().(*callBuffer)
	args := append(buffer.args[:0], "evalsha", s.SHA, keys)
	return call{script: s, args: append(args, first...), buffer: buffer}
}

// release returns the buffer of an answered call to the pool.
func (c *call) release() {
	if c.buffer != nil {
		clear(c.args)
		clear(c.buffer.texts)
		c.buffer.args = c.args[:0]
		callBuffers.Put(c.buffer)
	}
}

func (c *call) command(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx, c.args...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// run sends calls in one round trip. Each call has its own answer or error, and an error names the file and the line of the script. If the
// server does not know a script (it was restarted, or SCRIPT FLUSH), only that call is sent again, with the script's text.
func (s *store) run(ctx context.Context, client redis.UniversalClient, calls ...call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = calls[0].command(ctx)
		_ = client.Process(ctx, cmds[0]) // the command has the error
	} else {
		pipe := client.Pipeline()
		queueCalls(ctx, pipe, calls, cmds)
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	finish(ctx, client, calls, cmds)
	return cmds
}

// runTimed is run with the server's time before the calls, in the same round trip.
func (s *store) runTimed(ctx context.Context, calls ...call) (now time.Time, cmds []*redis.Cmd, err error) {
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	cmds = make([]*redis.Cmd, len(calls))
	queueCalls(ctx, pipe, calls, cmds)
	_, _ = pipe.Exec(ctx) // each command has its own error
	finish(ctx, s.client, calls, cmds)
	return clock.Val().UTC(), cmds, clock.Err()
}

func queueCalls(ctx context.Context, pipe redis.Pipeliner, calls []call, cmds []*redis.Cmd) {
	for i := range calls {
		cmds[i] = calls[i].command(ctx)
		_ = pipe.Process(ctx, cmds[i])
	}
}

// finish ends calls that were sent: those whose script the server does not know are sent again.
func finish(ctx context.Context, client redis.UniversalClient, calls []call, cmds []*redis.Cmd) {
	for i := range calls {
		c := &calls[i]
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			c.args[0], c.args[1] = strings.Replace(c.args[0].(string), "evalsha", "eval", 1), c.script.Text
			cmds[i] = c.command(ctx)
			_ = client.Process(ctx, cmds[i])
		}
		if err := cmds[i].Err(); err != nil {
			cmds[i].SetErr(c.script.Locate(err))
		}
		c.release()
	}
}

// runOne sends a single call and returns its answer as a list.
func (s *store) runOne(ctx context.Context, act, subject string, c call) (reply, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	return list(act, subject, s.run(ctx, s.client, c)[0])
}

// A reply is the answer of a script: numbers, strings and lists of them. A missing value, or one of another type than the one requested,
// reads as zero: the scripts are known, and what they return from keys is checked where it is decoded.
type reply []any

// list returns the answer of a command as a reply.
func list(act, subject string, cmd *redis.Cmd) (reply, error) {
	if err := cmd.Err(); err != nil {
		return nil, failure(act, subject, err)
	}
	values, ok := cmd.Val().([]any)
	if !ok {
		return nil, fmt.Errorf("redisstore: %s %q: the script answered %T, want a list", act, subject, cmd.Val())
	}
	return values, nil
}

// complete returns an error if an HMGET or a ZMSCORE among the commands did not return a value for each field that was requested. A server
// never answers so, but a proxy may, and a missing value must not be read as one that is not stored.
func complete(cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		var values int
		switch c := cmd.(type) {
		case *redis.SliceCmd:
			values = len(c.Val())
		case *redis.FloatSliceCmd:
			values = len(c.Val())
		default:
			continue
		}
		if asked := len(cmd.Args()) - 2; values != asked { // the arguments are its name, the key and the fields
			return fmt.Errorf("%s of %v answered %d values, want %d", cmd.Name(), cmd.Args()[1], values, asked)
		}
	}
	return nil
}

func (r reply) text(i int) string {
	if i < len(r) {
		if text, ok := r[i].(string); ok {
			return text
		}
	}
	return ""
}

func (r reply) number(i int) int64 {
	if i >= len(r) {
		return 0
	}
	switch v := r[i].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func (r reply) list(i int) reply {
	if i < len(r) {
		if values, ok := r[i].([]any); ok {
			return values
		}
	}
	return nil
}

// now reads the server's time, Unix µs: every answer begins with it.
func (r reply) now() time.Time { return time.UnixMicro(r.number(0)).UTC() }

// milli reads an instant in Unix ms; a negative number is the zero Time.
func (r reply) milli(i int) time.Time {
	if ms := r.number(i); ms >= 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

func (r reply) texts(i int) []string {
	values := r.list(i)
	if len(values) == 0 {
		return nil
	}
	texts := make([]string, len(values))
	for j := range values {
		texts[j] = values.text(j)
	}
	return texts
}

// rest returns the values from i on as strings.
func (r reply) rest(i int) []string {
	var texts []string
	for ; i < len(r); i++ {
		texts = append(texts, r.text(i))
	}
	return texts
}

// untilNext returns how long a job is not due yet, at least 1 µs: 0 would mean that no job is delayed.
func untilNext(next, now time.Time) time.Duration { return max(next.Sub(now), time.Microsecond) }

// waitHint reads, from i on: more, paused, next, the caller's number among the keepers of the alarm, the mark of parked jobs, lapse, lapsed sessions.
func (r reply) waitHint(i int) protocol.WaitHint {
	h := protocol.WaitHint{
		More: r.number(i)&1 != 0, NotAhead: r.number(i)&2 != 0, Suspects: r.number(i)&4 != 0, Paused: r.number(i+1) == 1, Second: r.number(i+3) == 2,
		ParkedMark: r.number(i + 4), Lapse: r.milli(i + 5),
	}
	if next := r.milli(i + 2); !next.IsZero() {
		h.Next = untilNext(next, r.now())
	}
	lapsed := r.list(i + 6)
	for j := 0; j+1 < len(lapsed); j += 2 {
		h.Lapsed = append(h.Lapsed, protocol.LapsedSession{Session: lapsed.text(j), Lapse: lapsed.milli(j + 1)})
	}
	return h
}
