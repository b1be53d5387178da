//go:build real

package redisstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Before its first write a script has read every key that it will write: a key of a wrong type stops it before any change,
// and once the key is right again the same call succeeds.
func TestAWrongTypeStopsACallBeforeItWrites(t *testing.T) {
	run := &protocol.RunRecord{Started: storesuite.Ago(time.Minute), Ended: storesuite.Ago(time.Second), Outcome: "done"}
	settle := func(kind protocol.SettleKind, ids ...string) func(b *bench, held map[string]int64) error {
		return func(b *bench, held map[string]int64) error {
			call := protocol.WorkCall{Take: 0}
			for id, fence := range held {
				for _, prefix := range ids {
					if !strings.HasPrefix(id, prefix) {
						continue
					}
					s := protocol.Settlement{ID: id, Fence: fence, Kind: kind, Failed: kind != protocol.SettleDone, Name: "sms", Delay: time.Hour}
					if strings.Contains(id, "@") {
						s.Run = run
					}
					call.Settle = append(call.Settle, s)
				}
			}
			return b.Try("s", call).Err
		}
	}
	acts := map[string]func(b *bench, held map[string]int64) error{
		"take": func(b *bench, _ map[string]int64) error {
			return b.Try("other", protocol.WorkCall{Take: 5, Sleep: true, Lapses: true}).Err
		},
		"take some": func(b *bench, _ map[string]int64) error { return b.Try("s", protocol.WorkCall{Take: 1}).Err },
		"serve": func(b *bench, _ map[string]int64) error {
			return b.Try("s", protocol.WorkCall{Take: 1, Serve: []string{"mail"}}).Err
		},
		"done":        settle(protocol.SettleDone, "a", "b"),
		"failed":      settle(protocol.SettleLater, "a", "b"),
		"dead":        settle(protocol.SettleDead, "a"),
		"back":        settle(protocol.SettleBack, "a"),
		"park":        settle(protocol.SettlePark, "a"),
		"ran":         settle(protocol.SettleDone, "report"),
		"ran, failed": settle(protocol.SettleLater, "report"),
		"missed":      settle(protocol.SettleMissed, "report"),
		"reap": func(b *bench, _ map[string]int64) error {
			b.client.ZAddXX(b.Context(), b.keys().sessions, redisZ(1000, "s"))
			_, err := b.ReapStep(protocol.ReapCall{Partition: storesuite.DefaultPartition, Session: "s", Seen: time.UnixMilli(1000)})
			return err
		},
		"sweep": func(b *bench, _ map[string]int64) error {
			for _, key := range []string{b.keys().dead, b.keys().parked("mail")} {
				b.client.ZAddXX(b.Context(), key, redisZ(1000, "x"), redisZ(1000, "p"))
			}
			_, err := b.sweep()
			return err
		},
		"bury": func(b *bench, _ map[string]int64) error {
			job := protocol.ExpiredJob{ID: "p", Entry: "p", List: "mail", Body: []byte("\x01p")}
			b.client.ZAddXX(b.Context(), b.keys().parked("mail"), redisZ(1000, "p"))
			_, err := b.store.Bury(b.Context(), storesuite.DefaultPartition, []protocol.Burial{{ExpiredJob: job, Follower: &protocol.Follower{Body: []byte(alert)}}})
			return err
		},
		"leave": func(b *bench, _ map[string]int64) error {
			return b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: storesuite.DefaultPartition, Worker: "w-sleeper"}})
		},
	}
	// The preparation of an action; a sweep is two scripts, the second of which reads keys that the first does not.
	prepared := map[string][]string{"reap": {"sessions"}, "sweep": {"dead", "parked:mail", "jobs", "state"}, "bury": {"parked:mail"}}
	b := onRedis(t) // a real server returns WRONGTYPE in all scripts
	for _, name := range slices.Sorted(maps.Keys(acts)) {
		act := acts[name]
		sample := b.again()
		sample.busy()
		keys := slices.Sorted(maps.Keys(sample.contents()))
		for _, key := range keys {
			key = strings.TrimPrefix(key, sample.keys().prefix)
			c := b.again()
			held := c.busy()
			wrong := c.keys().prefix + key
			aside := c.keys().prefix + "aside"
			c.client.Rename(b.Context(), wrong, aside)
			c.client.Set(b.Context(), wrong, "not chime's", 0)
			before := c.contents()
			numbers := maps.Clone(c.Numbers)
			err := act(c, held)
			after := c.contents()
			for _, changed := range prepared[name] {
				delete(before, c.keys().prefix+changed)
				delete(after, c.keys().prefix+changed)
			}
			switch {
			case err != nil && !errors.Is(err, protocol.ErrUnfit):
				b.Errorf("%s, %s of a wrong type: %v, want ErrUnfit", name, key, err)
			case err != nil && !maps.Equal(before, after):
				b.Errorf("%s, %s of a wrong type: the call failed and left behind\n%s", name, key, difference(before, after))
			}
			if err == nil {
				continue
			}
			c.client.Rename(b.Context(), aside, wrong)
			c.Numbers = numbers
			if err := act(c, held); err != nil {
				b.Errorf("%s, once %s was right again: %v", name, key, err)
			}
		}
	}
}

