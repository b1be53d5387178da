package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

const spreadBody = `{"version":2,"spread":"24h0m0s","offsetMs":3600500,"job":"j","recurrence":{"frequency":"hour"},"misfire":"skip","args":1}`

// spreadAt declares a schedule whose occurrences are due an hour and half a second after their planned instants, as if it had been created then,
// and places one.
func (b *bench) spreadAt(created, at time.Time) protocol.DeclareAnswer {
	b.Helper()
	declared := b.Declare("s", "skip", spreadBody)
	h, _ := parseHead(string(declared.Stored))
	h.created = created
	b.client.HSet(b.Context(), b.keys().schedules, "s", h.withState("live"))
	placed := b.store.Place(b.Context(), []protocol.Placement{{
		Partition: declared.Owed.Partition, Name: "s", Revision: declared.Revision, Instants: []time.Time{at}, Offset: time.Hour + 500*time.Millisecond, Count: 9,
	}})[0]
	if placed.Placed != 1 {
		b.Fatalf("placed %+v", placed)
	}
	return declared
}

// After any withdrawal of an occurrence before it is due, the cursor is before it again: at the second before its planned instant, or, for
// the run at creation, empty as before it was placed. Only a move places an occurrence again that is due already.
func TestWhatIsWithdrawnBeforeItIsDueIsPlacedAgain(t *testing.T) {
	acts := map[string]func(b *bench, declared protocol.DeclareAnswer){
		"change": func(b *bench, _ protocol.DeclareAnswer) {
			b.Declare("s", "skip", strings.Replace(spreadBody, `"args":1`, `"args":2`, 1))
		},
		"change of the rule": func(b *bench, _ protocol.DeclareAnswer) {
			d := protocol.Declaration{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(strings.Replace(spreadBody, "hour", "day", 1))}
			first := b.store.Declare(b.Context(), []protocol.Declaration{d})[0]
			d.Change = &protocol.Change{Revision: first.Revision, Cursor: first.Cursor, Until: first.Now}
			if answer := b.store.Declare(b.Context(), []protocol.Declaration{d})[0]; !answer.Changed {
				b.Fatalf("changed %+v", answer)
			}
		},
		"pause": func(b *bench, _ protocol.DeclareAnswer) {
			if _, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: "s", Paused: true}); err != nil {
				b.Fatal(err)
			}
		},
		"move": func(b *bench, _ protocol.DeclareAnswer) { b.DeclareOn("mail", "s", "skip", spreadBody) },
		"loss": func(b *bench, _ protocol.DeclareAnswer) {
			b.client.Del(b.Context(), b.keys().due)
			b.repairOrphans()
		},
	}
	for what, act := range acts {
		for _, c := range []struct {
			name    string
			planned time.Duration // ago
			first   bool          // at creation
		}{{"planned, not due", 30 * time.Minute, false}, {"the run at creation", 30 * time.Minute, true}, {"due", 2 * time.Hour, false}, {"in the future", -time.Hour, false}} {
			t.Run(what+", "+c.name, func(t *testing.T) {
				onEveryServer(t, func(b *bench) {
					at, created := storesuite.Ago(c.planned), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
					if c.first {
						created = at.Add(300 * time.Millisecond)
					}
					declared := b.spreadAt(created, at)
					if score := b.client.ZScore(b.Context(), b.keys().due, storesuite.OccurrenceID("s", at)).Val(); int64(score) != at.Add(time.Hour+500*time.Millisecond).UnixMilli() {
						b.Fatalf("planned for %v, it is due at %.0f", at, score)
					}
					before := b.serverSecond()
					act(b, declared)
					found, err := b.store.Find(b.Context(), []string{"s"})
					if err != nil {
						b.Fatal(err)
					}
					got, want := found[0].Cursor, protocol.Cursor{At: at.Add(-time.Second).UTC()}
					switch {
					case c.name == "in the future", c.name == "due" && what == "change of the rule":
						if got.At.Before(before) || got.At.After(b.serverTime()) {
							b.Errorf("the cursor is %+v, want now", got)
						}
						if want.At = got.At; c.name == "due" {
							want.Used = 1
						}
					case c.first:
						want = protocol.Cursor{}
					case c.name == "due" && what != "move":
						want = protocol.Cursor{At: at.UTC(), Used: 1, Placed: true}
					}
					if got != want {
						b.Errorf("the cursor is %+v, want %+v", got, want)
					}
					if due := b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val(); (len(due) > 0) != (c.name == "due" && what != "move" && what != "loss") {
						b.Errorf("in due: %v", due)
					}
				})
			})
		}
	}
}

// Lua reads instants as Go writes them.
func TestScriptsReadInstants(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var instants []any
		for at := time.Date(1899, 12, 31, 23, 59, 59, 0, time.UTC); at.Year() < 2200; at = at.Add(97*24*time.Hour + 5*time.Hour + 7*time.Minute + 11*time.Second) {
			instants = append(instants, at.Format(time.RFC3339))
		}
		script := read("scripts/lib/clock.lua") + read("scripts/lib/instant.lua") + read("scripts/lib/seconds.lua") +
			"local out = {} for i, text in ipairs(ARGV) do out[i] = whole(seconds(text)) .. ' ' .. instant(seconds(text)) end return out"
		got, err := b.client.Eval(b.Context(), script, []string{b.keys().state}, instants...).Slice()
		if err != nil || len(got) != len(instants) {
			b.Fatalf("read %d of %d instants, %v", len(got), len(instants), err)
		}
		for i, text := range instants {
			at, _ := time.Parse(time.RFC3339, text.(string))
			if want := fmt.Sprintf("%d %s", at.Unix(), text); got[i] != want {
				b.Errorf("%s is read as %v, want %s", text, got[i], want)
			}
		}
	})
}
