package redisstore

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/groupmodel"
	"github.com/chimejobs/chime/internal/long"
)

// A walkHook is a hook of a client of a walk.
//
// If repeats is set, it sends each script twice, as after a lost reply, and returns the second answer: of an enqueuer and of a worker the first one, because
// the second one reports that the jobs exist, and refuses no settlement.
//
// If texts is set, the server is a real one, and the scripts and the commands TIME that it sends get the time of a clock that the walk sets. The scripts are
// the same except for the command that reads the time.
type walkHook struct {
	repeats bool
	texts   map[string]string // SHA-1 of a script -> that of the same script with the clock of the walk
	now     time.Time
}

const (
	walkClock = "walk:clock" // a list: the seconds and the microseconds of the clock
	readsTime = "redis.call('TIME')"
)

func withWalkClock(text string) string {
	return strings.ReplaceAll(text, readsTime, "redis.call('LRANGE', '"+walkClock+"', '0', '-1')")
}

func (h *walkHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *walkHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	send := func(ctx context.Context, cmd redis.Cmder) error {
		if h.texts == nil {
			return next(ctx, cmd)
		}
		if clock, ok := cmd.(*redis.TimeCmd); ok {
			clock.SetVal(h.now)
			return nil
		}
		h.change(cmd.Args())
		return next(ctx, cmd)
	}
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !h.repeats || cmd.Name() != "evalsha" || advances(cmd.Args()) {
			return send(ctx, cmd)
		}
		first := slices.Contains([]any{enqueueScript.SHA, enqueueOneScript.SHA, workScript.SHA}, cmd.Args()[1])
		if first {
			if err := send(ctx, cmd); err != nil {
				return err
			}
		}
		again := redis.NewCmd(ctx, cmd.Args()...)
		if err := send(ctx, again); err != nil {
			cmd.SetErr(err)
			return err
		}
		if first {
			return nil
		}
		return send(ctx, cmd)
	}
}

// advances reports whether a second call would do more than the first: reap more, or serve more parked jobs for a session that has taken nothing yet.
func advances(args []any) bool {
	if args[1] != workScript.SHA {
		return args[1] == reapScript.SHA
	}
	values := args[3+args[2].(int):]
	return fmt.Sprint(values[1]) == "1" && fmt.Sprint(values[9]) != "0"
}

// change makes a script read the clock of the walk.
func (h *walkHook) change(args []any) {
	switch args[0] {
	case "evalsha", "evalsha_ro":
		if sha, ok := h.texts[args[1].(string)]; ok {
			args[1] = sha
		}
	case "eval", "eval_ro":
		args[1] = withWalkClock(args[1].(string))
	}
}

func (h *walkHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	send := func(ctx context.Context, cmds []redis.Cmder) error {
		if h.texts != nil {
			for _, cmd := range cmds {
				h.change(cmd.Args())
			}
		}
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if clock, ok := cmd.(*redis.TimeCmd); ok && h.texts != nil && clock.Err() == nil {
				clock.SetVal(h.now)
			}
		}
		return err
	}
	one := h.ProcessHook(func(ctx context.Context, cmd redis.Cmder) error { return next(ctx, []redis.Cmder{cmd}) })
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if h.repeats && slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() == "evalsha" }) {
			for _, cmd := range cmds {
				_ = one(ctx, cmd) // each has its own error
			}
			return nil
		}
		return send(ctx, cmds)
	}
}

// walkTexts loads the scripts with the clock of a walk.
var walkTexts = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for _, name := range scripts.Names() {
		text := scripts.Load(name).Text
		if !strings.Contains(text, readsTime) {
			continue
		}
		sha, err := redisAdmin().ScriptLoad(context.Background(), withWalkClock(text)).Result()
		if err != nil {
			panic(fmt.Sprint(name, ": ", err))
		}
		texts[scripts.Load(name).SHA] = sha
	}
	return texts
})

// onWalkServer runs a part of a walk on the server of this run, with a clock that it may set. repeats: each script is sent twice.
func onWalkServer(t *testing.T, repeats bool, test func(b *bench)) {
	t.Helper()
	server := selectedServer()
	switch server.name {
	case "simulated":
		t.Run(server.name, func(t *testing.T) {
			client, setClock := server.open(t, randomCalls)
			client.AddHook(&walkHook{repeats: repeats})
			test(newBench(t, client, setClock))
		})
	case "redis":
		t.Run(server.name, func(t *testing.T) {
			client, _ := server.open(t, randomCalls)
			hook := &walkHook{repeats: repeats, texts: walkTexts()}
			setClock := func(now time.Time) {
				hook.now = now
				micros := now.UnixMicro()
				clock := []any{micros / 1_000_000, micros % 1_000_000}
				if _, err := redisAdmin().TxPipelined(t.Context(), func(p redis.Pipeliner) error {
					p.Del(t.Context(), walkClock)
					p.RPush(t.Context(), walkClock, clock...)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			setClock(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC))
			client.AddHook(hook)
			test(newBench(t, client, setClock))
		})
	}
}

// groupOperations are the operations of a walk that a store has.
func groupOperations(seed uint64, n int) []groupmodel.Operation {
	return slices.DeleteFunc(groupmodel.Operations(seed, n), func(o groupmodel.Operation) bool { return o.Kind == "Serve" })
}

// For all calls in any order, answered or sent twice, with sessions that vanish, a clock that steps back, sweeps and repairs, a queue with groups does what
// the plain model allows. CHIME_WALK="<seeds> <operations> <first seed> <n>" sets other seeds; then the groups and the keys are compared after every n
// operations, and after each one of a seed that fails.
func TestRandomCallsOfGroupsAreThoseOfTheModel(t *testing.T) {
	seeds, length, every := long.Draw(5, 240), 150, 10
	if text := os.Getenv("CHIME_WALK"); text != "" {
		var n, first uint64
		if _, err := fmt.Sscan(text, &n, &length, &first, &every); err != nil {
			t.Fatal(err)
		}
		seeds = nil
		for i := range n {
			seeds = append(seeds, first+i)
		}
	}
	made := 0
	for _, seed := range seeds {
		for _, repeats := range []bool{false, true} {
			run := func(ops []groupmodel.Operation, every int) (err error) {
				onWalkServer(t, repeats, func(b *bench) {
					q := newGroupQueue(b, every)
					err = runGroups(q, ops)
					made += q.made
				})
				return err
			}
			ops := groupOperations(seed, length)
			if err := run(ops, every); err != nil {
				if run(ops, 1) == nil {
					t.Fatalf("seed %d, each script sent twice: %v: %v", seed, repeats, err)
				}
				ops = groupmodel.Shrink(ops, func(ops []groupmodel.Operation) bool { return run(ops, 1) != nil })
				t.Fatalf("seed %d, each script sent twice: %v: %v", seed, repeats, run(ops, 1))
			}
		}
	}
	t.Logf("%d operations with %d seeds from %d on", made, len(seeds), seeds[0])
}
