package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/redisstore/internal/script"
)

// The processes of a moveWalk take turns: each waits before each of its commands until the walk continues it. So one goroutine runs
// at a time, and the walk decides about the progress of each.

var errStopped = errors.New("this process was stopped")

// A verdict is the walk's decision for a process that waits before a command.
type verdict int

const (
	goOn       verdict = iota
	stopBefore         // the process is gone; its command is not sent
	stopAfter          // the process is gone; its command was executed, and the answer was not read
)

// A process is one program with a store of its own.
type process struct {
	walk    *moveWalk
	number  int
	client  redis.UniversalClient
	store   *store
	at      chan redis.Cmder // to the walk: the command that it waits before; nil: its operation has ended
	turn    chan verdict
	waits   redis.Cmder // the last command from at
	stopped bool
	op      *moveOp // that it executes
}

func (p *process) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (p *process) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return p.step(cmd, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook makes each command of a pipeline a separate step. On a cluster those for different nodes come in any order:
// here too, except those of one key.
func (p *process) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (first error) {
		for _, cmd := range reordered(cmds, p.walk.random.IntN) {
			if err := p.step(cmd, func() error { return next(ctx, []redis.Cmder{cmd}) }); err != nil && first == nil {
				first = err
			}
		}
		return first
	}
}

// reordered returns commands in an order that pick chooses, which receives the number of remaining ones; those of one key keep their order.
func reordered(cmds []redis.Cmder, pick func(n int) int) (order []redis.Cmder) {
	for left := slices.Clone(cmds); len(left) > 0; {
		key := keyOf(left[pick(len(left))])
		i := slices.IndexFunc(left, func(c redis.Cmder) bool { return keyOf(c) == key })
		order = append(order, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return order
}

// keyOf returns the first key of a command.
func keyOf(cmd redis.Cmder) string {
	args := cmd.Args()
	switch name := cmd.Name(); {
	case (name == "evalsha" || name == "eval") && len(args) > 3:
		return fmt.Sprint(args[3])
	case len(args) > 1:
		return fmt.Sprint(args[1])
	}
	return ""
}

// step executes a command when the walk allows it.
func (p *process) step(cmd redis.Cmder, run func() error) error {
	switch cmd.Name() {
	case "hello", "client", "cluster", "command", "readonly", "ping": // of the connection
		return run()
	}
	said := stopBefore
	if !p.stopped {
		p.at <- cmd
		said = <-p.turn
	}
	if said == stopBefore {
		p.stopped = true
		cmd.SetErr(errStopped)
		return errStopped
	}
	err := run()
	if err == nil {
		p.walk.carriedOut(cmd)
	}
	if said == stopAfter {
		p.stopped = true
		cmd.SetErr(errStopped)
		return errStopped
	}
	return err
}

// start begins an operation, and returns when it waits before its first command.
func (p *process) start(op *moveOp, run func()) {
	p.op = op
	go func() {
		run()
		p.at <- nil
	}()
	p.waits = <-p.at
}

// grant lets a process that waits take its step, and returns when it waits before the next one or its operation has ended.
func (p *process) grant(v verdict) {
	p.turn <- v
	p.waits = <-p.at
}

// runs reports whether a process waits before a call of a script.
func (p *process) runs(s *script.Script) bool { return isCallOf(p.waits, s) }

func isCallOf(cmd redis.Cmder, s *script.Script) bool {
	if cmd == nil || len(cmd.Args()) < 2 {
		return false
	}
	text, _ := cmd.Args()[1].(string)
	return text == s.SHA || text == s.Text
}

// moveScripts are the scripts that a moveWalk sends, by their SHA-1 and by their text.
var moveScripts = map[string]*script.Script{}

func init() {
	for _, s := range []*script.Script{&registerSchedulesScript, &changeRegistryScript, &declareScript, &removeScript, &pauseScheduleScript, &placeScript,
		&moveBeginScript, &moveArriveScript, &moveEndScript, &workScript, &owedScript} {
		moveScripts[s.SHA], moveScripts[s.Text] = s, s
	}
}

// describe returns a short form of a command, for the notes.
func describe(cmd redis.Cmder) string {
	var text strings.Builder
	args := cmd.Args()
	if s := moveScripts[fmt.Sprint(args[min(1, len(args)-1)])]; s != nil {
		text.WriteString(s.Name + " " + fmt.Sprint(args[3]))
		args = args[3+args[2].(int):]
	}
	for _, arg := range args {
		if bytes, ok := arg.([]byte); ok {
			arg = string(bytes)
		}
		fmt.Fprintf(&text, " %q", fmt.Sprint(arg))
	}
	return text.String()
}

// newClient creates a client of the same server.
func newClient(client redis.UniversalClient) redis.UniversalClient {
	if c, ok := client.(*redis.ClusterClient); ok {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Options().Addrs})
	}
	o := client.(*redis.Client).Options()
	return redis.NewClient(&redis.Options{Addr: o.Addr, Protocol: o.Protocol, DisableIdentity: o.DisableIdentity, Dialer: o.Dialer, ContextTimeoutEnabled: o.ContextTimeoutEnabled, PoolSize: 1})
}
