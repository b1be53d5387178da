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

// A damage is done to a namespace by a manual edit, an eviction or a failover: want lists the findings, "<kind> <ID or schedule>"; runs checks
// the promise of the repair.
type damage struct {
	what string
	do   func(b *bench)
	want string
	runs func(b *bench)
}

// takes returns a check that these jobs, and no others, can be taken.
func takes(want string) func(b *bench) {
	return func(b *bench) {
		b.Helper()
		taken := b.Work("after", protocol.WorkCall{Take: 10, Serve: []string{"mail"}}).Taken
		b.Want("taken after the repair", storesuite.IDs(taken), want)
		var settle []protocol.Settlement
		for _, job := range taken {
			settle = append(settle, storesuite.Done(job))
		}
		if answer := b.Work("after", protocol.WorkCall{Settle: settle}); len(answer.Refused) > 0 {
			b.Errorf("refused: %v", answer.Refused)
		}
	}
}

// owed returns a check that these schedules are owed their next occurrences.
func owed(want string) func(b *bench) {
	return func(b *bench) { b.Helper(); b.Want("owed after the repair", b.owedNames(), want) }
}

// later and earlier are instants of occurrences.
var later, earlier = storesuite.Ago(-time.Hour), storesuite.Ago(time.Minute)

// placed declares the schedule s, whose next occurrence is placed.
func (b *bench) placed() protocol.DeclareAnswer { b.Helper(); return b.Scheduled("s", "skip", later) }

