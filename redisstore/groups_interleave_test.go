package redisstore

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Calls on jobs of groups that meet each other: each order in which one of them could break what holds.

// flightsOf returns the counted flights of a group.
func (b *bench) flightsOf(group string) (n int) {
	text := b.client.HGet(b.Context(), b.keys().groups, group).Val()
	if text != "" {
		_, _ = fmt.Sscanf(text[1:], "%d", &n)
	}
	return n
}

// lapse lets sessions lapse, and returns them.
func (b *bench) lapse(sessions ...string) (lapsed []protocol.LapsedSession) {
	b.Helper()
	at := b.serverTime().Add(-time.Second).Truncate(time.Millisecond)
	for _, session := range sessions {
		b.client.ZAddXX(b.Context(), b.keys().sessions, redisZ(float64(at.UnixMilli()), session))
		lapsed = append(lapsed, protocol.LapsedSession{Session: session, Lapse: at})
	}
	return lapsed
}

// A take that is sent again counts no flight, also if the group's rule and its flights have changed since.
func TestARepeatedTakeCountsNoFlight(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(several("a", 8)...)
		b.Take("gone", 2)
		first := b.Work("s", protocol.WorkCall{Take: 3}).Taken
		b.setRule("a", "0 1 0 0 0 0 0")
		b.Reap(b.lapse("gone")[0], 1)
		b.wantSoundLine("reaped")
		again := b.Repeat("s", protocol.WorkCall{Take: 3})
		b.Want("the same jobs", storesuite.IDs(again.Taken), storesuite.IDs(first))
		b.wantSoundLine("sent again")
		if n := b.flightsOf("a"); n != 3 {
			b.Errorf("%d flights, want 3", n)
		}
		b.Want("none may start", storesuite.IDs(b.Take("s", 3)), "")
	})
}

// The flights of a session that has vanished are counted until each step of reaping gives them back.
func TestFlightsOfAGroupReapedInSteps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("a", "0 1201 0 0 0 0 0")
		for i := range 3 {
			var items []protocol.EnqueueItem
			for j := range 450 {
				items = append(items, inGroup("a", fmt.Sprintf("a%d", i*450+j)))
			}
			b.Enqueue(items...)
			b.Work("gone", protocol.WorkCall{Take: 400})
		}
		b.wantSoundLine("taken")
		lapsed := b.lapse("gone")[0]
		for step, want := range []int{700, 201, 2} { // each step but the last is followed by a take of one job
			done, err := b.ReapStep(protocol.ReapCall{Partition: storesuite.DefaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse, Seed: 1})
			if err != nil || done != (step == 2) {
				b.Fatalf("step %d: done %v, %v", step, done, err)
			}
			b.wantSoundLine(fmt.Sprint("step ", step))
			if n := b.flightsOf("a"); n != want {
				b.Fatalf("%d flights after step %d, want %d", n, step, want)
			}
			b.Want("taken", fmt.Sprint(len(b.Take("s", 1))), "1")
			b.wantSoundLine(fmt.Sprint("taken after step ", step))
		}
	})
}

// purgeOthers purges the jobs that wait. Meanwhile a job with this ID joins group a.
func (b *bench) purgeOthers(id string) {
	b.Helper()
	if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
		b.Fatal(err)
	}
	b.Enqueue(inGroup("a", id))
	if _, err := b.store.finishPurge(b.Context(), storesuite.DefaultPartition); err != nil {
		b.Fatal(err)
	}
}

