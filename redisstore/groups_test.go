package redisstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// inGroup returns a job of a group, with an ID of the caller's own.
func inGroup(group, id string) protocol.EnqueueItem {
	item := storesuite.Own(id)
	item.Group = group
	return item
}

// several returns jobs of a group with the IDs <group>1, <group>2, …
func several(group string, n int) (items []protocol.EnqueueItem) {
	for i := range n {
		items = append(items, inGroup(group, fmt.Sprint(group, i+1)))
	}
	return items
}

// finish settles jobs as done.
func (b *bench) finish(session string, jobs ...protocol.TakenJob) {
	b.Helper()
	var settled []protocol.Settlement
	for _, job := range jobs {
		settled = append(settled, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone})
	}
	b.Work(session, protocol.WorkCall{Settle: settled})
}

// setRule writes the rule of a group, or \x01* for the queue's: weight, running, starts, per, ordered, waiting, paused. It must come before the group's jobs.
func (b *bench) setRule(group, numbers string) {
	b.Helper()
	k := b.keys()
	b.client.HSet(b.Context(), k.grules, group, numbers)
	b.client.HSet(b.Context(), k.state, "grules", "1 1")
}

// Groups take turns, whatever each has waiting, and within a group the order is that in which jobs were enqueued.
func TestGroupsTakeTurns(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(several("a", 5)...)
		b.wantSoundLine("a is enqueued")
		b.Enqueue(append(several("b", 2), several("c", 2)...)...)
		b.wantSoundLine("all are enqueued")
		b.Want("state", b.stateField("layout"), layout)
		first := b.Take("s", 1)
		b.Want("first", storesuite.IDs(first), "a1")
		b.wantSoundLine("one is taken")
		second := b.Take("s", 5)
		b.Want("second", storesuite.IDs(second), "b1 c1 a2 b2 c2")
		b.wantSoundLine("b and c are empty")
		third := b.Take("s", 5)
		b.Want("third", storesuite.IDs(third), "a3 a4 a5")
		b.wantSoundLine("all are taken")
		b.finish("s", append(append(first, second...), third...)...)
		b.wantSoundLine("all are done")
		b.Want("flag", b.stateField("groups"), "")
	})
}

// Weights share slots: of four slots, a group of weight 3 has three beside one of weight 1.
func TestGroupsShareSlotsByWeight(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("heavy", "3 0 0 0 0 0 0")
		b.Enqueue(several("heavy", 40)...)
		b.Enqueue(several("light", 40)...)
		held := map[string]int{}
		var flying []protocol.TakenJob
		for step := range 40 {
			taken := b.Take("s", 4-len(flying))
			b.wantSoundLine(fmt.Sprint("step ", step))
			flying = append(flying, taken...)
			for _, job := range flying {
				held[strings.TrimRight(job.ID, "0123456789")]++
			}
			b.finish("s", flying[0])
			flying = flying[1:]
		}
		if heavy := held["heavy"]; heavy < 116 || heavy > 124 {
			b.Errorf("of %d slots the group of weight 3 had %d, want 120", held["heavy"]+held["light"], heavy)
		}
	})
}

// Jobs without a group, delayed ones and those of groups share a batch in thirds.
func TestReadyDueAndGroupsShareABatch(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		var items []protocol.EnqueueItem
		for i := range 30 {
			items = append(items, storesuite.Own(fmt.Sprint("plain", i)))
			due := storesuite.Own(fmt.Sprint("due", i))
			due.In = time.Millisecond
			items = append(items, due)
		}
		b.Enqueue(items...)
		b.Enqueue(several("g", 30)...)
		b.SetClock(b.serverTime().Add(time.Second))
		counts := map[string]int{}
		for range 3 {
			for _, job := range b.Take("s", 10) {
				counts[strings.TrimRight(job.ID, "0123456789")]++
			}
			b.wantSoundLine("taken")
		}
		b.Want("each kind", fmt.Sprint(counts), "map[due:10 g:10 plain:10]")
	})
}

// A delayed job of a group joins the end of its line when a take finds it due.
func TestADelayedJobOfAGroupJoinsTheLine(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		late := inGroup("a", "late")
		late.In = time.Second
		b.Enqueue(late, inGroup("a", "first"))
		b.wantSoundLine("enqueued")
		b.SetClock(b.serverTime().Add(2 * time.Second))
		b.Enqueue(inGroup("a", "second"), inGroup("b", "other"))
		b.Want("taken", storesuite.IDs(b.Take("s", 2)), "first other")
		b.wantSoundLine("found due")
		b.Want("line", b.lineIDs(), "a:second a:late")
		b.Want("taken then", storesuite.IDs(b.Take("s", 5)), "second late")
		b.wantSoundLine("taken")
	})
}

