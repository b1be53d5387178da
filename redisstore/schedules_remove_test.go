package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A sentAgain is a hook of a client that executes one command or pipeline twice, the n-th from 0: its first reply is lost, something else happens, and
// the client sends it again.
type sentAgain struct {
	left    *int
	between func()
}

func (s sentAgain) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s sentAgain) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if *s.left--; *s.left == -1 {
			_ = next(ctx, copyOf(ctx, cmd))
			s.between()
		}
		return next(ctx, cmd)
	}
}

func (s sentAgain) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if *s.left--; *s.left == -1 {
			lost := make([]redis.Cmder, len(cmds))
			for i, cmd := range cmds {
				lost[i] = copyOf(ctx, cmd)
			}
			_ = next(ctx, lost)
			s.between()
		}
		return next(ctx, cmds)
	}
}

func copyOf(ctx context.Context, cmd redis.Cmder) *redis.Cmd {
	lost := redis.NewCmd(ctx, cmd.Args()...)
	if cmd.Name() == "evalsha" || cmd.Name() == "eval" {
		lost.SetFirstKeyPos(3)
	}
	return lost
}

// A deletion deletes the schedule that existed when it began. If the reply to one of its calls is lost, and somebody creates a schedule of that name before
// the call is sent again, the new schedule remains.
func TestADeletionThatIsSentAgainKeepsWhatWasCreatedMeanwhile(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		created := 0
		for commands := range 14 {
			name := fmt.Sprintf("s%d", commands)
			b.Scheduled(name, "allow", storesuite.Ago(time.Minute))
			var declared protocol.DeclareAnswer
			left := commands
			client := newClient(b.client)
			b.Cleanup(func() { client.Close() })
			client.AddHook(sentAgain{&left, func() { declared = b.DeclareOn("default", name, "allow", `{"job":"new"}`) }})
			found, err := newStore(client, Options{Namespace: string(b.store.keys)}).Remove(b.Context(), protocol.Removal{Name: name})
			if err != nil || !found {
				b.Errorf("command %d: %v, %v; want that it was found", commands, found, err)
			}
			if !declared.New {
				continue // it was changed before it was deleted, or Remove has sent fewer commands
			}
			created++
			if after, err := b.store.Find(b.Context(), []string{name}); err != nil || !strings.Contains(string(after[0].Definition), `"new"`) {
				b.Errorf("command %d was sent again after another schedule was created: %+v, %v; want that it remains", commands, after, err)
			}
		}
		if created < 2 {
			b.Errorf("%d schedules were created meanwhile: this test searches in the wrong place", created)
		}
	})
}
