package queues_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Groups that may not start their next job are counted by the reason, and the age of a kind is that of its oldest job.
func TestBlockedGroupsAreCounted(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		time.Sleep(700 * 24 * time.Hour) // fake time passes: places are instants after 2001
		g.rule("one", chime.GroupRule{Running: 1})
		if err := g.queues.PauseGroup(t.Context(), "default", "paused"); err != nil {
			t.Fatal(err)
		}
		g.add("one", "one-1", "one-2")
		release := make(chan struct{})
		stop := g.work(2, func(context.Context, *chime.Job) error {
			<-release
			return nil
		})
		defer stop()
		defer close(release)
		fixture.Pass(10 * time.Second)
		g.add("paused", "paused-1")
		fixture.Pass(10 * time.Second)
		sum, err := g.queues.CountGroups(t.Context(), "default", "")
		if err != nil {
			t.Fatal(err)
		}
		blocked := sum.Blocked()
		if got := fmt.Sprint(sum.MayStart.Groups, sum.Paused.Groups, sum.Running.Groups, blocked.Groups); got != "0 1 1 2" {
			t.Errorf("may start, paused, at their limit and blocked are %s groups, want 0 1 1 2", got)
		}
		if age := sum.Now.Sub(blocked.Oldest); blocked.Group != "one" || age < 19*time.Second || age > 21*time.Second {
			t.Errorf("the oldest waits for %v in group %q, want 20 s in one", age, blocked.Group)
		}
		if twice := sum.Plus(*sum); twice.Blocked().Groups != 4 || twice.Paused.Oldest != sum.Paused.Oldest || twice.Now != sum.Now {
			t.Errorf("twice the sum is %+v", twice)
		}
	})
}

func TestCountsOfGroupsRefuseWhatCannotBe(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := redisstore.New(f.Server.Client(), redisstore.Options{Partitions: map[string]int{"wide": 2}})
		if _, err := store.Protocol().Partitions(t.Context(), "wide"); err != nil {
			t.Fatal(err)
		}
		queues := chime.NewQueues(store)
		var invalid *chime.InvalidError
		for _, c := range []struct{ queue, after string }{{"", ""}, {"wide", ""}, {"default", "\t"}} {
			if _, err := queues.CountGroups(t.Context(), c.queue, c.after); !errors.As(err, &invalid) {
				t.Errorf("queue %q, after %q: %v, want an InvalidError", c.queue, c.after, err)
			}
		}
		if _, err := queues.CountGroups(t.Context(), "unknown", ""); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unknown queue: %v, want ErrNotFound", err)
		}
	})
}