var damages = []damage{
	{"attempts of a history that is gone", func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		b.client.HSet(b.Context(), b.keys().history, "s", "=a1 2 2 0 0 0 0 2 0 ", "a1\t2", "0 0 ", "a1\t1", "1 0 1,0:x", "b2\t7", "1 0 1,0:x", "\t", "9")
	}, "history a1, history b2", func(b *bench) {
		b.Helper()
		b.wantWholeHistories("after the repair", storesuite.DefaultPartition)
		b.Want("attempts", fmt.Sprint(len(b.client.HKeys(b.Context(), b.keys().history).Val())), "3")
	}},
	{"an occurrence is lost", func(b *bench) {
		b.placed()
		b.client.ZRem(b.Context(), b.keys().due, storesuite.OccurrenceID("s", later))
	}, "unplaced s", owed("[s]")},
	{"owed is lost", func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		b.client.Del(b.Context(), b.keys().owed)
	}, "cursor s", owed("[s]")},
	{"a placed schedule is owed", func(b *bench) {
		b.placed()
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1, "s"))
	}, "doubled s", owed("[]")},
	{"a cursor is lost", func(b *bench) {
		b.placed()
		b.client.HDel(b.Context(), b.keys().cursors, "s")
	}, "cursor s", owed("[s]")},
	{"a schedule waits for no run", func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(passedOver+1, "s"))
	}, "held s", func(b *bench) {
		if score := b.client.ZScore(b.Context(), b.keys().owed, "s").Val(); score >= passedOver {
			b.Errorf("it is still skipped: %v", score)
		}
	}},
	{"the registry of schedules is deleted", func(b *bench) {
		b.placed()
		b.client.Del(b.Context(), b.store.keys.registry())
	}, "unregistered s", func(b *bench) {
		if found, err := b.store.Find(b.Context(), []string{"s"}); err != nil || found[0].Name != "s" {
			b.Errorf("found %+v, %v", found, err)
		}
	}},
	{"a definition is lost", func(b *bench) {
		b.placed()
		b.client.HDel(b.Context(), b.keys().schedules, "s")
	}, "undefined s", func(b *bench) {
		if answer := b.Declare("s", "skip", `{"job":"j"}`); answer.Owed == nil {
			b.Errorf("declared again: %+v, want that it is owed its next occurrence", answer)
		}
	}},
	{"an entry of the registry is no entry", func(b *bench) {
		b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, "garbage"))
	}, "undefined", takes("")},
	{"a flight is lost with its session", func(b *bench) {
		b.Scheduled("s", "skip", earlier, later)
		b.Take("s1", 1)
		b.client.Del(b.Context(), b.keys().inflight("s1"))
		b.client.ZRem(b.Context(), b.keys().sessions, "s1")
	}, "open s", func(b *bench) { b.Want("open", fmt.Sprint(b.client.HLen(b.Context(), b.keys().open).Val()), "0") }},
	{"an entry of open cannot be read, with and without a schedule", func(b *bench) {
		b.Scheduled("s", "wait", earlier, later)
		b.client.ZRem(b.Context(), b.keys().due, storesuite.OccurrenceID("s", earlier))
		b.client.ZAdd(b.Context(), b.keys().behind, redisZ(0, "s\t"+strings.TrimPrefix(storesuite.OccurrenceID("s", earlier), "s@")))
		b.client.HSet(b.Context(), b.keys().open, "s", "garbage", "none", "")
	}, "behind s, open none, open s", takes(storesuite.OccurrenceID("s", earlier))},
	{"open is deleted while runs wait", func(b *bench) {
		b.Scheduled("s", "wait", earlier, later)
		b.client.ZRem(b.Context(), b.keys().due, storesuite.OccurrenceID("s", earlier))
		b.client.ZAdd(b.Context(), b.keys().behind, redisZ(0, "s\t"+strings.TrimPrefix(storesuite.OccurrenceID("s", earlier), "s@")))
	}, "behind s", takes(storesuite.OccurrenceID("s", earlier))},
	{"the sessions are deleted", func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.Take("s1", 1)
		b.client.Del(b.Context(), b.keys().sessions)
	}, "session s1", func(b *bench) {
		b.Reap(b.UntilLapsed(), 1)
		takes("a b")(b)
	}},
	{"ready is deleted", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.client.Del(b.Context(), b.keys().ready)
	}, "lost a", takes("a")},
	{"due is deleted", func(b *bench) {
		b.Enqueue(protocol.EnqueueItem{ID: "a", Body: []byte("\x01a"), In: time.Hour})
		b.client.Del(b.Context(), b.keys().due)
	}, "lost a", takes("a")},
	{"the dead are deleted", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Settle("s1", protocol.Settlement{ID: "a", Fence: b.Take("s1", 1)[0].Fence, Kind: protocol.SettleDead})
		b.client.Del(b.Context(), b.keys().dead)
	}, "lost a", takes("a")},
	{"a flight is deleted", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Take("s1", 1)
		b.client.Del(b.Context(), b.keys().inflight("s1"))
	}, "lost a", takes("a")},
	{"the body of a waiting job is lost", func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.client.HDel(b.Context(), b.keys().jobs, "a")
	}, "empty a", takes("b")},
	{"the body of a delayed job is lost", func(b *bench) {
		b.Enqueue(protocol.EnqueueItem{ID: "a", Body: []byte("\x01a"), In: time.Hour})
		b.client.Del(b.Context(), b.keys().jobs)
	}, "empty a", func(b *bench) {
		b.Enqueue(storesuite.Own("a")) // it may be enqueued again
		takes("a")(b)
	}},
	{"the body of a dead job is lost", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Settle("s1", protocol.Settlement{ID: "a", Fence: b.Take("s1", 1)[0].Fence, Kind: protocol.SettleDead})
		b.client.Del(b.Context(), b.keys().jobs)
	}, "empty a", func(b *bench) { b.Want("dead", fmt.Sprint(b.Stats().Dead), "0") }},
	{"the body of a parked job is lost", func(b *bench) {
		b.park("s1", "mail")
		b.client.Del(b.Context(), b.keys().jobs)
	}, "empty j-mail", func(b *bench) { b.Want("parked", fmt.Sprint(b.Stats().Parked, b.stateField("parked")), "0") }},
	{"a job waits and is due", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, "a"))
	}, "duplicate a", takes("a")},
	{"a job waits twice", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.client.RPush(b.Context(), b.keys().ready, "a")
	}, "duplicate a", takes("a")},
	{"a job waits four times and is due", func(b *bench) {
		b.Enqueue(protocol.EnqueueItem{ID: "a", Body: []byte("\x01a"), In: time.Hour})
		b.client.RPush(b.Context(), b.keys().ready, "a", "a", "a", "a")
	}, "duplicate a", takes("a")},
	{"a job waits and is in flight", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Take("s1", 1)
		b.client.RPush(b.Context(), b.keys().ready, "a")
	}, "duplicate a", takes("")},
	{"a job is dead and delayed", func(b *bench) {
		b.Enqueue(protocol.EnqueueItem{ID: "a", Body: []byte("\x01a"), In: time.Hour})
		b.client.ZAdd(b.Context(), b.keys().dead, redisZ(1, "a"))
	}, "duplicate a", func(b *bench) { s := b.Stats(); b.Want("dead, delayed", fmt.Sprint(s.Dead, s.Delayed), "0 1") }},
	{"ready is deleted, but not its cancelled IDs", func(b *bench) {
		b.Enqueue(storesuite.Own("a"))
		b.Cancel("a")
		b.client.Del(b.Context(), b.keys().ready)
	}, "void a", func(b *bench) {
		b.Enqueue(storesuite.Own("a"))
		takes("a")(b)
	}},
	{"an occurrence that was cancelled ahead is lost", func(b *bench) {
		b.client.HSet(b.Context(), b.keys().jobs, storesuite.OccurrenceID("s", later), "\x00")
	}, "mark " + storesuite.OccurrenceID("s", later), func(b *bench) {
		b.Want("bodies", fmt.Sprint(b.client.HLen(b.Context(), b.keys().jobs).Val()), "0")
	}},
	{"a job that follows a flight is left over", func(b *bench) {
		b.client.HSet(b.Context(), b.keys().after, "a", "1000 \x01new")
	}, "after a", takes("a")},
	{"a flight has lost the sign of the job that follows it", func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Take("s1", 1)
		b.client.HSet(b.Context(), b.keys().after, "a", "1000 \x01new")
	}, "after a", func(b *bench) {
		fence := strings.TrimPrefix(b.client.HGet(b.Context(), b.keys().inflight("s1"), "a").Val(), "+")
		var n int64
		fmt.Sscan(fence, &n)
		b.Settle("s1", protocol.Settlement{ID: "a", Fence: n, Kind: protocol.SettleDone})
		takes("a")(b)
	}},
	{"a job of a group at two places", func(b *bench) {
		b.grouped("line", "tenant", 7, "a")
		b.client.ZAdd(b.Context(), b.keys().line, redisZ(0, "tenant\t0000000000000009\ta"))
	}, "group a", func(b *bench) {
		b.Want("line", fmt.Sprint(b.members(b.keys().line)), "[tenant\t0000000000000007\ta]")
		b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"a"})), "e")
	}},
	{"a place in a group of no job", func(b *bench) {
		b.client.HSet(b.Context(), b.keys().places, "a", "0000000000000007 tenant")
		b.client.HSet(b.Context(), b.keys().state, "groups", strings.Repeat("0", 22)+" 0 0 1000000000000000 0000000000000007")
	}, "group a", func(b *bench) { b.wantSoundLine("repaired") }},
	{"progress of no flight", func(b *bench) {
		b.client.HSet(b.Context(), b.keys().progress, "a", "half")
	}, "progress a", func(b *bench) {
		b.Want("progress", fmt.Sprint(b.client.HLen(b.Context(), b.keys().progress).Val()), "0")
	}},
	{"a result never expires", func(b *bench) {
		b.client.HSet(b.Context(), b.keys().results, "a", "dr|1")
	}, "result a", func(b *bench) {
		if until := b.client.ZScore(b.Context(), b.keys().kept, "a").Val(); until < float64(time.Now().UnixMilli()) {
			b.Errorf("it is kept until %v", until)
		}
	}},
	{"a result is lost", func(b *bench) { b.client.ZAdd(b.Context(), b.keys().kept, redisZ(9e12, "a")) }, "result a", func(b *bench) {
		b.Want("kept", fmt.Sprint(b.client.ZCard(b.Context(), b.keys().kept).Val()), "0")
	}},
	{"a list of parked jobs is not named", func(b *bench) {
		b.park("s1", "mail")
		b.client.Del(b.Context(), b.keys().unhandled)
	}, "parked mail", takes("j-mail")},
	{"state is deleted", func(b *bench) {
		b.park("s1", "mail")
		b.Enqueue(storesuite.Own("a"))
		b.Cancel("a")
		b.client.HSet(b.Context(), b.keys().crashes, "c", "1")
		b.client.RPush(b.Context(), b.keys().purged, "p")
		b.client.Del(b.Context(), b.keys().state)
		b.client.HDel(b.Context(), b.keys().crashes, "c")
	}, "flag parked, flag purge, flag stale", takes("j-mail")},
	{"crashes without their flag", func(b *bench) { b.client.HSet(b.Context(), b.keys().crashes, "c", "1") }, "flag crashed", func(b *bench) {
		b.Want("crashed", b.stateField("crashed"), "1")
	}},
	{"idle is deleted", func(b *bench) {
		b.pause(true)
		b.client.Del(b.Context(), b.keys().idle)
	}, "flag gate", func(b *bench) {
		if !b.gateClosed() {
			b.Error("the gate is open while the queue is paused")
		}
	}},
	{"the gate is left closed", func(b *bench) { b.client.ZAdd(b.Context(), b.keys().idle, redisZ(-1, "#closed")) }, "flag gate", func(b *bench) {
		if b.gateClosed() {
			b.Error("the gate is closed, but the queue is neither paused nor limited")
		}
	}},
	{"a limit counts wrongly", func(b *bench) {
		b.Limit(protocol.QueueLimit{Running: 2})
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.Take("s1", 1)
		fields := strings.Fields(b.stateField("limit"))
		fields[3] = "2"
		b.client.HSet(b.Context(), b.keys().state, "limit", strings.Join(fields, " "))
	}, "count limit", takes("b")},
	{"a definition cannot be read", func(b *bench) {
		declared := b.placed()
		b.client.HSet(b.Context(), b.keys().schedules, "s", "?"+string(declared.Stored))
	}, "unreadable s", nil},
	{"a key is another program's", func(b *bench) { b.client.Set(b.Context(), b.keys().once, "theirs", 0) }, "foreign", nil},
}

