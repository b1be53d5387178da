package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// An outbox that works has no fault, at any step. Damage by hand is found, and repaired where that is possible.
func TestDamageOfAnOutboxIsFoundAndRepaired(t *testing.T) {
	for what, c := range map[string]struct {
		damage          func(b *bench, k partitionKeys)
		found, repaired string // IDs, and whether they are repaired
		then            string // what mail has after a carry
	}{
		"a value":           {func(b *bench, k partitionKeys) { b.client.HDel(b.Context(), k.outgoing, "mail\tb") }, "[b false]", "[b true]", "c a |"},
		"a delivered value": {func(b *bench, k partitionKeys) { b.client.HDel(b.Context(), k.outgoing, "mail\ta") }, "[a false]", "[a true]", "b c a |"},
		"an entry":          {func(b *bench, k partitionKeys) { b.client.ZAdd(b.Context(), k.outbox, redisZ(0, "x")) }, "[outbox false x false]", "[x true]", "b c a |"},
		"another value":     {func(b *bench, k partitionKeys) { b.client.HSet(b.Context(), k.outgoing, "mail\tx", "v") }, "[outgoing false]", "[outgoing false]", "b c a |"},
		"the sums":          {func(b *bench, k partitionKeys) { b.client.HSet(b.Context(), k.state, "outbox", "x") }, "[mail/0 false outbox false]", "[mail/0 true outbox true]", "b c a |"},
		"no sums":           {func(b *bench, k partitionKeys) { b.client.HDel(b.Context(), k.state, "outbox") }, "[mail/0 false outbox false]", "[mail/0 true outbox true]", "b c a |"},
		"a count": {func(b *bench, k partitionKeys) {
			sums := strings.Fields(b.stateField("outbox"))
			b.client.HSet(b.Context(), k.state, "outbox", sums[0]+" 7 "+strings.Join(sums[2:], " "))
		}, "[outbox false]", "[outbox true]", "b c a |"},
		"bytes": {func(b *bench, k partitionKeys) {
			sums := strings.Fields(b.stateField("outbox"))
			b.client.HSet(b.Context(), k.state, "outbox", strings.Join(sums[:2], " ")+" 1000000000 "+sums[3]+" "+sums[4])
		}, "[outbox false]", "[outbox true]", "b c a |"},
		"delivered bytes": {func(b *bench, k partitionKeys) {
			sums := strings.Fields(b.stateField("outbox"))
			b.client.HSet(b.Context(), k.state, "outbox", strings.Join(sums[:4], " ")+" 0")
		}, "[outbox false]", "[outbox true]", "b c a |"},
		"a number": {func(b *bench, k partitionKeys) {
			b.client.HSet(b.Context(), k.carried, "other/0", "8000000000000000 0 0 0\tx")
		}, "[other/0 false]", "[other/0 true]", "b c a |"},
	} {
		t.Run(what, func(t *testing.T) {
			onServersWith(t, repairing, func(b *bench) {
				source, k := storesuite.DefaultPartition, b.keys()
				b.Verified()
				b.departs(source, "mail", "a", 0)
				b.Verified()
				b.carryAll(source, mail)
				b.departs(source, "mail", "b", 0)
				b.departs(source, "mail", "c", 0)
				b.Verified()
				c.damage(b, k)
				for repair, want := range []string{c.found, c.repaired} {
					var found []string
					for _, f := range b.Verify(repair == 1) {
						if f.Kind != protocol.FoundOutbox || f.Queue != "default" || f.Detail == "" {
							b.Errorf("found %+v", f)
						}
						found = append(found, fmt.Sprint(f.ID, " ", f.Repaired))
					}
					slices.Sort(found)
					b.Want(fmt.Sprint("found, with repair ", repair), fmt.Sprint(found), want)
				}
				if what != "another value" {
					b.Verified()
				}
				b.carryAll(source, mail)
				b.Want("mail", b.has(mail), c.then)
			})
		})
	}
}

