package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// A call is one script with its keys, all of one partition, and its data, as it is sent.
type call struct {
	script *script.Script
	args   []any       // EVALSHA, the script's SHA-1, the number of keys, the keys, the data
	buffer *callBuffer // of args; nil: newCall made them
}

func newCall(s *script.Script, keys []string, data []any) call {
	args := make([]any, 0, 3+len(keys)+len(data))
	args = append(args, "evalsha", s.SHA, len(keys))
	for _, key := range keys {
		args = append(args, key)
	}
	return call{script: s, args: append(args, data...)}
}

// readOnly has the server refuse what the script would write, so that a user who may not write may make the call.
func (c call) readOnly() call {
	c.args[0] = "evalsha_ro"
	return c
}

// A callBuffer is the memory of a call, used again when the call was answered. The calls that carry jobs are long and many: memory
// of their own would keep the garbage collector busy.
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

// release returns the buffer of a call that was answered to the pool.
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

// run sends calls in one round trip; each has its own answer or error, and an error names the file and the line of the script. If the
// server does not know a script (it was restarted, or SCRIPT FLUSH), that call alone is sent again with the script's text.
func (s *store) run(ctx context.Context, client redis.UniversalClient, calls ...call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = calls[0].command(ctx)
		_ = client.Process(ctx, cmds[0]) // the command has the error
	} else {
		pipe := client.Pipeline()
		for i := range calls {
			cmds[i] = calls[i].command(ctx)
			_ = pipe.Process(ctx, cmds[i])
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
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
	return cmds
}

// runOne sends a single call and returns its answer as a list.
func (s *store) runOne(ctx context.Context, act, subject string, c call) (reply, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	return list(act, subject, s.run(ctx, s.client, c)[0])
}

// failure adds to err what was tried, on what, which of the protocol's errors it is, and what it means if it is one that waiting does
// not cure. An empty subject is left out.
func failure(act, subject string, err error) error {
	text := err.Error()
	kind := error(nil)
	switch {
	case strings.HasPrefix(text, "CHIMELOST"):
		kind = protocol.ErrSessionLost
	case strings.HasPrefix(text, "CHIMELAYOUT"), strings.HasPrefix(text, "CHIMECLOCK"), strings.HasPrefix(text, "WRONGTYPE"):
		kind = protocol.ErrUnfit
	case strings.HasPrefix(text, "OOM"):
		kind = protocol.ErrStoreFull
	}
	if subject != "" {
		act = fmt.Sprintf("%s %q", act, subject)
	}
	if kind != nil {
		return fmt.Errorf("redisstore: %s: %w: %w", act, kind, err)
	}
	if reason := incurable(err); reason != "" {
		return fmt.Errorf("redisstore: %s: %s: %w", act, reason, err)
	}
	return fmt.Errorf("redisstore: %s: %w", act, err)
}
