package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A call is one script with its keys, all of one partition, and its data, as it is sent.
type call struct {
	script *script
	args   []any // EVALSHA, the script's SHA-1, the number of keys, the keys, the data
	spare  *spareCall
}

func newCall(script *script, keys []string, data []any) call {
	args := make([]any, 0, 3+len(keys)+len(data))
	args = append(args, "evalsha", script.sha, len(keys))
	for _, key := range keys {
		args = append(args, key)
	}
	return call{script: script, args: append(args, data...)}
}

// A spareCall is memory of calls that have been answered: those that carry jobs are long and many, and what a busy process
// throws away its collector pays for.
type spareCall struct {
	args  []any
	texts []string // bodies: a slice in an any is memory of its own, a pointer to a string is not
}

var spareCalls = sync.Pool{New: func() any { return new(spareCall) }}

// beginCall begins a call with memory that is used again once it is answered. More keys and the data follow.
func beginCall(script *script, keys int, first ...any) call {
	spare := spareCalls.Get().(*spareCall)
	args := append(spare.args[:0], "evalsha", script.sha, keys)
	return call{script: script, args: append(args, first...), spare: spare}
}

// answered lets go of what a call held.
func (c *call) answered() {
	if c.spare != nil {
		clear(c.args)
		clear(c.spare.texts)
		c.spare.args = c.args[:0]
		spareCalls.Put(c.spare)
	}
}

func (c *call) command(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx, c.args...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// run sends calls in one round trip; each has its own answer or error. A server that does not know a script (restarted,
// SCRIPT FLUSH) gets that one call again with its text.
func (s *store) run(ctx context.Context, client redis.UniversalClient, calls ...call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = calls[0].command(ctx)
		_ = client.Process(ctx, cmds[0]) // the command has its error
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
			c.args[0], c.args[1] = "eval", c.script.text
			cmds[i] = c.command(ctx)
			_ = client.Process(ctx, cmds[i])
		}
		c.answered()
	}
	return cmds
}

// one sends a single call and returns its answer as a list.
func (s *store) one(ctx context.Context, act, subject string, c call) (reply, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	return list(act, subject, s.run(ctx, s.client, c)[0])
}

// failure says what was tried when err happened, and which of chime's errors it is.
func failure(act, subject string, err error) error {
	text := err.Error()
	kind := error(nil)
	switch {
	case strings.HasPrefix(text, "CHIMELOST"):
		kind = protocol.ErrSessionLost
	case strings.HasPrefix(text, "CHIMELAYOUT"), strings.HasPrefix(text, "WRONGTYPE"):
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
	return fmt.Errorf("redisstore: %s: %w", act, err)
}