// Whatever ends the last flight of a group with one slot, the next job of the group starts: a sleeper is woken, or the caller takes it. A purge, a burial
// and the end of a retention end no flight; what they end may be a blocker, see TestEachEndOfABlockerWakesASleeper.
func TestWhoEndsTheLastFlightWakesASleeper(t *testing.T) {
	ends := map[string]func(b *bench, flying protocol.TakenJob){
		"a settlement": func(b *bench, flying protocol.TakenJob) { b.finish("s", flying) },
		"a settlement of a caller that sleeps on": func(b *bench, flying protocol.TakenJob) {
			b.Work("s", protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: flying.ID, Fence: flying.Fence, Kind: protocol.SettleDone}}})
		},
		"a death": func(b *bench, flying protocol.TakenJob) {
			b.Settle("s", protocol.Settlement{ID: flying.ID, Fence: flying.Fence, Kind: protocol.SettleDead, Body: flying.Body})
		},
		"giving it back": func(b *bench, flying protocol.TakenJob) {
			b.Settle("s", protocol.Settlement{ID: flying.ID, Fence: flying.Fence, Kind: protocol.SettleBack, Unbegun: true})
		},
		"an end that a job of the group follows": func(b *bench, flying protocol.TakenJob) { b.Settle("s", doneInto("a", flying, 0)) },
		"parking": func(b *bench, flying protocol.TakenJob) {
			b.Settle("s", protocol.Settlement{ID: flying.ID, Fence: flying.Fence, Kind: protocol.SettlePark, Name: "mail"})
		},
		"a settlement after a purge of the others": func(b *bench, flying protocol.TakenJob) {
			b.purgeOthers("a3")
			b.finish("s", flying)
		},
		"reaping after a purge of the others": func(b *bench, _ protocol.TakenJob) {
			b.purgeOthers("a3")
			b.Reap(b.lapse("s")[0], 1)
		},
		"reaping": func(b *bench, _ protocol.TakenJob) { b.Reap(b.lapse("s")[0], 1) },
		"a cancellation": func(b *bench, flying protocol.TakenJob) {
			b.Want("cancelled", b.Cancel(flying.ID), "asked")
			b.finish("s", flying)
		},
		"a replacement": func(b *bench, flying protocol.TakenJob) {
			item := storesuite.Own(flying.ID)
			item.In = time.Hour
			if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: item}); err != nil {
				b.Fatal(err)
			}
			b.finish("s", flying)
		},
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setRule("a", "0 1 0 0 0 0 0")
				b.Enqueue(several("a", 2)...)
				flying := b.Take("s", 5)
				b.Want("taken", storesuite.IDs(flying), "a1")
				b.Work("other", protocol.WorkCall{Take: 1, Sleep: true})
				if b.asleepSince("other").IsZero() {
					b.Fatal("a job that may not start keeps a worker awake")
				}
				end(b, flying[0])
				b.wantSoundLine(what)
				if !b.asleepSince("other").IsZero() {
					b.Error("the sleeper was not woken")
				}
				if n := len(b.Take("other", 5)); n != 1 {
					b.Errorf("%d jobs are taken then, want 1", n)
				}
				b.wantSoundLine("taken then")
			})
		})
	}
}

// A job that has failed blocks the others of an ordered group until it has ended, also by a call from outside in a queue where all sleep.
func TestTheEndOfABlockerStartsTheNext(t *testing.T) {
	ends := map[string]func(b *bench){
		"cancel": func(b *bench) { b.Want("cancelled", b.Cancel("a1"), "done") },
		"delete": func(b *bench) {
			b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"a1"})), "e")
		},
		"replace": func(b *bench) {
			item := inGroup("b", "a1")
			item.In = time.Hour
			if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: item}); err != nil {
				b.Fatal(err)
			}
		},
		"purge": func(b *bench) {
			b.Want("requeued", b.requeue(protocol.RequeuedJob{ID: "a1"}), "e")
			if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
			if _, err := b.store.finishPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
			b.wantSoundLine("purged")
			b.Enqueue(inGroup("a", "a2"))
		},
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setRule("a", "0 0 0 0 1 0 0")
				b.Enqueue(several("a", 3)...)
				flying := b.Take("s", 5)
				b.Want("taken", storesuite.IDs(flying), "a1")
				b.wantSoundLine("taken")
				b.Settle("s", protocol.Settlement{ID: "a1", Fence: flying[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour})
				b.wantSoundLine("failed")
				b.Want("blocked", storesuite.IDs(b.Work("s", protocol.WorkCall{Take: 5, Sleep: true}).Taken), "")
				end(b)
				b.wantSoundLine(what)
				if !b.asleepSince("s").IsZero() {
					b.Error("the sleeper was not woken")
				}
				b.Want("taken then", storesuite.IDs(b.Take("s", 5)), "a2")
				b.wantSoundLine("taken then")
			})
		})
	}
}