// found formats findings like the want of a damage, in order.
func found(findings []protocol.Finding) string {
	var all []string
	for _, f := range findings {
		text := f.Kind
		switch {
		case f.ID != "":
			text += " " + f.ID
		case f.Schedule != "":
			text += " " + f.Schedule
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// namespaceContents returns everything in the namespace.
func (b *bench) namespaceContents() string {
	b.Helper()
	var all []string
	keys := []string{}
	for key := range b.store.keys.shared() {
		keys = append(keys, key)
	}
	v := &verifier{store: b.store}
	if err := v.eachKey(b.Context(), func(some []string) error { keys = append(keys, some...); return nil }); err != nil {
		b.Fatal(err)
	}
	for _, key := range keys {
		var value any
		switch b.client.Type(b.Context(), key).Val() {
		case "hash":
			value = b.client.HGetAll(b.Context(), key).Val()
		case "zset":
			value = b.client.ZRangeWithScores(b.Context(), key, 0, -1).Val()
		case "list":
			value = b.client.LRange(b.Context(), key, 0, -1).Val()
		case "stream":
			value = b.client.XRange(b.Context(), key, "-", "+").Val()
		case "string":
			value = b.client.Get(b.Context(), key).Val()
		}
		all = append(all, fmt.Sprintf("%s %q", key, fmt.Sprint(value)))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

func TestVerifyFindsEachKindOfDamageAndWritesNothing(t *testing.T) {
	for _, d := range damages {
		t.Run(d.what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				d.do(b)
				before := b.namespaceContents()
				b.Want("found", found(b.Verify(false)), d.want)
				if after := b.namespaceContents(); after != before {
					b.Errorf("the keys are\n%s\nwant them unchanged:\n%s", after, before)
				}
			})
		})
	}
}

func TestVerifyRepairsEachKindOfDamage(t *testing.T) {
	for _, d := range damages {
		t.Run(d.what, func(t *testing.T) {
			onServersWith(t, repairing, func(b *bench) {
				d.do(b)
				findings := b.Verify(true)
				b.Want("found", found(findings), d.want)
				for _, f := range findings {
					if f.Detail == "" || f.Repaired != (f.Remedy != "") || f.Repaired != (d.runs != nil) {
						b.Errorf("found %+v; want that it is repaired: %v", f, d.runs != nil)
					}
				}
				if d.runs == nil {
					b.Want("found again", found(b.Verify(true)), d.want)
					return
				}
				b.Verified()
				d.runs(b)
				b.Verified()
			})
		})
	}
}

// Every kind has its case here, or a reason why not.
func TestEveryKindOfFindingHasItsDamage(t *testing.T) {
	for _, kind := range []string{
		protocol.FoundUnplaced, protocol.FoundDoubled, protocol.FoundCursor, protocol.FoundHeld, protocol.FoundUnreadable, protocol.FoundUnregistered, protocol.FoundUndefined,
		protocol.FoundOpen, protocol.FoundBehind, protocol.FoundSession, protocol.FoundLost, protocol.FoundEmpty, protocol.FoundDuplicate, protocol.FoundVoid, protocol.FoundMark,
		protocol.FoundAfter, protocol.FoundProgress, protocol.FoundResult, protocol.FoundHistory, protocol.FoundInGroup, protocol.FoundParked, protocol.FoundFlag, protocol.FoundCount, protocol.FoundForeign,
	} {
		if !slices.ContainsFunc(damages, func(d damage) bool { return strings.HasPrefix(d.want, kind) }) {
			t.Errorf("no damage of kind %s", kind)
		}
	}
}
