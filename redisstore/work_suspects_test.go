package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// crashed makes jobs look as if their holders had vanished this often.
func (b *bench) crashed(times int, ids ...string) {
	b.Helper()
	b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
	for _, id := range ids {
		b.client.HSet(b.Context(), b.keys().crashes, id, times)
	}
}

// A job whose holders have vanished twice is given to a worker without another such job, and alone. No other job waits for it.
func TestAWorkerIsGivenOneSuspectAtATime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		past := time.Now().Add(-time.Hour)
		for i, id := range []string{"s1", "s2", "s3"} {
			item := storesuite.Job(id)
			item.At = past.Add(time.Duration(i) * time.Second)
			b.Enqueue(item)
		}
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.crashed(2, "s1", "s2", "s3")
		b.crashed(1, "a")
		first := b.Work("one", protocol.WorkCall{Take: 5, Sleep: true})
		b.Want("given first", storesuite.IDs(first.Taken), "s1")
		if !first.Taken[0].Suspect() || !first.More || !first.Suspects {
			b.Errorf("took %+v, more %v; want a suspect, and more", first.Taken, first.More)
		}
		for i, id := range []string{"s2", "s3"} {
			score := b.client.ZScore(b.Context(), b.keys().due, id).Val()
			if wait := time.UnixMilli(int64(score)).Sub(first.Now.Truncate(time.Millisecond)); wait != time.Duration(i+1)*protocol.SuspectStep {
				b.Errorf("%s is due in %v, want a little later, by its rank: it must not remain at the head", id, wait)
			}
		}
		b.NoSuspects = true
		b.Want("beside it", storesuite.IDs(b.Take("one", 5)), "a b")
		b.NoSuspects = false
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(0, "s2"), redisZ(0, "s3"))
		b.Want("given to another worker", storesuite.IDs(b.Take("two", 5)), "s2")
	})
}

// A suspect that comes back to ready delays nothing there.
func TestASuspectInReadyHoldsNothingUp(t *testing.T) {
	for _, order := range []string{"s a b", "a s b", "a b s", "s t a", "a s t"} {
		onEveryServer(t, func(b *bench) {
			var items []protocol.EnqueueItem
			for id := range strings.FieldsSeq(order) {
				items = append(items, storesuite.Job(id))
			}
			b.Enqueue(items...)
			b.crashed(3, "s", "t")
			b.NoSuspects = true
			got := storesuite.IDs(b.Take("holds one", 5))
			b.NoSuspects = false
			seen := map[string]bool{}
			for id := range strings.FieldsSeq(got) {
				if id == "s" || id == "t" {
					b.Errorf("order %s: a second suspect was given: %s", order, got)
				}
				seen[id] = true
			}
			for _, id := range []string{"s", "t"} {
				if strings.Contains(order, id) {
					b.client.ZAddXX(b.Context(), b.keys().due, redisZ(0, id))
				}
			}
			for session := 0; len(seen) < 3; session++ {
				if session > 5 {
					b.Fatalf("order %s: only %v were taken", order, seen)
				}
				taken := b.Take(fmt.Sprint("w", session), 5)
				for _, job := range taken {
					if seen[job.ID] || job.Suspect() && len(taken) > 1 {
						b.Errorf("order %s: took %s after %v", order, storesuite.IDs(taken), seen)
					}
					seen[job.ID] = true
				}
				b.client.ZAddXX(b.Context(), b.keys().due, redisZ(0, "s"), redisZ(0, "t"))
			}
		})
	}
}

// lapsedNow returns the session that has lapsed.
func (b *bench) lapsedNow() protocol.LapsedSession {
	b.Helper()
	lapsed, err := b.store.Lapsed(b.Context(), storesuite.DefaultPartition)
	if err != nil || len(lapsed) != 1 {
		b.Fatalf("lapsed: %v, %v; want one session", lapsed, err)
	}
	return lapsed[0]
}

// A job whose holder vanished once is never taken ahead, so that the store knows each time that its handler begins. Others are taken ahead again
// when it is gone.
func TestAJobWhoseHolderVanishedIsNotTakenAhead(t *testing.T) {
	for _, entry := range []string{"v", "1", "0"} {
		onEveryServer(t, func(b *bench) {
			b.Enqueue(storesuite.Job("a"), storesuite.Job("v"), storesuite.Job("c"), storesuite.Job("d"))
			late := storesuite.Job("late")
			late.At = time.Now().Add(-time.Hour)
			b.Enqueue(late)
			b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
			b.client.HSet(b.Context(), b.keys().crashes, "v", entry)
			if entry == "0" { // it came back, and did not vanish
				if all := b.Work("s", protocol.WorkCall{Take: 4, Ahead: 4}); len(all.Taken) != 4 || all.NotAhead {
					b.Errorf("%d taken, not ahead %v; want four", len(all.Taken), all.NotAhead)
				}
				return
			}
			var order []string
			for call := range 4 {
				if ahead := b.Work("s", protocol.WorkCall{Take: 3, Ahead: 3, Sleep: true}); len(ahead.Taken) != 0 || !ahead.NotAhead || !ahead.More {
					b.Fatalf("call %d: %s are taken ahead, not ahead %v, more %v; want none: v is among the first", call, storesuite.IDs(ahead.Taken), ahead.NotAhead, ahead.More)
				}
				one := b.Work("s", protocol.WorkCall{Take: 3, Ahead: 2})
				if len(one.Taken) != 1 || !one.Taken[0].Begun || !one.NotAhead {
					b.Fatalf("call %d: took %+v, want one job that begins", call, one.Taken)
				}
				if order = append(order, one.Taken[0].ID); one.Taken[0].ID == "v" {
					break
				}
			}
			if at := slices.Index(order, "v"); at < 0 || at > 2 {
				b.Fatalf("taken: %v, want v among the first three", order)
			}
			if rest := b.Work("s", protocol.WorkCall{Take: 4, Ahead: 4}); len(rest.Taken) != 5-len(order) || rest.NotAhead {
				b.Errorf("%s are taken ahead after v, want the other %d", storesuite.IDs(rest.Taken), 5-len(order))
			}
		})
	}
}