// The blocker of an ordered group goes on first when its retry is due, and a settlement of its earlier flight that comes late changes nothing.
func TestALateSettlementMovesNoBlocker(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.setRule("\x01*", "0 0 0 0 1 0 0")
		b.Enqueue(several("a", 3)...)
		first := b.Take("s", 1)[0]
		retry := protocol.Settlement{ID: "a1", Fence: first.Fence, Kind: protocol.SettleLater, Delay: time.Second}
		b.Settle("s", retry)
		b.SetClock(b.serverTime().Add(2 * time.Second))
		b.Want("its retry", storesuite.IDs(b.Take("other", 5)), "a1")
		b.wantSoundLine("its retry")
		if b.Settle("s", retry) {
			b.Error("the late settlement was accepted")
		}
		b.wantSoundLine("the late settlement")
		b.Want("blocked", storesuite.IDs(b.Take("s", 5)), "")
	})
}

// The blocker of an ordered group remains it when its worker gives it back unbegun: its place is behind jobs that wait, because it got it when its retry was due.
func TestABlockerThatIsGivenBackUnbegunIsNotOvertaken(t *testing.T) {
	for what, back := range map[string]func(b *bench, retry protocol.TakenJob) (suspect bool){
		"given back": func(b *bench, retry protocol.TakenJob) bool {
			b.Settle("s", protocol.Settlement{ID: "a1", Fence: retry.Fence, Kind: protocol.SettleBack, Unbegun: true})
			return false
		},
		"given back by a call that takes": func(b *bench, retry protocol.TakenJob) bool {
			call := protocol.WorkCall{Settle: []protocol.Settlement{{ID: "a1", Fence: retry.Fence, Kind: protocol.SettleBack, Unbegun: true}}, Take: 5}
			again := b.Work("s", call).Taken
			b.Want("taken by the same call", storesuite.IDs(again), "a1")
			b.Settle("s", protocol.Settlement{ID: "a1", Fence: again[0].Fence, Kind: protocol.SettleBack, Unbegun: true})
			return false
		},
		"given back as a suspect": func(b *bench, retry protocol.TakenJob) bool {
			b.client.HSet(b.Context(), b.keys().crashes, "a1", "2")
			b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
			b.Settle("s", protocol.Settlement{ID: "a1", Fence: retry.Fence, Kind: protocol.SettleBack, Unbegun: true})
			return true
		},
	} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setRule("a", "0 0 0 0 1 0 0")
				b.Enqueue(several("a", 3)...)
				first := b.Take("s", 1)[0]
				b.Settle("s", protocol.Settlement{ID: "a1", Fence: first.Fence, Kind: protocol.SettleLater, Delay: time.Hour})
				b.client.ZAddXX(b.Context(), b.keys().due, redisZ(1, "a1")) // the hour is over
				retry := b.Take("s", 5)
				b.Want("its retry", storesuite.IDs(retry), "a1")
				suspect := back(b, retry[0])
				b.wantSoundLine(what)
				if suspect {
					b.Want("taken beside a suspect", storesuite.IDs(b.Work("other", protocol.WorkCall{Take: 5, HoldsSuspect: true}).Taken), "")
					b.wantSoundLine("set apart")
					b.client.ZAddXX(b.Context(), b.keys().due, redisZ(1, "a1"))
				}
				for _, id := range []string{"a1", "a2", "a3"} {
					taken := b.Take("s", 5)
					b.Want("taken then", storesuite.IDs(taken), id)
					b.wantSoundLine("taken then")
					b.finish("s", taken...)
				}
			})
		})
	}
}

