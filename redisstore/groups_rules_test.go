package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// listGroups returns all groups that match, read in pages of this size.
func (b *bench) listGroups(call protocol.GroupPageCall) (all []protocol.ListedGroup) {
	b.Helper()
	call.Queue = "default"
	for {
		page, err := b.store.PageGroups(b.Context(), call)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, page.Groups...)
		if call.After = page.Next; call.After == "" {
			return all
		}
	}
}

func (b *bench) setGroup(group string, rule protocol.GroupRule) {
	b.Helper()
	if err := b.store.SetGroup(b.Context(), "default", group, rule); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) pauseGroup(group string, paused bool, note protocol.Note) {
	b.Helper()
	if err := b.store.PauseGroup(b.Context(), "default", group, paused, note); err != nil {
		b.Fatal(err)
	}
}

// A rule and a pause of a group do not touch each other. Setting them again changes nothing; what is not set any more leaves nothing behind.
func TestARuleOfAGroupAndItsPauseAreKeptApart(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k := b.keys()
		rule := protocol.GroupRule{Weight: 5, Running: 10, Starts: 7, Per: time.Minute, Ordered: protocol.OrderOff, Waiting: protocol.NoGroupLimit}
		for range 2 {
			b.setGroup("a", rule)
			b.pauseGroup("a", true, protocol.Note{Text: "why", By: "anna"})
			b.pauseGroup("a", true, protocol.Note{})
		}
		b.pauseGroup("b", true, protocol.Note{})
		before := b.client.HGet(b.Context(), k.grules, "a").Val()
		if !strings.HasPrefix(before, "5 10 7 60000 2 -1 ") {
			t.Errorf("the entry is %q", before)
		}
		b.Want("counted", b.stateField("grules"), "2 0")
		b.Want("layout", b.stateField("layout"), layout)
		groups := b.listGroups(protocol.GroupPageCall{Limit: 10})
		slices.SortFunc(groups, func(x, y protocol.ListedGroup) int { return strings.Compare(x.Key, y.Key) })
		if len(groups) != 2 || groups[0].Own != rule || groups[0].Effective != rule || !groups[0].Paused || groups[0].Note.By != "anna" || groups[0].Blocked != protocol.GroupPaused {
			t.Errorf("listed %+v", groups)
		}
		if groups[1].Own != (protocol.GroupRule{}) || groups[1].Effective != (protocol.GroupRule{Weight: 1}) || !groups[1].Paused || groups[1].Note.At.IsZero() {
			t.Errorf("the group without a rule is %+v", groups[1])
		}
		b.setGroup("a", protocol.GroupRule{})
		if groups := b.listGroups(protocol.GroupPageCall{Prefix: "a"}); len(groups) != 1 || groups[0].Own != (protocol.GroupRule{}) || groups[0].Note.Text != "why" {
			t.Errorf("reset: %+v", groups)
		}
		for range 2 {
			b.pauseGroup("a", false, protocol.Note{})
			b.pauseGroup("b", false, protocol.Note{})
		}
		b.Want("counted at the end", b.stateField("grules"), "")
		b.Want("rules at the end", fmt.Sprint(b.client.HKeys(b.Context(), k.grules).Val()), "[]")
		b.wantSoundLine("at the end")
	})
}

// A change of the queue's rule reaches every group that waits, in steps. If its caller vanishes after the first step, takes keep to the new limits, and a
// sweep continues.
func TestTheRuleOfAQueueReachesEveryGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const many = 1200
		var items []protocol.EnqueueItem
		for i := range many {
			items = append(items, inGroup(fmt.Sprintf("g%04d", i), fmt.Sprintf("a%04d", i)), inGroup(fmt.Sprintf("g%04d", i), fmt.Sprintf("b%04d", i)))
		}
		for some := range slices.Chunk(items, protocol.MaxItems) {
			b.Enqueue(some...)
		}
		rule := protocol.GroupRule{Weight: 3, Running: 1}
		if result, err := b.store.changeGroup(b.Context(), "default", true, "queue", "", ruleArgs(rule)...); err != nil || result != groupWalks {
			b.Fatal(result, err)
		}
		b.Want("the caller has vanished", b.stateField("grules"), "1 1 g0499")
		for _, job := range b.Take("s", 300) {
			if job.ID[0] != 'a' {
				t.Errorf("%s has started beside another job of its group", job.ID)
			}
		}
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		b.Want("swept", b.stateField("grules"), "1 1")
		b.wantSoundLine("swept")
		blocked := 0
		for _, g := range b.listGroups(protocol.GroupPageCall{Limit: 100, Waiting: true}) {
			if g.Effective != rule {
				b.Fatalf("group %+v", g)
			}
			if g.Blocked == protocol.GroupRunning && g.Running == 1 {
				blocked++
			}
		}
		b.Want("groups that are at their limit", fmt.Sprint(blocked), "300")
		if err := b.store.SetGroups(b.Context(), "default", protocol.GroupRule{}); err != nil {
			b.Fatal(err)
		}
		b.Want("removed", b.stateField("grules"), "")
		b.wantSoundLine("removed")
		b.Want("taken without the limit", fmt.Sprint(len(b.Take("other", 500))), "500")
	})
}