// A paused group starts nothing; what runs, runs on, and what is enqueued waits.
func TestAPausedGroupStartsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("a", "0 0 0 0 0 0 1700000000000")
		b.Enqueue(append(several("a", 2), several("b", 1)...)...)
		b.wantSoundLine("enqueued")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "b1")
		b.setRule("a", "0 0 0 0 0 0 0")
		b.Enqueue(inGroup("a", "a3"))
		b.wantSoundLine("resumed")
		b.Want("taken then", storesuite.IDs(b.Take("s", 5)), "a1 a2 a3")
		b.wantSoundLine("taken then")
	})
}

// A group accepts no more waiting jobs than its rule allows. Jobs that are delayed, and those of other groups, are accepted.
func TestAGroupThatIsFullAcceptsNoMore(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("a", "0 0 0 0 0 2 0")
		later := inGroup("a", "later")
		later.In = time.Hour
		items := append(several("a", 4), later, inGroup("b", "b1"))
		for number := range int64(2) { // the second time it was completed before
			call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "x", Number: 1, Items: items}
			answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0]
			if want := "[false false true true false false]"; answer.Err != nil || number == 0 && refusedItems(answer.Full, protocol.ErrGroupFull) != want {
				b.Fatalf("full %v, %v; want %s", answer.Full, answer.Err, want)
			}
			b.wantSoundLine("enqueued")
		}
		b.Want("line", b.lineIDs(), "a:a1 a:a2 b:b1")
	})
}

// Verify finds sums of groups that are wrong, and repairs them.
func TestVerifyRepairsTheSumsOfGroups(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		k := b.keys()
		b.Enqueue(append(several("a", 3), several("b", 3)...)...)
		b.Take("s", 3)
		for _, flag := range []string{"", "x", "0000000000000000000000 7 7 1000000000000000 0000000000000000"} {
			b.client.HDel(b.Context(), k.state, "groups")
			if flag != "" {
				b.client.HSet(b.Context(), k.state, "groups", flag)
			}
			if found := b.Verify(true); len(found) != 1 || found[0].ID != "groups" {
				b.Errorf("with %q: found %+v", flag, found)
			}
			b.wantSoundLine("repaired")
			b.Verified()
		}
		b.Want("taken", fmt.Sprint(len(b.Take("s", 5))), "3")
	})
}

// Random calls never break what holds of groups.
func TestGroupsStaySoundWhateverHappens(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				w := &groupWalk{bench: b, r: rand.New(rand.NewPCG(seed, 31)), held: map[string][]protocol.TakenJob{}}
				w.walk(250)
			})
		})
	}
}

// A groupWalk makes random calls on jobs of groups.
type groupWalk struct {
	*bench
	r         *rand.Rand
	n         int
	epoch     int                            // how often sessions were reaped: a session that has vanished never comes back
	held      map[string][]protocol.TakenJob // session → the jobs it has
	called    []string
	followers []string // IDs of jobs that may follow others
}

func (w *groupWalk) group() string {
	if w.r.IntN(4) == 0 {
		return ""
	}
	return string(rune('a' + w.r.IntN(4)))
}

func (w *groupWalk) id() string { return fmt.Sprint("j", w.r.IntN(40)) }

func (w *groupWalk) session() string { return fmt.Sprint("s", w.epoch, "-", w.r.IntN(3)) }

func (w *groupWalk) walk(steps int) {
	for w.n = range steps {
		what := w.step()
		w.called = append(w.called, what)
		if faults := w.groupFaults(); len(faults) > 0 {
			w.Fatalf("after %s: %s", strings.Join(w.called[max(0, len(w.called)-12):], "; "), strings.Join(faults, "\n"))
		}
		w.VerifiedNowAndThen(w.n)
	}
}

func (w *groupWalk) step() string {
	switch w.r.IntN(14) {
	case 0, 1, 2, 3:
		item := inGroup(w.group(), w.id())
		if w.r.IntN(4) == 0 {
			item.In = time.Duration(w.r.IntN(5000)) * time.Millisecond
		}
		w.Enqueue(item)
		return fmt.Sprintf("enqueue %s %q in %v", item.ID, item.Group, item.In)
	case 4, 5, 6:
		session := w.session()
		taken := w.Take(session, w.r.IntN(6))
		w.held[session] = append(w.held[session], taken...)
		return fmt.Sprintf("%s takes %s", session, storesuite.IDs(taken))
	case 7, 8:
		return w.settle()
	case 9:
		if passed := time.Duration(w.r.IntN(4000)) * time.Millisecond; w.SetClock != nil {
			w.SetClock(w.serverTime().Add(passed))
		}
		return "time passes"
	case 10:
		return w.change()
	case 11:
		if w.r.IntN(4) > 0 {
			return "nothing"
		}
		session := w.session()
		if len(w.held[session]) == 0 {
			return "nothing"
		}
		w.Reap(w.lapse(session)[0], int64(w.r.IntN(1000)))
		delete(w.held, session)
		w.epoch++
		return "reap " + session
	case 12:
		if w.r.IntN(6) > 0 {
			return "nothing"
		}
		if _, err := w.store.BeginPurge(w.Context(), storesuite.DefaultPartition); err != nil {
			w.Fatal(err)
		}
		if _, err := w.store.finishPurge(w.Context(), storesuite.DefaultPartition); err != nil {
			w.Fatal(err)
		}
		return "purge"
	}
	_, err := w.sweep()
	if err != nil {
		w.Fatal(err)
	}
	return "sweep"
}