// The last job of a group is enqueued, taken and given back in each order.
func TestTheLastJobOfAGroupInEachOrder(t *testing.T) {
	for _, order := range []string{"etb", "tbe", "bet", "ebt", "bte", "teb"} {
		t.Run(order, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(inGroup("a", "a1"), inGroup("b", "b1"), inGroup("b", "b2"))
				held := b.Take("s", 1)
				b.Want("taken", storesuite.IDs(held), "a1")
				for i, letter := range order {
					switch letter {
					case 'e':
						b.Enqueue(inGroup("a", "a2"))
					case 't':
						b.Take("taker", 1)
					case 'b':
						b.Settle("s", protocol.Settlement{ID: "a1", Fence: held[0].Fence, Kind: protocol.SettleBack, Unbegun: true})
					}
					b.wantSoundLine(order[:i+1])
				}
				b.Take("taker", 5)
				b.wantSoundLine("all are taken")
				b.Want("line", b.lineIDs(), "")
			})
		})
	}
}

// A weight from 1 to 1,000 holds from the next take, also in a take that is cut because its jobs are long, and when a tag gets a digit more.
func TestAWeightChangesInATakeThatIsCut(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k := b.keys()
		var items []protocol.EnqueueItem
		for i := range 12 {
			for _, group := range []string{"a", "b"} {
				item := inGroup(group, fmt.Sprintf("%s%02d", group, i))
				item.Body = append([]byte{1}, make([]byte, 200<<10)...)
				items = append(items, item)
			}
		}
		for _, item := range items {
			b.Enqueue(item)
		}
		tag := "0000000000000009999999"
		for _, group := range []string{"a", "b"} {
			record := b.client.HGet(b.Context(), k.groups, group).Val()
			arrival := record[len(record)-16:]
			b.client.ZRem(b.Context(), k.turns, record[len(record)-38:]+"\t"+group)
			b.client.HSet(b.Context(), k.groups, group, "t0 1 "+tag+arrival)
			b.client.ZAdd(b.Context(), k.turns, redisZ(0, tag+arrival+"\t"+group))
		}
		b.wantSoundLine("the tags are set")
		taken := b.Take("s", 10)
		if len(taken) >= 10 || len(taken) == 0 {
			b.Fatalf("%d jobs are taken, so this take is not cut", len(taken))
		}
		b.wantSoundLine("a take that is cut")
		b.setRule("b", "1000 0 0 0 0 0 0")
		more := b.Take("s", 4)
		b.wantSoundLine("the weight is 1,000")
		for _, job := range more {
			if job.ID[0] != 'b' {
				b.Errorf("taken %s, want b alone", storesuite.IDs(more))
			}
		}
		b.client.HDel(b.Context(), k.grules, "b")
		b.client.HDel(b.Context(), k.state, "grules")
		b.Take("s", 3)
		b.wantSoundLine("the weight is 1 again")
	})
}

