package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestCallsAreReadInPieces(t *testing.T) {
	const two = "*2\r\n$4\r\necho\r\n$3\r\na\r\n\r\n*3\r\n$7\r\nevalsha\r\n$1\r\nx\r\n$0\r\n\r\n"
	for i := range two {
		if size, commands, scripts := callIn([]byte(two[:i])); size > i || commands > 1 || scripts > 0 {
			t.Errorf("in the first %d bytes: %d bytes, %d commands, %d scripts", i, size, commands, scripts)
		}
	}
	if size, commands, scripts := callIn([]byte(two)); size != len(two) || commands != 2 || scripts != 1 {
		t.Errorf("%d bytes, %d commands, %d scripts, want %d, 2, 1", size, commands, scripts, len(two))
	}
}

// inWorld runs a test on a world without a plan.
func inWorld(t *testing.T, test func(w *World)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Plan{Rests: []time.Duration{time.Hour}}, false)
		test(w)
		w.tasks.Wait()
		w.close()
		time.Sleep(2 * time.Second) // fake time
	})
}

// Each fault does to a script what its comment says: whether it is executed, how often, and whether the client gets an answer.
func TestFaultsHitCallsAsPlanned(t *testing.T) {
	for _, c := range []struct {
		kind   Kind
		by     time.Duration
		fails  bool
		during string // how often it was executed when the call returns
		after  string // and when everything has arrived
	}{
		{LoseCall, 0, true, "0", "0"}, {LoseReply, 0, true, "1", "1"}, {Slow, 2 * time.Second, false, "1", "1"}, {Late, 10 * time.Second, true, "0", "1"},
		{Copy, 10 * time.Second, false, "1", "2"}, {Stall, 0, true, "0", "1"}, {OOM, 0, true, "0", "0"}, {NoScript, 0, false, "1", "1"}, {Cut, 0, true, "0", "0"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			inWorld(t, func(w *World) {
				g := &gate{world: w, name: "p", conns: map[*conn]struct{}{}}
				client := newClient(g.dial)
				defer client.Close()
				count := redis.NewScript("return redis.call('INCR', 'n')")
				if err := w.direct.Set(context.Background(), "n", 0, 0).Err(); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(count.Load(context.Background(), w.direct).Err(), client.Ping(context.Background()).Err()); err != nil {
					t.Fatal(err)
				}
				w.actors["p"] = &actor{live: &life{gate: g}, Actor: &Actor{Name: "p"}}
				f := &Fault{Kind: c.kind, For: 20 * time.Second, On: "p", By: c.by}
				w.beginFault(f)
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				err := count.Run(ctx, client, nil).Err()
				if got := w.direct.Get(context.Background(), "n").Val(); c.kind != LoseReply && got != c.during {
					t.Errorf("executed %s times when the call returned, want %s", got, c.during)
				}
				if fails := err != nil; fails != c.fails && c.kind != LoseReply {
					t.Errorf("the call returned %v", err)
				}
				time.Sleep(20 * time.Second) // fake time
				w.endFault(f)
				time.Sleep(time.Second)
				if got := w.direct.Get(context.Background(), "n").Val(); c.kind != LoseReply && c.kind != Stall && c.kind != Late && got != c.after {
					t.Errorf("executed %s times when all had arrived, want %s", got, c.after)
				} else if got == "0" && c.after != "0" {
					t.Error("never executed")
				}
			})
		})
	}
}

// A slot that goes back has all of its keys as they were, of each type, and no others; the other slots keep theirs.
func TestASlotGoesBackWhole(t *testing.T) {
	inWorld(t, func(w *World) {
		ctx, random := context.Background(), rand.New(rand.NewPCG(1, 1))
		change := func() {
			for range 200 {
				key := fmt.Sprintf("chime:{a}:%d", random.IntN(12))
				var err error
				switch random.IntN(8) {
				case 0:
					err = w.direct.Del(ctx, key).Err()
				case 1:
					err = w.direct.Set(ctx, key+"s", random.IntN(100), time.Duration(random.IntN(2))*time.Hour).Err()
				case 2:
					err = w.direct.HSet(ctx, key+"h", random.IntN(5), "a\x00b\r\n").Err()
				case 3:
					err = w.direct.RPush(ctx, key+"l", random.IntN(5)).Err()
				case 4:
					err = w.direct.SAdd(ctx, key+"t", random.IntN(5)).Err()
				case 5:
					err = w.direct.ZAdd(ctx, key+"z", redis.Z{Score: float64(1700000000000 + random.IntN(1e6)), Member: random.IntN(5)}).Err()
				case 6:
					err = w.direct.XAdd(ctx, &redis.XAddArgs{Stream: key + "x", Values: []any{"f", random.IntN(9), "g", ""}}).Err()
				}
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) // fake time
			}
		}
		content := func() string {
			values, err := w.direct.Eval(ctx, copySlot, nil, "chime:{a}:*").Slice()
			if err != nil {
				t.Fatal(err)
			}
			var text []string
			for at := 0; at < len(values); {
				n := int(values[at+3].(int64))
				part := values[at+4 : at+4+n]
				line := fmt.Sprint(values[at], values[at+1], values[at+2].(int64) > 0)
				if kind := values[at+1]; kind == "hash" {
					fields := map[any]any{}
					for i := 0; i < n; i += 2 {
						fields[part[i]] = part[i+1]
					}
					text, part = append(text, fmt.Sprint(line, fields)), nil
				}
				text, at = append(text, fmt.Sprint(line, part)), at+4+n
			}
			slices.Sort(text)
			return strings.Join(text, "\n")
		}
		change()
		before := content()
		f := &Fault{Kind: GoBack, On: queueA}
		w.beginFault(f)
		change()
		if err := w.direct.Set(ctx, "chime:{b}:kept", 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if content() == before {
			t.Fatal("nothing has changed")
		}
		w.endFault(f)
		if after := content(); after != before {
			t.Errorf("the slot has\n%s\nwant\n%s", after, before)
		}
		if n := w.direct.Exists(ctx, "chime:{b}:kept").Val(); n != 1 {
			t.Error("the other slot has lost its key")
		}
	})
}