// An entry that is a member of a batch has a second field beside its value, which is no fault. It goes with the entry.
func TestTheBatchOfAnEntryIsNoFault(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.keys()
		b.filled("b", "m", "n")
		for _, taken := range b.Take("w", 2) {
			b.Settle("w", protocol.Settlement{
				ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b", Follower: &protocol.Follower{Body: member("b"), Batch: "b", Queue: mail.Queue},
			})
			b.Verified()
			if taken.ID == "m" {
				b.carryAll(source, mail)
				b.Verified()
			}
		}
		b.Want("the outbox", b.outboxOf(source), "1 wait, 1 delivered, 4 values")
		b.client.HSet(b.Context(), k.outgoing, "mail\tx\tb", "b")
		for _, f := range b.Verify(false) {
			b.Want("found", f.ID+" "+f.Detail, "outgoing it keeps 1 jobs that no entry names: they use memory until the queue is deleted")
		}
		b.client.HDel(b.Context(), k.outgoing, "mail\tx\tb")
		for _, field := range b.client.HKeys(b.Context(), k.outgoing).Val() {
			if !strings.HasSuffix(field, "\tb") {
				b.client.HDel(b.Context(), k.outgoing, field)
			}
		}
		b.Verify(true)
		b.Want("the outbox", b.outboxOf(source), "0 wait, 0 delivered, 0 values")
		b.Verified()
	})
}

func TestTheOutboxOfAQueueIsCounted(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		if got := b.Stats().Outbox; got != (protocol.OutboxCounts{}) {
			b.Errorf("%+v of a new queue", got)
		}
		before := b.serverTime()
		b.departs(source, "mail", "a", 0)
		b.departs(source, "mail", "b", 0)
		if got := b.Stats().Outbox; got.Waiting != 2 || got.Bytes == 0 || got.Full || got.Oldest.Sub(before).Abs().Minutes() > 1 {
			b.Errorf("%+v, want two that wait", got)
		}
		b.carryAll(source, mail)
		if got := b.Stats().Outbox; got != (protocol.OutboxCounts{}) {
			b.Errorf("%+v, want none", got)
		}
		b.fill(source, "1 100000 5 1 0")
		if got := b.Stats().Outbox; !got.Full || got.Waiting != 100_000 {
			b.Errorf("%+v, want it full", got)
		}
	})
}

// A value that no version can read holds up the later entries of its line, until Verify makes it a dead job of the queue. What a newer version may have
// written waits for that version.
func TestAnEntryThatNobodyCanReadIsSetAside(t *testing.T) {
	for value, want := range map[string]struct{ found, mail, dead string }{
		"":                                 {"[b true]", "c a |", "[b]"},
		"?":                                {"[b true]", "c a |", "[b]"},
		"j1 2":                             {"[b true]", "c a |", "[b]"},
		"j0 5 0 0 abc":                     {"[b true]", "c a |", "[b]"},
		"j0 " + strings.Repeat("9", 3000):  {"[b true]", "c a |", "[b]"},
		"k0 0 0 0 what a newer one writes": {"[]", "a |", "[]"},
		"j0 0 1 0 nbody":                   {"[]", "a |", "[]"},
	} {
		t.Run(value[:min(len(value), 20)], func(t *testing.T) {
			onServersWith(t, repairing, func(b *bench) {
				source, k := storesuite.DefaultPartition, b.keys()
				b.departs(source, "mail", "a", 0)
				b.carryAll(source, mail)
				b.departs(source, "mail", "b", 0)
				b.departs(source, "mail", "c", 0)
				b.client.HSet(b.Context(), k.outgoing, "mail\tb", value)
				var found []string
				for _, f := range b.Verify(true) {
					found = append(found, fmt.Sprint(f.ID, " ", f.Repaired))
				}
				b.Want("found", fmt.Sprint(found), want.found)
				b.Verified()
				b.Want("dead", fmt.Sprint(b.client.ZRange(b.Context(), k.dead, 0, -1).Val()), want.dead)
				if want.dead == "[b]" {
					b.carryAll(source, mail)
					b.Want("the body of the dead job", b.client.HGet(b.Context(), k.jobs, "b").Val(), value)
				}
				b.Want("mail", b.has(mail), want.mail)
			})
		})
	}
}