// A job is replaced by one of another group, and by one of none, wherever it is.
func TestReplaceIntoAnotherGroup(t *testing.T) {
	for _, where := range []string{"line", "due", "held", "parked", "dead"} {
		for _, group := range []string{"b", "a", ""} {
			t.Run(where+" "+group, func(t *testing.T) {
				onEveryServer(t, func(b *bench) {
					item := inGroup("a", "x")
					if where == "due" {
						item.In = time.Hour
					}
					b.Enqueue(item, inGroup("a", "rest"), inGroup("b", "other"))
					var held protocol.TakenJob
					if where != "line" && where != "due" {
						held = b.Take("gone", 1)[0]
						b.Want("held", held.ID, "x")
						settled := protocol.Settlement{ID: "x", Fence: held.Fence, Kind: protocol.SettlePark, Name: "mail"}
						if where == "dead" {
							settled = protocol.Settlement{ID: "x", Fence: held.Fence, Kind: protocol.SettleDead, Body: held.Body}
						}
						if where != "held" {
							b.Settle("gone", settled)
						}
					}
					b.wantSoundLine("it is " + where)
					next := inGroup(group, "x")
					next.Body = []byte("\x01new")
					if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: next}); err != nil {
						b.Fatal(err)
					}
					b.wantSoundLine("replaced")
					if where == "held" {
						b.Reap(b.lapse("gone")[0], 1)
						b.wantSoundLine("reaped")
					}
					line := "a:rest b:other"
					switch {
					case group == "b":
						line = "a:rest b:other b:x"
					case group == "a" && where == "line":
						line = "a:x a:rest b:other"
					case group == "a":
						line = "a:rest a:x b:other"
					}
					b.Want("line", b.lineIDs(), line)
					for _, job := range b.Take("taker", 5) {
						if job.ID == "x" && string(job.Body) != "\x01new" {
							b.Errorf("its content is %q", job.Body)
						}
					}
					b.wantSoundLine("taken")
					b.Want("line", b.lineIDs(), "")
					b.Verified()
				})
			})
		}
	}
}

// A job that waits in ready is replaced by one of a group: it leaves ready.
func TestAPlainJobIsReplacedByOneOfAGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("x"), storesuite.Own("y"))
		if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: inGroup("a", "x")}); err != nil {
			b.Fatal(err)
		}
		b.wantSoundLine("replaced")
		b.Want("line", b.lineIDs(), "a:x")
		b.Verified()
		taken := b.Take("s", 5)
		b.Want("taken", fmt.Sprint(len(taken)), "2")
		b.wantSoundLine("taken")
		b.finish("s", taken...)
		b.wantSoundLine("done")
	})
}

// A purge deletes what waits; what is enqueued after it has begun, and flights that end meanwhile, are counted.
func TestAPurgeOfAGroupBesideItsWork(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		flying := []protocol.TakenJob{}
		for i := range 4 {
			var items []protocol.EnqueueItem
			for j := range 400 {
				items = append(items, inGroup(fmt.Sprint("g", j%7), fmt.Sprintf("old%d", i*400+j)))
			}
			b.Enqueue(items...)
		}
		flying = append(flying, b.Take("s", 20)...)
		b.wantSoundLine("taken")
		if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
			b.Fatal(err)
		}
		b.Enqueue(inGroup("g1", "new1"), inGroup("g9", "new9"))
		b.finish("s", flying[:10]...)
		b.Want("taken", fmt.Sprint(len(b.Take("s", 1))), "1")
		if _, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition); err != nil {
			b.Fatal(err)
		}
		b.Enqueue(inGroup("g2", "new2"))
		b.finish("s", flying[10:]...)
		if _, err := b.store.finishPurge(b.Context(), storesuite.DefaultPartition); err != nil {
			b.Fatal(err)
		}
		b.wantSoundLine("purged")
		b.Want("left", fmt.Sprint(len(b.Take("s", 9))), "2")
		b.wantSoundLine("taken then")
	})
}

