package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/redisstore/internal/script"
)

// Each step that decides between two copies of a schedule compares again, in its own script, with what its caller has read. A step that comes late
// writes nothing.
func TestAStepBetweenTwoCopiesComparesWhatWasRead(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k, registry := b.keys(), b.store.keys.registry()
		h, _ := parseHead(string(b.Declare("s", "skip", `{"job":"j"}`).Stored))
		mark := strings.Replace(h.withState("moved to mail live 1000 0/0/0/0/0"), fmt.Sprint(`"generation":`, h.generation), `"generation":70`, 1)
		b.client.HSet(b.Context(), k.schedules, "left", mark)
		b.client.ZAdd(b.Context(), k.owed, redisZ(1000, "left"))
		contents := func() string {
			return fmt.Sprint(b.client.HGetAll(b.Context(), k.schedules).Val(), b.client.ZRangeWithScores(b.Context(), k.gone, 0, -1).Val(),
				b.owedNames(), b.client.ZRange(b.Context(), registry, 0, -1).Val())
		}
		run := func(s *script.Script, keys []string, args ...any) *redis.Cmd {
			return b.store.run(b.Context(), b.client, newCall(s, keys, args))[0]
		}
		before := contents()
		late := func(what string, cmd *redis.Cmd, want int64) {
			b.Helper()
			if got, err := cmd.Int64(); err != nil || got != want {
				b.Errorf("%s: %d, %v, want %d", what, got, err, want)
			}
			if now := contents(); now != before {
				b.Errorf("%s: it has changed\n%s to\n%s", what, before, now)
			}
		}
		late("a bar where a definition is", run(&barScript, []string{k.schedules, k.gone, k.state}, "s", h.generation+5), 0)
		late("a bar below a mark", run(&barScript, []string{k.schedules, k.gone, k.state}, "left", 69), 0)
		late("a raise of another generation", run(&raiseScript, []string{k.schedules, k.state}, "s", h.generation-1, h.generation+5), 0)
		late("the end of another move", run(&moveEndScript, []string{k.schedules, k.owed, k.state}, "left", 69), -1)
		known, other := home{"default", h.generation - 1}, home{"mail", h.generation + 5}
		late("a change of another entry", run(&changeRegistryScript, []string{registry}, known.member("s"), other.member("s")), 0)

		older := strings.Replace(h.withState("moved to default live 1000 0/0/0/0/0"), fmt.Sprint(`"revision":`, h.revision), `"revision":1`, 1)
		older = strings.Replace(older, fmt.Sprint(`"generation":`, h.generation), fmt.Sprint(`"generation":`, h.generation+9), 1)
		if values := b.arrive("s", "default", older, "", " mail"); values.number(1) != 0 || values.number(3) != h.generation || contents() != before {
			b.Errorf("an older definition arrives: %v; it has changed\n%s to\n%s", values, before, contents())
		}
		earlier := strings.Replace(mark, `"generation":70`, `"generation":69`, 1)
		if values := b.arrive("left", "default", earlier, "", " mail"); values.number(1) != 0 || values.number(2) != 70 || contents() != before {
			b.Errorf("it arrives below a later mark: %v; it has changed\n%s to\n%s", values, before, contents())
		}

		// a bar stops a late arrival of its generation, and a lower bar does not weaken it
		for _, generation := range []int64{80, 79} {
			if barred, err := run(&barScript, []string{k.schedules, k.gone, k.state}, "lost", generation).Int64(); err != nil || barred != 1 {
				b.Fatalf("bar: %d, %v", barred, err)
			}
		}
		before = contents()
		if values := b.arrive("lost", "default", strings.Replace(mark, `"generation":70`, `"generation":80`, 1), "", " mail"); values.number(2) != 80 || contents() != before {
			b.Errorf("it arrives at a bar: %v; it has changed\n%s to\n%s", values, before, contents())
		}
	})
}