func TestPlacingMeetsAWrongTypeBeforeItHasPlacedAnything(t *testing.T) {
	server := onRedis(t)
	for _, key := range []string{"owed", "schedules", "cursors", "due", "idle", "counters", "state", "open"} {
		b := server.again()
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		wrong, aside := b.keys().prefix+key, b.keys().prefix+"aside"
		b.client.Rename(b.Context(), wrong, aside)
		b.client.Set(b.Context(), wrong, "not chime's", 0)
		before := b.contents()
		placement := protocol.Placement{Partition: storesuite.DefaultPartition, Name: "s", Revision: declared.Revision, Cursor: declared.Owed.Cursor, Instants: []time.Time{storesuite.Ago(-time.Second)}}
		if a := b.store.Place(b.Context(), []protocol.Placement{placement})[0]; !errors.Is(a.Err, protocol.ErrUnfit) {
			b.Errorf("%s of a wrong type: %+v, want ErrUnfit", key, a)
		}
		if after := b.contents(); !maps.Equal(before, after) {
			b.Errorf("%s of a wrong type: the call failed and left behind\n%s", key, difference(before, after))
		}
		b.client.Del(b.Context(), wrong)
		b.client.Rename(b.Context(), aside, wrong)
		if a := b.store.Place(b.Context(), []protocol.Placement{placement})[0]; a.Placed != 1 {
			b.Errorf("once %s was right again: %+v, want one placed", key, a)
		}
	}
}

// Fields of state that are not numbers are ignored, and no call stops at them.
func TestGarbageInStateStopsNothing(t *testing.T) {
	server := onRedis(t) // with namespaces of its own
	for _, field := range []string{"fence", "done", "layout", "parked", "large", "crashed", "turn", "swept"} {
		for _, value := range []string{"garbage", "", "-1", "1e400", "99999999999999999999", "inf", "nan"} {
			b := server.again()
			b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
			b.client.HSet(b.Context(), b.keys().state, field, value)
			answer := b.Work("s", protocol.WorkCall{Take: 1})
			first := answer.Taken
			b.Want("taken", storesuite.IDs(first), "a")
			if counts := field == "fence" || field == "done"; counts && value == "garbage" && answer.Unreadable != field {
				b.Errorf("%s=%q: the answer says %q cannot be read", field, value, answer.Unreadable)
			}
			second := b.Work("s", protocol.WorkCall{Take: 1, Sleep: true, Lapses: true, Settle: []protocol.Settlement{{ID: "a", Fence: first[0].Fence, Kind: protocol.SettleDone}}})
			b.Want("taken next", storesuite.IDs(second.Taken), "b")
			if len(second.Refused) > 0 || second.Taken[0].Fence <= first[0].Fence {
				b.Errorf("%s=%q: refused %v, fences %d and %d", field, value, second.Refused, first[0].Fence, second.Taken[0].Fence)
			}
			if poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w"}})[0]; poll.Err != nil {
				b.Error(poll.Err)
			}
			if _, err := b.sweep(); err != nil {
				b.Error(err)
			}
		}
	}
}

// contents returns everything in the partition's keys, by key.
func (b *bench) contents() map[string]string {
	b.Helper()
	all := map[string]string{}
	keys, err := b.client.Keys(b.Context(), b.keys().prefix+"*").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range keys {
		var value any
		switch kind := b.client.Type(b.Context(), key).Val(); kind {
		case "hash":
			value = b.client.HGetAll(b.Context(), key).Val()
		case "zset":
			value = b.client.ZRangeWithScores(b.Context(), key, 0, -1).Val()
		case "list":
			value = b.client.LRange(b.Context(), key, 0, -1).Val()
		case "stream":
			value = b.client.XRange(b.Context(), key, "-", "+").Val()
		default:
			value = kind
		}
		all[key] = fmt.Sprint(value)
	}
	return all
}

// difference lists the changes.
func difference(before, after map[string]string) string {
	var lines []string
	for key, value := range before {
		if after[key] != value {
			lines = append(lines, fmt.Sprintf("  %s: %.200s, before %.200s", key, after[key], value))
		}
	}
	for key, value := range after {
		if _, ok := before[key]; !ok {
			lines = append(lines, fmt.Sprintf("  %s: %.200s, before nothing", key, value))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