// A queue has a limited number of rules and pauses; those that exist can be changed.
func TestTheRulesOfGroupsAreBounded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setGroup("a", protocol.GroupRule{Weight: 2})
		b.client.HSet(b.Context(), b.keys().state, "grules", fmt.Sprint(protocol.MaxGroupRules, " 0"))
		err := b.store.SetGroup(b.Context(), "default", "b", protocol.GroupRule{Weight: 2})
		if bad := (*protocol.InvalidError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "100000") {
			t.Errorf("another rule: %v, want an InvalidError with the limit", err)
		}
		if err := b.store.PauseGroup(b.Context(), "default", "b", true, protocol.Note{}); !errors.Is(err, &protocol.InvalidError{}) {
			t.Errorf("another pause: %v, want an InvalidError", err)
		}
		b.pauseGroup("a", true, protocol.Note{})
		b.setGroup("a", protocol.GroupRule{})
		b.pauseGroup("a", false, protocol.Note{})
		b.setGroup("b", protocol.GroupRule{Weight: 2})
	})
}

// Each group is listed once: those with waiting jobs in the order of their keys, then those with flights, then those with a rule or a pause.
func TestGroupsArePaged(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var want []string
		for i := range 30 {
			group := fmt.Sprintf("wait%02d", i*7%30)
			b.Enqueue(inGroup(group, "a"+group), inGroup(group, "b"+group))
		}
		for i := range 30 {
			want = append(want, fmt.Sprintf("wait%02d", i))
		}
		b.Enqueue(inGroup("flies", "f"))
		b.pauseGroup("flies", false, protocol.Note{})
		for strings.Contains(b.lineIDs(), "flies:f") {
			b.Take("s", 1)
		}
		b.setGroup("flies", protocol.GroupRule{Running: 1})
		b.setGroup("ruled", protocol.GroupRule{Weight: 2})
		b.pauseGroup("paused", true, protocol.Note{})
		b.pauseGroup("wait07", true, protocol.Note{})
		for _, limit := range []int{1, 7, 100} {
			all := b.listGroups(protocol.GroupPageCall{Limit: limit})
			var keys []string
			for _, g := range all {
				keys = append(keys, g.Key)
			}
			b.Want(fmt.Sprint("waiting, ", limit, " a page"), fmt.Sprint(keys[:30]), fmt.Sprint(want))
			others := keys[30:]
			slices.Sort(others[1:])
			b.Want(fmt.Sprint("others, ", limit, " a page"), fmt.Sprint(others), "[flies paused ruled]")
			if all[30].Running != 1 || all[30].Blocked != protocol.GroupRunning || all[0].Waiting < 1 || all[0].Oldest == "" || all[0].Since.IsZero() || all[7].Blocked != protocol.GroupPaused {
				t.Errorf("listed %+v", all)
			}
		}
		b.Want("with a prefix", fmt.Sprint(len(b.listGroups(protocol.GroupPageCall{Prefix: "wait1", Limit: 3}))), "10")
		b.Want("with another one", fmt.Sprint(len(b.listGroups(protocol.GroupPageCall{Prefix: "p"}))), "1")
		b.Want("only waiting", fmt.Sprint(len(b.listGroups(protocol.GroupPageCall{Waiting: true, Limit: 4}))), "30")
		for _, after := range []string{"x", "line", "line.\t", "groups.x", "grules.", "zzz.0"} {
			if _, err := b.store.PageGroups(b.Context(), protocol.GroupPageCall{Queue: "default", After: after}); !errors.Is(err, &protocol.InvalidError{}) {
				t.Errorf("after %q: %v, want an InvalidError", after, err)
			}
		}
		if _, err := b.store.PageGroups(b.Context(), protocol.GroupPageCall{Queue: "unknown"}); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("an unknown queue: %v, want ErrNotFound", err)
		}
	})
}

// A purge of a group deletes the jobs that wait, in steps of 500, and leaves those that join later, the other groups, and jobs in other states.
func TestAPurgeOfOneGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var items []protocol.EnqueueItem
		for i := range 1100 {
			items = append(items, inGroup("a", fmt.Sprintf("j%04d", i)))
		}
		for some := range slices.Chunk(items, protocol.MaxItems) {
			b.Enqueue(some...)
		}
		later := inGroup("a", "later")
		later.In = time.Hour
		b.Enqueue(inGroup("ab", "other"), later)
		held := b.Take("s", 2)
		deleted, upTo, steps := 0, "", 0
		for more := true; more; steps++ {
			var done protocol.PurgeAnswer
			var err error
			if done, upTo, err = b.store.PurgeGroup(b.Context(), "default", "a", upTo); err != nil {
				b.Fatal(err)
			}
			deleted, more = deleted+done.Changed, done.More
			b.Enqueue(inGroup("a", fmt.Sprint("new", steps)))
			b.wantSoundLine("a step")
		}
		b.Want("held", storesuite.IDs(held), "j0000 other")
		b.Want("deleted, in steps", fmt.Sprint(deleted, steps), "1099 3")
		b.Want("line", b.lineIDs(), "a:new0 a:new1 a:new2")
		b.Want("places", fmt.Sprint(b.client.HLen(b.Context(), b.keys().places).Val()), fmt.Sprint(len(held)+4))
	})
}