// A job that was taken ahead may have begun although the store does not know it.
func TestAJobTakenAheadIsMarkedWhenItsHolderVanishes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("begun"), storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
		b.crashed(2, "b")
		b.client.HSet(b.Context(), b.keys().crashes, "c", "0")
		b.client.HSet(b.Context(), b.keys().inflight("gone"), "\x01", "1 1 1 h 1 w ", "begun", "1700000000000001", "a", "-1700000000000002",
			"b", "-1700000000000003", "c", "-1700000000000004")
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(b.clock().Add(-time.Hour).UnixMilli()), "gone"))
		b.client.Del(b.Context(), b.keys().ready)
		b.Reap(b.lapsedNow(), 0)
		got := b.client.HGetAll(b.Context(), b.keys().crashes).Val()
		if fmt.Sprint(got) != "map[a:v b:2 begun:1 c:v]" {
			b.Errorf("crashes %v, want 1 for the job that had begun, and a mark for those that may have", got)
		}
		for _, job := range b.Work("other", protocol.WorkCall{Take: 4, Suspect: true}).Taken {
			if job.Vanished != (job.ID == "a" || job.ID == "c") {
				b.Errorf("%s is taken with Vanished %v", job.ID, job.Vanished)
			}
		}
	})
}

// The crash after which a suspect is dead counts only if no other job had begun beside it, or if it is the fifth crash.
func TestACrashOfASuspectBesideAnotherJobIsUncertain(t *testing.T) {
	const fence, second = 1_700_000_000_000_000, 1_000_000 // µs
	for name, c := range map[string]struct {
		before string            // the entry of the suspect
		others map[string]string // job -> fence
		alive  int64             // the last sign of life of the worker, µs after the suspect began
		beside string            // the padding of the session's header
		after  string
	}{
		"alone":                                   {"2", nil, 2 * second, "", "3"},
		"beside a job that begins later":          {"2", map[string]string{"x": fmt.Sprint(fence + 1)}, 2 * second, "", "2.1"},
		"beside a cancelled one":                  {"2", map[string]string{"x": fmt.Sprint("!", fence+1)}, 2 * second, "", "2.1"},
		"beside one taken ahead":                  {"2", map[string]string{"x": fmt.Sprint("-", fence+1)}, 2 * second, "", "3"},
		"at once, beside one from before":         {"2", map[string]string{"x": fmt.Sprint(fence - 1)}, second / 2, "", "3"},
		"after its watch, beside one from before": {"2", map[string]string{"x": fmt.Sprint(fence - 1)}, 2 * second, "", "2.1"},
		"again":                           {"2.1", map[string]string{"x": fmt.Sprint(fence + 1)}, 2 * second, "", "2.2"},
		"the fifth time":                  {"2.2", map[string]string{"x": fmt.Sprint(fence + 1)}, 2 * second, "", "5"},
		"alone, later":                    {"2.2", nil, 2 * second, "", "3.2"},
		"the second":                      {"1", map[string]string{"x": fmt.Sprint(fence + 1)}, 2 * second, "", "2"},
		"beside one of another partition": {"2", nil, second / 2, "+..", "2.1"},
		"alone, with padding":             {"2", nil, second / 2, "...", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(storesuite.Job("s"), storesuite.Job("x"))
				b.client.Del(b.Context(), b.keys().ready)
				b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
				b.client.HSet(b.Context(), b.keys().crashes, "s", c.before)
				b.client.HSet(b.Context(), b.keys().inflight("gone~1000"), "\x01", "1 1 1 h 1 w "+c.beside, "s", fmt.Sprint(fence))
				for id, held := range c.others {
					b.client.HSet(b.Context(), b.keys().inflight("gone~1000"), id, held)
				}
				b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64((fence+c.alive)/1000+1000), "gone~1000"))
				b.Reap(b.lapsedNow(), 0)
				if got := b.client.HGet(b.Context(), b.keys().crashes, "s").Val(); got != c.after {
					b.Errorf("the entry is %q, want %q", got, c.after)
				}
				uncertain := strings.Contains(c.after, ".") && strings.HasPrefix(c.after, "2")
				if delayed := b.client.ZScore(b.Context(), b.keys().due, "s").Err() == nil; delayed != (uncertain || c.after == "2") {
					b.Errorf("it is delayed: %v", delayed)
				}
			})
		})
	}
}