// A purge of many jobs in groups deletes 500 a call. Meanwhile its groups get new jobs, flights end, and others start: each new job runs, no old one does,
// and what is counted is right at the end. With -tags long and CHIME_TEST_SERVER=redis it is a million jobs, which takes about a minute of processor time.
func TestAPurgeOfAMillionJobsOfGroupsBesideTheirWork(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		many, each, groups := 6000, 500, 1000
		if long.Enabled && os.Getenv(serverEnv) == "redis" {
			many = 1_000_000
		}
		for first := 0; first < many; first += each {
			items := make([]protocol.EnqueueItem, each)
			for i := range items {
				items[i] = inGroup(fmt.Sprint("g", (first+i)%groups), fmt.Sprint("old", first+i))
			}
			b.Enqueue(items...)
		}
		b.setRule("g7", "0 1 0 0 1 0 0")
		flying := b.Take("s", 400)
		if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
			b.Fatal(err)
		}
		steps, added, started := 0, 0, 0
		for more := true; more; steps++ {
			if steps%4 == 0 {
				b.Enqueue(inGroup(fmt.Sprint("g", steps%groups), fmt.Sprint("new", steps)))
				added++
			}
			if len(flying) > 0 {
				n := min(len(flying), 3)
				b.finish("s", flying[:n]...)
				flying = flying[n:]
			}
			for _, job := range b.Take("s", 1) {
				if !strings.HasPrefix(job.ID, "new") {
					b.Fatalf("step %d: %s was taken although it is purged", steps, job.ID)
				}
				started++
				flying = append(flying, job)
			}
			done, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition)
			if err != nil || done.Looked > protocol.MaxItems {
				b.Fatalf("step %d: %+v, %v", steps, done, err)
			}
			more = done.More
		}
		for rest := b.Take("s", 400); len(rest) > 0; rest = b.Take("s", 400) {
			started += len(rest)
			flying = append(flying, rest...)
		}
		if want := (many-400)/protocol.MaxItems - 1; steps < want || started != added {
			b.Errorf("%d steps, want %d at least; %d new jobs were started, want %d", steps, want, started, added)
		}
		b.wantSoundLine("purged")
		for some := range slices.Chunk(flying, 400) {
			b.finish("s", some...)
		}
		b.wantSoundLine("at the end")
		k := b.keys()
		if n := b.client.Exists(b.Context(), k.jobs, k.places, k.line, k.purgedline, k.turns, k.groups).Val(); n != 0 {
			b.Errorf("%d of jobs, places, line, purgedline, turns and groups are left, want none", n)
		}
	})
}

// A group starts no more than its rule allows, and a clock that steps back delays its next start by no more than Per.
func TestStartsOfAGroupWhenTheClockStepsBack(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.setRule("a", "0 0 2 1000 0 0 0")
		b.Enqueue(several("a", 6)...)
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "a1 a2")
		b.wantSoundLine("taken")
		answer := b.Work("s", protocol.WorkCall{Take: 5, Sleep: true})
		if answer.Next <= 0 || answer.Next > time.Second+time.Millisecond {
			b.Errorf("the next start is in %v, want about 1s", answer.Next)
		}
		b.SetClock(b.serverTime().Add(-10 * time.Minute))
		since := b.asleepSince("s")
		poll := b.Poll("s", since, since.Add(time.Millisecond))
		if !poll.More && (poll.Next <= 0 || poll.Next > 2*time.Second) {
			b.Errorf("the clock stepped back: the poll returns %+v", poll)
		}
		b.Want("none yet", storesuite.IDs(b.Take("s", 5)), "")
		b.SetClock(b.serverTime().Add(1002 * time.Millisecond))
		b.Want("taken then", storesuite.IDs(b.Take("s", 5)), "a3 a4")
		b.wantSoundLine("taken then")
		b.SetClock(b.serverTime().Add(1002 * time.Millisecond))
		b.Want("taken at last", storesuite.IDs(b.Take("s", 5)), "a5 a6")
		b.wantSoundLine("taken at last")
	})
}

// When most of a group's starts have ended and some have not, these still count.
func TestStartsOfAGroupCountWhenMostOthersHaveEnded(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.setRule("a", "0 0 5 1000 0 0 0")
		b.Enqueue(several("a", 20)...)
		begin := b.serverTime()
		for i, ms := range []time.Duration{0, 300, 400, 500, 600} {
			b.SetClock(begin.Add(ms * time.Millisecond))
			b.Want("taken one by one", storesuite.IDs(b.Take("s", 1)), fmt.Sprint("a", i+1))
		}
		b.SetClock(begin.Add(1450 * time.Millisecond))
		b.Want("taken when two count", storesuite.IDs(b.Take("s", 10)), "a6 a7 a8")
		b.wantSoundLine("taken when two count")
	})
}

