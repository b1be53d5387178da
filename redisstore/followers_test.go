package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// The job that follows the end of another one (scripts/lib/follower.lua): added once, in the step that ends that job, and only if it ended in this way.

// follower is the body of a job that follows.
const follower = "\x01\x93\xa7publish\xc4\x00\xc0"

// done settles a job as done, with a job that follows.
func done(taken protocol.TakenJob, in time.Duration) protocol.Settlement {
	return protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Follower: &protocol.Follower{Body: []byte(follower), In: in}}
}

func TestWhatFollowsADoneJobIsAddedOnceHoweverOftenTheCallIsSent(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("first"), storesuite.Job("a"))
		held := b.Take("w", 2)[1]
		follows := protocol.FollowerID("a", protocol.EndDone, held.Fence, "")
		s := done(held, 0)
		wrong := s
		wrong.Fence--
		b.Want("settled under another fence", fmt.Sprint(b.Settle("w", wrong)), "false")
		b.Want("then waits", fmt.Sprint(b.ready()), "[]")
		call := protocol.WorkCall{Settle: []protocol.Settlement{s}}
		b.Work("w", call)
		b.Enqueue(storesuite.Job("last"))
		b.Want("waits, in front", fmt.Sprint(b.ready()), fmt.Sprint([]string{follows, "last"}))
		b.Repeat("w", call)
		b.Settle("w", s)
		b.Want("waits after the same call, and the same settlement, again", fmt.Sprint(b.ready()), fmt.Sprint([]string{follows, "last"}))
		taken := b.Take("other", 5)
		b.Want("taken", storesuite.IDs(taken)+" "+string(taken[0].Body), follows+" last "+follower)
		b.Want("done", fmt.Sprint(b.Stats().Done), "1")
		b.Verified()
	})
}

func TestWhatFollowsLaterIsDueThen(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		held := b.Take("w", 2)
		before := b.serverTime()
		b.Settle("w", done(held[0], 90*time.Minute))
		dead := protocol.Settlement{ID: "b", Fence: held[1].Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead"), Follower: &protocol.Follower{Body: []byte(follower), In: time.Minute}}
		b.Settle("w", dead)
		for id, in := range map[string]time.Duration{
			protocol.FollowerID("a", protocol.EndDone, held[0].Fence, ""): 90 * time.Minute, protocol.FollowerID("b", protocol.EndDead, held[1].Fence, ""): time.Minute,
		} {
			at := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().due, id).Val()))
			if late := at.Sub(before.Add(in)); late < -time.Millisecond || late > time.Minute {
				b.Errorf("%s is due at %v, %v after the end and its In", id, at, late)
			}
		}
		b.Want("waits", fmt.Sprint(b.ready()), "[]")
		b.Verified()
	})
}

// A worker sleeps, and the one that settles requests nothing: the sleeper is woken for what follows.
func TestWhatFollowsWakesASleeper(t *testing.T) {
	for what, group := range map[string]string{"in ready": "", "in a group": "g"} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(storesuite.Job("a"))
				held := b.Take("w", 1)
				b.Work("other", protocol.WorkCall{Take: 1, Sleep: true})
				if b.asleepSince("other").IsZero() {
					b.Fatal("the worker is awake")
				}
				b.Settle("w", doneInto(group, held[0], 0))
				if !b.asleepSince("other").IsZero() {
					b.Error("the sleeper was not woken")
				}
				b.Want("taken", storesuite.IDs(b.Take("other", 5)), followerOf(held[0]))
			})
		})
	}
}

// A job that was cancelled or replaced while it was held has not ended as done, whatever its worker sends.
func TestNothingFollowsACancelledOrReplacedJob(t *testing.T) {
	for what, reported := range map[string]bool{"short path": false, "long path": true} {
		t.Run(what, func(t *testing.T) { nothingFollows(t, reported) })
	}
}

// nothingFollows ends jobs in ways that nothing follows; reported: they have reported progress.
func nothingFollows(t *testing.T, reported bool) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("cancelled"), storesuite.Own("replaced"), storesuite.Own("fails"), storesuite.Own("parked"), storesuite.Own("back"))
		held := b.Take("w", 5)
		b.Want("cancelled", b.Cancel("cancelled"), "asked")
		if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Own("replaced")}); how != protocol.ReplaceDone {
			b.Fatal(how, err)
		}
		call := protocol.WorkCall{}
		for i, kind := range []protocol.SettleKind{protocol.SettleDone, protocol.SettleDone, protocol.SettleLater, protocol.SettlePark, protocol.SettleBack} {
			s := done(held[i], 0)
			s.Kind, s.Delay, s.Name, s.Reported = kind, time.Hour, "mail", reported
			call.Settle = append(call.Settle, s)
		}
		b.Work("w", call)
		jobs := b.client.HKeys(b.Context(), b.keys().jobs).Val()
		for _, id := range jobs {
			if strings.Contains(id, "#") {
				b.Errorf("%s follows, want nothing", id)
			}
		}
		b.Want("jobs", strconv.Itoa(len(jobs)), "4")
		b.Verified()
	})
}

// All IDs of a chain have about the length of the first one, and its partition, at each depth.
func TestTheIDsOfAChainKeepTheirLength(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		root := strings.Repeat("x", 200)
		for _, id := range []string{root, "#5", "order#7", "a#done-5"} {
			b.Enqueue(storesuite.Own(id))
			for depth := 1; depth <= 16; depth++ {
				held := b.Take("w", 1)
				if len(held) != 1 {
					b.Fatalf("%s: depth %d: %d jobs, want what follows", id, depth, len(held))
				}
				end := []string{protocol.EndDone, protocol.EndDead}[depth%2]
				want := protocol.FollowerID(held[0].ID, end, held[0].Fence, "")
				s := done(held[0], 0)
				if end == protocol.EndDead {
					s.Kind, s.Body = protocol.SettleDead, []byte("\x01dead")
				}
				b.Settle("w", s)
				b.Want(fmt.Sprint("follows at depth ", depth), fmt.Sprint(b.ready()), fmt.Sprint([]string{want}))
				if len(want) > len(id)+30 || protocol.PartitionOf(want, 7) != protocol.PartitionOf(id, 7) || !strings.HasSuffix(want, fmt.Sprint(".", depth)) && depth > 1 {
					b.Errorf("depth %d of %s: the ID %q has %d bytes, and partition %d of 7; want at most %d, and %d", depth, id, want, len(want), protocol.PartitionOf(want, 7), len(id)+30, protocol.PartitionOf(id, 7))
				}
			}
			last := b.Take("w", 1)[0]
			b.Settle("w", protocol.Settlement{ID: last.ID, Fence: last.Fence, Kind: protocol.SettleDone})
		}
	})
}

// A job that may be followed is added by enqueue.lua, which raises the layout: the short script does not read it.
func TestAJobThatMayBeFollowedIsNotAddedByTheShortScript(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{storesuite.Job("a")}}})[0]
		b.client.HSet(b.Context(), b.keys().state, "layout", "4") // the partition went back
		item := storesuite.Job("b")
		item.Follows = true
		second := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: 2, Items: []protocol.EnqueueItem{item}, Ticket: first.Ticket}})[0]
		if first.Err != nil || second.Err != nil {
			b.Fatal(first.Err, second.Err)
		}
		b.Want("layout", b.stateField("layout"), layout)
		b.Want("waits", fmt.Sprint(b.ready()), "[a b]")
	})
}