// settle settles one or two jobs of a session, and takes some.
func (w *groupWalk) settle() string {
	session := w.session()
	jobs := w.held[session]
	if len(jobs) == 0 {
		return "nothing"
	}
	kinds := []protocol.SettleKind{protocol.SettleDone, protocol.SettleDone, protocol.SettleLater, protocol.SettleDead, protocol.SettleBack, protocol.SettlePark}
	what := session
	call := protocol.WorkCall{Take: w.r.IntN(3)}
	for range 1 + w.r.IntN(2) {
		if len(jobs) == 0 {
			break
		}
		at := w.r.IntN(len(jobs))
		s := protocol.Settlement{ID: jobs[at].ID, Fence: jobs[at].Fence, Kind: kinds[w.r.IntN(len(kinds))], Body: []byte("\x01" + jobs[at].ID)}
		switch s.Kind {
		case protocol.SettleDone, protocol.SettleBack:
			s.Body = nil
		case protocol.SettleLater:
			s.Delay = time.Duration(w.r.IntN(3000)) * time.Millisecond
		case protocol.SettlePark:
			s.Name, s.Body = "mail", nil
		}
		if end := map[protocol.SettleKind]string{protocol.SettleDone: protocol.EndDone, protocol.SettleDead: protocol.EndDead}[s.Kind]; end != "" && w.r.IntN(2) == 0 {
			s.Follower = &protocol.Follower{Body: []byte(follower), Group: w.group(), In: time.Duration(w.r.IntN(3)*w.r.IntN(2000)) * time.Millisecond}
			w.followers = append(w.followers, protocol.FollowerID(s.ID, end, s.Fence, ""))
		}
		call.Settle = append(call.Settle, s)
		what += fmt.Sprintf(" %c %s %v", s.Kind, s.ID, s.Follower)
		jobs = append(jobs[:at:at], jobs[at+1:]...)
	}
	if w.r.IntN(3) == 0 {
		call.Serve, call.Handled = []string{"mail"}, []string{"mail"}
	}
	answer := w.Try(session, call)
	if answer.Err != nil {
		delete(w.held, session)
		return what + ": " + answer.Err.Error()
	}
	if w.r.IntN(4) == 0 {
		again := w.Repeat(session, call)
		if storesuite.IDs(again.Taken) != storesuite.IDs(answer.Taken) {
			w.Errorf("again %s", what)
		}
	}
	w.held[session] = append(jobs, answer.Taken...)
	return what + ", takes " + storesuite.IDs(answer.Taken)
}

// change makes a call for one job.
func (w *groupWalk) change() string {
	id := w.id()
	if n := len(w.followers); n > 0 && w.r.IntN(2) == 0 {
		id = w.followers[n-1-w.r.IntN(min(n, 8))]
	}
	switch w.r.IntN(5) {
	case 3:
		group := string(rune('a' + w.r.IntN(4)))
		rule := []protocol.GroupRule{
			{}, {Ordered: protocol.OrderOn}, {Running: 1}, {Running: 2, Weight: 3}, {Starts: 2, Per: time.Second}, {Starts: 1, Per: time.Second, Ordered: protocol.OrderOn},
		}[w.r.IntN(6)]
		if err := w.store.SetGroup(w.Context(), "default", group, rule); err != nil {
			w.Fatal(err)
		}
		return fmt.Sprintf("rule %s %+v", group, rule)
	case 0:
		return "cancel " + id + " " + w.Cancel(id)
	case 1:
		return "delete " + id + " " + w.bulk(w.store.DeleteJobs(w.Context(), "default", []string{id}))
	case 2:
		return "requeue " + id + " " + w.requeue(protocol.RequeuedJob{ID: id})
	}
	item := inGroup(w.group(), id)
	if w.r.IntN(3) == 0 {
		item.In = time.Second
	}
	became, err := w.store.Replace(w.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: fmt.Sprint("token", w.n), Item: item})
	if err != nil {
		w.Fatal(err)
	}
	return fmt.Sprintf("replace %s into %q in %v: %v", id, item.Group, item.In, became)
}