// A rule that becomes ordered while jobs of the group run holds from the next take: they run on, and the next one starts when all have ended.
func TestAnOrderedRuleWaitsForWhatRuns(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(several("a", 4)...)
		running := b.Take("s", 2)
		b.setRule("a", "0 0 0 0 1 0 0")
		b.Want("beside two", storesuite.IDs(b.Take("taker", 5)), "")
		b.finish("s", running[0])
		b.Want("beside one", storesuite.IDs(b.Take("taker", 5)), "")
		b.wantSoundLine("beside one")
		b.finish("s", running[1])
		b.Want("the next", storesuite.IDs(b.Take("taker", 5)), "a3")
		b.wantSoundLine("the next")
	})
}

// Two suspects of one ordered group: the second waits for the end of the first.
func TestSuspectsOfAnOrderedGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("a", "0 0 0 0 1 0 0")
		b.Enqueue(several("a", 3)...)
		for _, id := range []string{"a1", "a2"} {
			b.client.HSet(b.Context(), b.keys().crashes, id, "2")
		}
		b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
		first := b.Take("s", 5)
		b.Want("the first", storesuite.IDs(first), "a1")
		b.wantSoundLine("the first")
		b.Want("none beside it", storesuite.IDs(b.Take("taker", 5)), "")
		b.finish("s", first...)
		b.wantSoundLine("the first has ended")
		second := b.Take("s", 5)
		b.Want("the second", storesuite.IDs(second), "a2")
		b.wantSoundLine("the second")
		b.finish("s", second...)
		b.Want("the third", storesuite.IDs(b.Take("s", 5)), "a3")
		b.wantSoundLine("the third")
	})
}

// A take gets jobs for its free slots alone if the rule of the queue lets none be taken ahead, and another call gets the next ones, in the same order.
func TestATakeAheadOfGroupsThatLetNoneBeTakenAhead(t *testing.T) {
	for _, rule := range []string{"0 0 100 1000 0 0 0", "0 0 0 0 1 0 0"} {
		t.Run(rule, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setRule("\x01*", rule)
				for _, group := range strings.Split("abcdefgh", "") {
					b.Enqueue(several(group, 2)...)
				}
				if answer := b.Work("s", protocol.WorkCall{Take: 20, Ahead: 20}); len(answer.Taken) > 0 || !answer.More {
					b.Errorf("without a free slot taken %s, more %v", storesuite.IDs(answer.Taken), answer.More)
				}
				b.Want("taken for two slots", storesuite.IDs(b.Work("s", protocol.WorkCall{Take: 20, Ahead: 18}).Taken), "a1 b1")
				b.wantSoundLine("taken for two slots")
				b.Enqueue(storesuite.Job("plain1"), storesuite.Job("plain2"))
				taken := b.Work("s", protocol.WorkCall{Take: 20, Ahead: 18}).Taken
				b.Want("taken beside plain jobs", storesuite.IDs(taken), "plain1 c1 plain2")
				b.Want("taken for the others", storesuite.IDs(b.Take("s", 5)), "d1 e1 f1 g1 h1")
				b.wantSoundLine("taken for the others")
			})
		})
	}
}

// Nothing of a group with a rule is taken ahead that would keep others from starting.
func TestWhatGroupsWithRulesHaveTakenAhead(t *testing.T) {
	for _, c := range []struct {
		rule string
		want int
	}{{"0 0 0 0 0 0 0", 6}, {"0 4 0 0 0 0 0", 3}, {"0 8 0 0 0 0 0", 4}, {"0 0 100 1000 0 0 0", 3}, {"0 0 0 0 1 0 0", 1}} {
		t.Run(c.rule, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setRule("a", c.rule)
				b.Enqueue(several("a", 20)...)
				taken := b.Work("s", protocol.WorkCall{Take: 6, Ahead: 3}).Taken
				b.wantSoundLine("taken")
				if len(taken) != c.want {
					b.Errorf("taken %s, want %d jobs", storesuite.IDs(taken), c.want)
				}
			})
		})
	}
}
