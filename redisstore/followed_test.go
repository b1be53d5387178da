package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Finished jobs that another one follows at once are settled on the short path of work.lua (scripts/lib/followed.lua), all others on its long path.

// A call with all kinds of finished jobs, some of which were cancelled or replaced, or are not held, ends each one and adds what follows each one, once.
// The long path, which a job takes that has reported progress, adds the same.
func TestBothPathsAddWhatFollows(t *testing.T) {
	for what, long := range map[string]bool{"short path": false, "long path": true} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				names := strings.Fields("plain followed1 cancelled replaced followed2 unheld kept followed3 large grouped")
				for _, name := range names {
					item := storesuite.Own(name)
					if name == "grouped" {
						item.Group = "g"
					}
					b.Enqueue(item)
				}
				held := b.Take("w", len(names))
				if len(held) != len(names) {
					b.Fatalf("took %s", storesuite.IDs(held))
				}
				b.Want("cancelled", b.Cancel("cancelled"), "asked")
				if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Own("replaced")}); how != protocol.ReplaceDone {
					b.Fatal(how, err)
				}
				call, want, jobs := protocol.WorkCall{}, []string{}, []string{"replaced"}
				for _, job := range held {
					s := protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Reported: long}
					switch job.ID {
					case "plain":
					case "kept":
						s.Result = &protocol.Result{Keep: time.Hour, Body: []byte("r")}
					default:
						s.Follower = &protocol.Follower{Body: []byte(follower + job.ID)}
					}
					switch job.ID {
					case "unheld":
						s.Fence--
						jobs = append(jobs, "unheld")
					case "large":
						s.Follower.Body = []byte(strings.Repeat("x", largeBody+1))
						want = append(want, followerOf(job))
					case "followed1", "followed2", "followed3", "grouped":
						want = append(want, followerOf(job))
					}
					call.Settle = append(call.Settle, s)
				}
				b.Work("w", call)
				ready := append(want, "replaced")
				if got := b.ready(); !sameSet(got, ready) || fmt.Sprint(without(got, "replaced")) != fmt.Sprint(want) {
					b.Errorf("ready has %q, want %q in this order, and the replaced job", got, want)
				}
				if got := b.client.HKeys(b.Context(), b.keys().jobs).Val(); !sameSet(got, append(jobs, want...)) {
					b.Errorf("jobs has %q, want %q", got, append(jobs, want...))
				}
				if large := b.client.HGet(b.Context(), b.keys().state, "large").Val(); large != "1" {
					b.Errorf("the field large is %q, want 1: an envelope is long", large)
				}
				b.Want("result kept", fmt.Sprint(b.client.HKeys(b.Context(), b.keys().results).Val()), "[kept]")
				b.Repeat("w", call)
				if got := b.ready(); !sameSet(got, ready) {
					b.Errorf("after the call was sent again, ready has %q, want %q", got, ready)
				}
				taken := b.Take("other", 20)
				for _, job := range taken {
					for _, of := range []string{"followed1", "followed2", "followed3", "grouped"} {
						if strings.HasPrefix(job.ID, of) {
							b.Want("the body of what follows "+of, string(job.Body), follower+of)
						}
					}
				}
				b.Verified()
			})
		})
	}
}

// The call that ends a job may also request jobs, and take the last one that waits. It reports that more wait: the job that follows.
func TestACallReportsThatWhatFollowsWaits(t *testing.T) {
	for what, long := range map[string]bool{"short path": false, "long path": true} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(storesuite.Job("a"))
				held := b.Take("w", 1)
				b.Enqueue(storesuite.Job("b"))
				s := done(held[0], 0)
				s.Reported = long
				answer := b.Work("w", protocol.WorkCall{Take: 5, Sleep: true, Settle: []protocol.Settlement{s}})
				b.Want("taken", storesuite.IDs(answer.Taken), "b")
				if !answer.More || !b.asleepSince("w").IsZero() {
					b.Errorf("more %v, asleep since %v; want more, and awake", answer.More, b.asleepSince("w"))
				}
			})
		})
	}
}

// sameSet reports whether two lists have the same texts, in any order.
func sameSet(a, b []string) bool {
	count := map[string]int{}
	for _, text := range a {
		count[text]++
	}
	for _, text := range b {
		count[text]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// without returns the list without a text.
func without(list []string, text string) (rest []string) {
	for _, one := range list {
		if one != text {
			rest = append(rest, one)
		}
	}
	return rest
}