// A job with the ID of an unreadable value exists in the queue, after a manual edit: it is kept as it is, and the value too.
func TestAnUnreadableEntryReplacesNoJob(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		k := b.keys()
		b.departs(storesuite.DefaultPartition, "mail", "b", 0)
		b.client.HSet(b.Context(), k.outgoing, "mail\tb", "?")
		b.Enqueue(storesuite.Job("b"))
		body := b.client.HGet(b.Context(), k.jobs, "b").Val()
		for _, f := range b.Verify(true) {
			if f.Kind != protocol.FoundOutbox || f.ID != "b" || f.Repaired {
				b.Errorf("found %+v, want the entry, not repaired", f)
			}
		}
		b.Want("the job", b.client.HGet(b.Context(), k.jobs, "b").Val(), body)
		b.Want("the outbox", b.outboxOf(storesuite.DefaultPartition), "1 wait, 0 delivered, 1 values")
	})
}

// An entry is added after the others were read, and before the sums are compared: nothing is found, and no sum changes.
func TestVerifyComparesNoSumsThatHaveChanged(t *testing.T) {
	onServersWith(t, repairing|hookedCalls, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		added := false
		verifying := b.hooked(func(cmd redis.Cmder) error {
			if !added && slices.Contains(cmd.Args(), any("sums")) {
				added = true
				b.departs(source, "mail", "b", 0)
			}
			return nil
		})
		if _, err := verifying.Verify(b.Context(), true, func(f protocol.Finding) { b.Errorf("found %+v", f) }); err != nil || !added {
			b.Fatal(err, added)
		}
		b.Verified()
	})
}

// Why a line cannot be carried is shown until an entry of it was carried, or it is noted that the line is not blocked any more.
func TestTheReasonWhyALineIsBlockedIsShown(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.keys()
		block := func(line, why string) {
			b.Helper()
			if err := b.store.BlockOutbox(b.Context(), source, line, time.Minute, why); err != nil {
				b.Fatal(err)
			}
		}
		shown := func(when, line, queue string) {
			b.Helper()
			lines, err := b.store.ReadOutbox(b.Context(), source, "")
			if err != nil {
				b.Fatal(err)
			}
			got := ""
			for _, l := range lines.Lines {
				got += l.Blocked.Why
			}
			b.Want("the line "+when, got, line)
			b.Want("the queue "+when, b.Stats().Outbox.Blocked, queue)
		}
		block("mail", "nothing waits")
		shown("of a late call", "", "")
		b.Want("what a late call writes", b.stateField("blocked")+strings.Join(b.client.HKeys(b.Context(), k.carried).Val(), " "), "")
		b.departs(source, "mail", "a", 0)
		block("mail", "connection\trefused\n")
		shown("before it is addressed", "connection refused", "mail: connection refused")
		b.address(source)
		shown("when it is addressed", "", "")
		block("mail/0", strings.Repeat("é", 400))
		long := strings.Repeat("é", 250) + "…"
		shown("with a long reason", long, "mail: "+long)
		if since := b.Stats().Outbox.BlockedSince; b.serverTime().Sub(since).Round(time.Minute) != time.Minute {
			b.Errorf("blocked since %v, want a minute ago", since)
		}
		found := b.Verify(true)
		if len(found) != 1 || found[0].ID != "mail/0" || found[0].Repaired || !strings.Contains(found[0].Detail, "é") {
			b.Errorf("found %+v, want the line that is blocked", found)
		}
		b.carryAll(source, mail)
		shown("when it was carried", "", "")
		b.Verified()
		b.departs(source, "mail", "b", 0)
		block("mail", "refused")
		block("mail", "")
		shown("when it is not blocked any more", "", "")
		b.Want("the note of the queue", b.stateField("blocked"), "")
		for _, field := range b.client.HKeys(b.Context(), k.carried).Val() {
			if strings.HasPrefix(field, "!") {
				b.Errorf("the note %q is left", field)
			}
		}
	})
}
