package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// The target of most tests: the only partition of another queue.
var mail = protocol.Partition{Queue: "mail"}

// departs adds an entry to the outbox of a partition, as the settlement of a job does that another one follows in a queue.
func (b *bench) departs(source protocol.Partition, queue, id string, in time.Duration) {
	b.Helper()
	due := int64(0)
	now := b.serverTime()
	if in > 0 {
		due = now.Add(in).UnixMilli()
	}
	b.departsAs(source, queue, id, fmt.Sprintf("j%d 0 0 0 \x01%s", due, id))
}

func (b *bench) departsAs(source protocol.Partition, line, id, value string) {
	b.Helper()
	k, now := b.store.keys.partition(source), b.serverTime()
	var sent, waiting, bytes, since, kept int64
	_, _ = fmt.Sscan(b.client.HGet(b.Context(), k.state, "outbox").Val(), &sent, &waiting, &bytes, &since, &kept)
	sent = max(sent+1, now.UnixMicro())
	if since == 0 {
		since = now.UnixMilli()
	}
	queue, _, _ := strings.Cut(line, "/")
	b.client.ZAdd(b.Context(), k.outbox, redisZ(0, fmt.Sprintf("%s\t%016d\t%d %d\t%s", line, sent, now.UnixMilli(), len(value), id)))
	b.client.HSet(b.Context(), k.outgoing, queue+"\t"+id, value)
	b.client.HSet(b.Context(), k.state, "layout", layout, "outbox", fmt.Sprint(sent, waiting+1, bytes+int64(len(value)), since, kept))
}

// address puts all entries of a source into the lines of their targets.
func (b *bench) address(source protocol.Partition) {
	b.Helper()
	lines, err := b.store.ReadOutbox(b.Context(), source, "")
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range lines.Lines {
		var to []protocol.Addressed
		for _, member := range line.Members {
			n, err := b.store.Partitions(b.Context(), line.Line)
			if err != nil {
				b.Fatal(err)
			}
			to = append(to, protocol.Addressed{Member: member, Index: protocol.PartitionOf(protocol.NewOutboxEntry(member, "").ID, n)})
		}
		if _, err := b.store.AddressOutbox(b.Context(), source, line.Line, to); err != nil {
			b.Fatal(err)
		}
	}
}

// advance notes a mark, until there is nothing left to note, and returns what is to be carried next.
func (b *bench) advance(source, target protocol.Partition, mark string, asked time.Time) protocol.OutboxBatch {
	b.Helper()
	for range 100 {
		batch, err := b.store.AdvanceOutbox(b.Context(), source, target, mark, asked, protocol.MaxItems)
		if err != nil {
			b.Fatal(err)
		}
		if !batch.Again {
			return batch
		}
	}
	b.Fatal("a mark is noted without end")
	return protocol.OutboxBatch{}
}

// mark returns the mark of a target.
func (b *bench) mark(source, target protocol.Partition) string {
	b.Helper()
	return b.carry(source, target, "", nil).Mark
}

func (b *bench) carry(source, target protocol.Partition, after string, entries []protocol.OutboxEntry) protocol.CarryAnswer {
	b.Helper()
	answer, err := b.store.Carry(b.Context(), source, target, after, entries)
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

// next returns what is to be carried to a target next.
func (b *bench) next(source, target protocol.Partition) protocol.OutboxBatch {
	b.Helper()
	b.address(source)
	return b.advance(source, target, b.mark(source, target), time.Time{})
}

// carryAll carries everything that a source has for a target, and notes it.
func (b *bench) carryAll(source, target protocol.Partition) {
	b.Helper()
	for batch := b.next(source, target); len(batch.Entries) > 0; {
		batch = b.advance(source, target, b.carry(source, target, batch.After, batch.Entries).Mark, time.Time{})
	}
}

// confirm takes the second look of a carrier.
func (b *bench) confirm(source, target protocol.Partition) protocol.OutboxBatch {
	b.Helper()
	asked, err := b.store.AdvanceOutbox(b.Context(), source, target, "", time.Time{}, 0)
	if err != nil {
		b.Fatal(err)
	}
	return b.advance(source, target, b.mark(source, target), asked.Now)
}

// at returns what an outbox has: how many entries wait, how many are delivered, and how many values there are.
func (b *bench) outboxOf(source protocol.Partition) string {
	b.Helper()
	k := b.store.keys.partition(source)
	return fmt.Sprintf("%d wait, %d delivered, %d values", b.client.ZCard(b.Context(), k.outbox).Val(), b.client.ZCard(b.Context(), k.delivered).Val(), b.client.HLen(b.Context(), k.outgoing).Val())
}

// has returns the IDs of the jobs of a partition: those to run now, and those that are due later.
func (b *bench) has(p protocol.Partition) string {
	b.Helper()
	k := b.store.keys.partition(p)
	now, later := b.client.LRange(b.Context(), k.ready, 0, -1).Val(), b.client.ZRange(b.Context(), k.due, 0, -1).Val()
	if jobs := b.client.HLen(b.Context(), k.jobs).Val(); jobs != int64(len(now)+len(later)) {
		b.Errorf("%v has %d jobs, and %d in its lists", p, jobs, len(now)+len(later))
	}
	return strings.TrimSpace(strings.Join(now, " ") + " | " + strings.Join(later, " "))
}

// Every call of a carrier is sent twice, or its copy comes after the later ones: each job is added once, in its order, in front of those that wait.
func TestWhatFollowsInAnotherQueueIsAddedOnceHoweverOftenEachCallIsSent(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		var sent []*redis.Cmd
		twice := b.hooked(func(cmd redis.Cmder) error {
			for _, s := range []string{addressOutboxScript.SHA, advanceOutboxScript.SHA, carryScript.SHA} {
				if args := cmd.Args(); len(args) > 1 && args[1] == s {
					again := redis.NewCmd(b.Context(), slices.Clone(args)...)
					again.SetFirstKeyPos(3)
					_ = b.client.Process(b.Context(), again)
					sent = append(sent, again)
				}
			}
			return nil
		})
		for _, text := range Scripts() {
			b.eachNode(func(node redis.Cmdable) { node.ScriptLoad(b.Context(), text) })
		}
		plain := b.store
		b.departs(source, "mail", "a", 0)
		b.departs(source, "mail", "b", time.Hour)
		b.departs(source, "mail", "c", 0)
		b.use(twice)
		b.carryAll(source, mail)
		b.use(plain)
		b.Want("mail", b.has(mail), "a c | b")
		b.departs(source, "mail", "d", 0)
		b.use(twice)
		b.carryAll(source, mail)
		b.use(plain)
		b.Want("mail", b.has(mail), "d a c | b")
		for _, late := range sent { // all of them once more, in the order in which they were sent
			cmd := redis.NewCmd(b.Context(), late.Args()...)
			cmd.SetFirstKeyPos(3)
			_ = b.client.Process(b.Context(), cmd)
		}
		b.carryAll(source, mail)
		b.Want("mail after late copies", b.has(mail), "d a c | b")
		b.Want("the outbox", b.outboxOf(source), "0 wait, 4 delivered, 4 values")
		if stats, err := b.store.QueueStats(b.Context(), []string{"mail"}); err != nil || stats[0].Partitions != 1 {
			b.Errorf("%+v, %v; want the queue registered", stats, err)
		}
	})
}

// A mark that the call does not name, and that is not of one of its entries, means that the caller has read an earlier state.
func TestACarryThatDoesNotContinueTheMarkAddsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		b.departs(source, "mail", "b", 0)
		batch := b.next(source, mail)
		for _, after := range []string{"", "@1", "7 a", batch.After + "0"} {
			if answer := b.carry(source, mail, after, batch.Entries); answer.Continued || answer.Mark != batch.After {
				b.Errorf("after %q: %+v, want it refused, with the mark %q", after, answer, batch.After)
			}
		}
		descending := slices.Clone(batch.Entries)
		slices.Reverse(descending)
		if answer := b.carry(source, mail, batch.After, descending); answer.Continued {
			b.Errorf("in another order: %+v, want it refused", answer)
		}
		b.Want("mail", b.has(mail), "|")
		answer := b.carry(source, mail, batch.After, batch.Entries[:1])
		if want := fmt.Sprint(batch.Entries[0].Number, " a"); !answer.Continued || answer.Mark != want || answer.Added != 1 {
			b.Errorf("%+v, want the mark %q", answer, want)
		}
		// the number of the mark, with another ID
		other := []protocol.OutboxEntry{{Number: batch.Entries[0].Number, ID: "x", Value: batch.Entries[0].Value}, batch.Entries[1]}
		if answer := b.carry(source, mail, batch.After, other); answer.Continued {
			b.Errorf("an entry with the number of the mark and another ID: %+v, want it refused", answer)
		}
		b.Want("mail", b.has(mail), "a |")
	})
}

func TestACarryOfTwoCarriersAddsOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		b.departs(source, "mail", "b", 0)
		one := b.next(source, mail)
		b.departs(source, "mail", "c", 0)
		other := b.next(source, mail)
		if answer := b.carry(source, mail, one.After, one.Entries); answer.Added != 2 {
			b.Errorf("%+v, want both added", answer)
		}
		if answer := b.carry(source, mail, other.After, other.Entries); !answer.Continued || answer.Added != 1 {
			b.Errorf("%+v, want the third one added", answer)
		}
		if answer := b.carry(source, mail, one.After, one.Entries); answer.Continued {
			b.Errorf("%+v, want the first call refused when it comes again", answer)
		}
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "c a b |")
	})
}

// Marks are kept for 7 days. A call that comes later names a mark, or a token, that the target does not have any more.
func TestALateCarryAfterTheMarkWasForgottenAddsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		first := b.next(source, mail)
		b.carryAll(source, mail)
		b.departs(source, "mail", "b", 0)
		second := b.next(source, mail)
		b.carryAll(source, mail)
		k := b.store.keys.partition(mail)
		b.client.Del(b.Context(), k.inbox, k.ready, k.jobs)
		for _, late := range []protocol.OutboxBatch{first, second} {
			if answer := b.carry(source, mail, late.After, late.Entries); answer.Continued || answer.Added != 0 {
				b.Errorf("%+v, want nothing added", answer)
			}
		}
		b.Want("mail", b.has(mail), "|")
	})
}

// The source loses what it has noted, also the numbers that it has drawn, and its clock is behind: what it sends then has numbers that the target has seen
// with other IDs. It gets new ones.
func TestASourceThatWentBackRedrawsAndLosesNothing(t *testing.T) {
	isSource := func(key string) bool { return strings.Contains(key, ":{default}:") }
	onServersWith(t, settableClock, func(b *bench) {
		source, now := storesuite.DefaultPartition, b.serverTime()
		for _, addressed := range []bool{false, true} {
			b.SetClock(now)
			b.departs(source, "mail", fmt.Sprint("a", addressed), 0)
			if addressed {
				b.address(source)
			}
			before := b.slotSnapshot(isSource)
			b.carryAll(source, mail)
			b.goBack(isSource, before)
			b.SetClock(now.Add(-time.Second))
			b.departs(source, "mail", fmt.Sprint("b", addressed), 0)
			b.carryAll(source, mail)
			now = now.Add(time.Minute)
			b.Want("waits in the outbox", strings.Split(b.outboxOf(source), ",")[0], "0 wait")
		}
		b.Want("mail", b.has(mail), "btrue atrue bfalse afalse |")
		// a second entry gets the number of the mark
		b.SetClock(now)
		empty := b.slotSnapshot(isSource)
		b.departs(source, "mail", "c", 0)
		b.carryAll(source, mail)
		number, _, _ := strings.Cut(b.mark(source, mail), " ")
		b.goBack(isSource, empty)
		k := b.keys()
		b.departsAs(source, mail.Path(), "d", "j0 0 0 0 d")
		member := b.client.ZRange(b.Context(), k.outbox, 0, 0).Val()[0]
		b.client.ZRem(b.Context(), k.outbox, member)
		b.client.ZAdd(b.Context(), k.outbox, redisZ(0, mail.Path()+"\t"+number+member[len(mail.Path())+17:]))
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "d c btrue atrue bfalse afalse |")
	})
}

// The target loses what was carried last. The source still has it, and carries it again.
func TestATargetThatWentBackGetsItAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, isTarget := storesuite.DefaultPartition, func(key string) bool { return strings.Contains(key, ":{mail}:") }
		b.departs(source, "mail", "a", 0)
		b.carryAll(source, mail)
		before := b.slotSnapshot(isTarget)
		b.departs(source, "mail", "b", 0)
		b.carryAll(source, mail)
		b.departs(source, "mail", "c", 0)
		b.carryAll(source, mail)
		b.goBack(isTarget, before)
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "b c a |")
		b.goBack(isTarget, slotSnapshot{})
		b.carryAll(source, mail)
		b.Want("mail after it was lost", b.has(mail), "a b c |")
	})
}

// An entry is removed when the target still has it a minute later. A target that has gone back to an earlier state in between confirms less.
func TestAnEntryLeavesAfterAConfirmation(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		source, now, isTarget := storesuite.DefaultPartition, b.serverTime(), func(key string) bool { return strings.Contains(key, ":{mail}:") }
		b.SetClock(now)
		b.departs(source, "mail", "a", 0)
		b.carryAll(source, mail)
		before := b.slotSnapshot(isTarget)
		b.SetClock(now.Add(20 * time.Second))
		b.departs(source, "mail", "b", 0)
		b.carryAll(source, mail)
		b.SetClock(now.Add(59 * time.Second))
		b.confirm(source, mail)
		b.Want("59 s later", b.outboxOf(source), "0 wait, 2 delivered, 2 values")
		b.SetClock(now.Add(61 * time.Second))
		if batch := b.confirm(source, mail); !batch.Left {
			b.Errorf("%+v, want that one is left", batch)
		}
		b.Want("a minute later", b.outboxOf(source), "0 wait, 1 delivered, 1 values")
		b.goBack(isTarget, before)
		b.SetClock(now.Add(3 * time.Minute))
		if batch := b.confirm(source, mail); len(batch.Entries) != 1 {
			b.Errorf("%+v, want the entry that the target has lost", batch)
		}
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "b a |")
		b.SetClock(now.Add(5 * time.Minute))
		if batch := b.confirm(source, mail); batch.Left || batch.Lost {
			b.Errorf("%+v, want that nothing is left, and nothing lost", batch)
		}
		b.Want("in the end", b.outboxOf(source), "0 wait, 0 delivered, 0 values")
		b.Want("the sums", strings.SplitN(b.stateField("outbox"), " ", 2)[1], "0 0 0 0")
		b.goBack(isTarget, slotSnapshot{})
		late, err := b.store.AdvanceOutbox(b.Context(), source, mail, "@7", now.Add(4*time.Minute), 1) // requested before the last one was noted
		if err != nil || late.Lost {
			b.Errorf("%+v, %v; want that a late answer reports no loss", late, err)
		}
		if batch := b.confirm(source, mail); !batch.Lost {
			b.Errorf("%+v, want that entries are lost: the target has lost them later", batch)
		}
	})
}

// The target loses the last one of two entries that were noted at one time, and gets it again. A minute after the first time only the other one leaves.
func TestAnEntryThatWasCarriedAgainIsConfirmedAgain(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		source, now, isTarget := storesuite.DefaultPartition, b.serverTime(), func(key string) bool { return strings.Contains(key, ":{mail}:") }
		b.SetClock(now)
		b.departs(source, "mail", "a", 0)
		b.carryAll(source, mail)
		b.departs(source, "mail", "b", 0)
		b.carryAll(source, mail)
		before := b.slotSnapshot(isTarget)
		b.departs(source, "mail", "c", 0)
		b.carryAll(source, mail)
		b.SetClock(now.Add(61 * time.Second))
		b.confirm(source, mail)
		b.Want("when the first one is confirmed", b.outboxOf(source), "0 wait, 2 delivered, 2 values")
		b.goBack(isTarget, before)
		b.SetClock(now.Add(100 * time.Second))
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "c b a |")
		b.SetClock(now.Add(122 * time.Second))
		b.confirm(source, mail)
		b.Want("when the second one is confirmed", b.outboxOf(source), "0 wait, 1 delivered, 1 values")
	})
}

// An answer of the target that was requested before the first one confirms nothing, whenever it arrives.
func TestALateAnswerConfirmsNothing(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		source, now := storesuite.DefaultPartition, b.serverTime()
		b.SetClock(now)
		b.departs(source, "mail", "a", 0)
		b.carryAll(source, mail)
		mark := b.mark(source, mail)
		b.SetClock(now.Add(time.Hour))
		for _, asked := range []time.Time{{}, now, now.Add(59 * time.Second)} {
			b.advance(source, mail, mark, asked)
		}
		b.Want("the outbox", b.outboxOf(source), "0 wait, 1 delivered, 1 values")
		b.advance(source, mail, mark, now.Add(61*time.Second))
		b.Want("the outbox", b.outboxOf(source), "0 wait, 0 delivered, 0 values")
	})
}

// The last number was edited, or lost with state, and the clock is behind: numbers are drawn above those that were noted for the target.
func TestALostNumberIsNotDrawnBelowAMark(t *testing.T) {
	for _, text := range []string{"", "x", "1 2", "99999999999999999999 0 0 0 0"} {
		onServersWith(t, settableClock, func(b *bench) {
			source, now := storesuite.DefaultPartition, b.serverTime()
			b.SetClock(now)
			b.departs(source, "mail", "a", 0)
			b.carryAll(source, mail)
			b.SetClock(now.Add(-time.Hour))
			b.client.HSet(b.Context(), b.keys().state, "outbox", text)
			if text == "" {
				b.client.HDel(b.Context(), b.keys().state, "outbox")
			}
			b.departs(source, "mail", "b", 0)
			b.carryAll(source, mail)
			b.Want("mail", b.has(mail), "b a |")
		})
	}
}

// In counts from the end of the job before, however late the carry is.
func TestADelayCountsFromTheEnd(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		source, now := storesuite.DefaultPartition, b.serverTime()
		b.SetClock(now)
		b.departs(source, "mail", "a", time.Hour)
		b.departs(source, "mail", "b", time.Minute)
		b.SetClock(now.Add(30 * time.Minute))
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "b | a")
		at := b.client.ZScore(b.Context(), b.store.keys.partition(mail).due, "a").Val()
		b.Want("due", time.UnixMilli(int64(at)).UTC().String(), now.Add(time.Hour).Truncate(time.Millisecond).UTC().String())
	})
}

// Each line is read by itself, so a target that is not reached delays no other one.
func TestATargetThatIsDownHidesNoOther(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		for i := range 700 {
			b.departsAs(source, "down/0", fmt.Sprint("d", i), "j0 0 0 0 x")
		}
		b.departs(source, "mail", "a", 0)
		b.departs(source, "zoo", "z", 0)
		lines, err := b.store.ReadOutbox(b.Context(), source, "")
		if err != nil || len(lines.Lines) != 3 || lines.Next != "" {
			b.Fatalf("%+v, %v; want three lines", lines, err)
		}
		if members := lines.Lines[1].Members; lines.Lines[1].Line != "mail" || len(members) != 1 || protocol.NewOutboxEntry(members[0], "").ID != "a" {
			b.Errorf("%+v, want the entry for mail", lines.Lines[1])
		}
		b.address(source)
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "a |")
		b.carryAll(source, protocol.Partition{Queue: "down"})
		if n := b.client.LLen(b.Context(), b.store.keys.partition(protocol.Partition{Queue: "down"}).ready).Val(); n != 700 {
			b.Errorf("%d jobs were carried in several calls, want 700", n)
		}
	})
}

func TestTheLinesOfAnOutboxAreReadInPages(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		for i := range 250 {
			b.departsAs(source, fmt.Sprintf("q%03d/0", i), "a", "j0 0 0 0 x")
		}
		for i := range 150 { // carried: of other lines
			b.client.ZAdd(b.Context(), b.keys().delivered, redisZ(0, fmt.Sprintf("d%03d/0\t%016d\t1 1\ta", i, i)))
		}
		seen, targets, pages := map[string]bool{}, map[string]bool{}, 0
		for after := ""; after != "" || pages == 0; pages++ {
			lines, err := b.store.ReadOutbox(b.Context(), source, after)
			if err != nil || len(lines.Lines) > protocol.MaxLines {
				b.Fatalf("%d lines, %v", len(lines.Lines), err)
			}
			for _, line := range lines.Lines {
				if seen[line.Line] {
					b.Errorf("%s is returned twice", line.Line)
				}
				seen[line.Line] = true
			}
			for _, target := range lines.Targets {
				targets[target] = true
			}
			after = lines.Next
		}
		if len(seen) != 250 || len(targets) != 150 {
			b.Errorf("%d lines and %d targets in %d pages, want 250 and 150", len(seen), len(targets), pages)
		}
	})
}

// If the reader of a line is behind, its first entry is not the first one any more: then it moves nothing.
func TestAnAddressThatComesLateMovesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		for _, id := range []string{"a", "b", "c"} {
			b.departs(source, "mail", id, 0)
		}
		lines, err := b.store.ReadOutbox(b.Context(), source, "")
		if err != nil {
			b.Fatal(err)
		}
		var to []protocol.Addressed
		for _, member := range lines.Lines[0].Members {
			to = append(to, protocol.Addressed{Member: member})
		}
		for _, step := range []struct {
			to   []protocol.Addressed
			want int
		}{{to[1:], 0}, {to[:2], 2}, {to, 0}, {to[:2], 0}, {to[2:], 1}, {to[2:], 0}} {
			if moved, err := b.store.AddressOutbox(b.Context(), source, "mail", step.to); err != nil || moved != step.want {
				b.Errorf("%d moved, %v; want %d", moved, err, step.want)
			}
		}
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "a b c |")
	})
}

func TestAQueueWithALineIsNotDeleted(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		remains, err := b.store.DeleteQueue(b.Context(), "default")
		b.Want("remains", fmt.Sprint(remains, err), "1 job on its way to another queue <nil>")
		b.carryAll(source, mail)
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Errorf("%v, %v; want it deleted", remains, err)
		}
		b.Want("left", b.left("default", 1), "")
		// a carrier that was stopped comes back: it writes nothing
		if batch := b.advance(source, mail, b.mark(source, mail), b.serverTime()); len(batch.Entries) > 0 || batch.Left {
			b.Errorf("%+v of a deleted queue, want nothing", batch)
		}
		b.Want("left", b.left("default", 1), "")
	})
}

// The queue of the target is deleted, before the carry or since the last one: it is registered again, and nothing is added twice.
func TestATargetThatWasDeletedIsMadeAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		late := b.next(source, mail)
		b.carryAll(source, mail)
		k := b.store.keys.partition(mail)
		b.client.Del(b.Context(), k.ready, k.jobs) // it has run
		if remains, err := b.store.DeleteQueue(b.Context(), "mail"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Fatal(remains, err)
		}
		if answer := b.carry(source, mail, late.After, late.Entries); answer.Added != 0 {
			b.Errorf("%+v, want that a late copy adds nothing", answer)
		}
		b.departs(source, "mail", "b", 0)
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "b |")
		if ttl := b.client.TTL(b.Context(), k.inbox).Val(); ttl >= 0 {
			b.Errorf("the marks expire in %v", ttl)
		}
		if stats, err := b.store.QueueStats(b.Context(), []string{"mail"}); err != nil || stats[0].Partitions != 1 {
			b.Errorf("%+v, %v; want the queue registered", stats, err)
		}
	})
}

// The first job after a deletion is enqueued, and not carried: the next carry keeps the marks all the same.
func TestMarksOfADeletedQueueThatIsUsedAgainDoNotExpire(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, target := mail, storesuite.DefaultPartition
		b.departs(source, "default", "a", 0)
		b.carryAll(source, target)
		b.client.Del(b.Context(), b.keys().ready, b.keys().jobs) // it has run
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Fatal(remains, err)
		}
		b.Enqueue(storesuite.Job("b"))
		b.departs(source, "default", "c", 0)
		b.carryAll(source, target)
		if ttl := b.client.TTL(b.Context(), b.keys().inbox).Val(); ttl >= 0 {
			b.Errorf("the marks expire in %v", ttl)
		}
	})
}

// A source that was deleted and is used again has no memory of its targets.
func TestASourceThatWasDeletedAndMadeAgainLosesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		b.carryAll(source, mail)
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Fatal(remains, err)
		}
		b.departs(source, "mail", "b", 0)
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "b a |")
	})
}

// A newer version has written the value: it waits for a program that knows it, with all that come after it.
func TestAnEntryOfANewerVersionWaits(t *testing.T) {
	for _, value := range []string{"z1", "j0 0 1 0 nx", ""} {
		onEveryServer(t, func(b *bench) {
			source := storesuite.DefaultPartition
			b.departs(source, "mail", "a", 0)
			b.departsAs(source, "mail", "new", value)
			b.departs(source, "mail", "b", 0)
			batch := b.next(source, mail)
			if answer := b.carry(source, mail, batch.After, batch.Entries); answer.Added != 1 {
				b.Errorf("%+v, want what comes before it added", answer)
			}
			batch = b.next(source, mail)
			if _, err := b.store.Carry(b.Context(), source, mail, batch.After, batch.Entries); !errors.Is(err, protocol.ErrUnfit) {
				b.Errorf("%v, want ErrUnfit", err)
			}
			b.Want("mail", b.has(mail), "a |")
			b.Want("the outbox", b.outboxOf(source), "2 wait, 1 delivered, 3 values")
		})
	}
}

// A job of that ID was cancelled while it waited: the ID is in ready, void.
func TestAnIDThatIsVoidInReadyKeepsItsPlace(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := mail // the target is the default queue, on which the bench works
		b.Enqueue(storesuite.Own("a"), storesuite.Own("b"))
		b.Want("cancelled", b.Cancel("a"), "done")
		b.departs(source, "default", "a", 0)
		b.departs(source, "default", "b", 0) // it exists: not added
		b.departs(source, "default", "c", 0)
		b.carryAll(source, storesuite.DefaultPartition)
		b.Want("waits", fmt.Sprint(b.ready()), "[c a b]")
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), "c a b")
		b.Verified()
	})
}

func TestWhatIsCarriedWakesASleeper(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Sleeping("w")
		b.departs(mail, "default", "a", 0)
		b.carryAll(mail, storesuite.DefaultPartition)
		if !b.asleepSince("w").IsZero() {
			b.Error("the sleeper was not woken")
		}
		b.pause(true)
		b.departs(mail, "default", "b", 0)
		b.carryAll(mail, storesuite.DefaultPartition)
		b.Want("waits in the paused queue", fmt.Sprint(b.ready()), "[b a]")
	})
}

// What was carried is kept until it is confirmed, but not without bound: then the oldest entries of the line leave early.
func TestDeliveredEntriesAreBounded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.keys()
		b.departs(source, "mail", "first", 0)
		b.carryAll(source, mail)
		pipe := b.client.Pipeline()
		for i := range 20_000 {
			pipe.ZAdd(b.Context(), k.delivered, redisZ(0, fmt.Sprintf("other/0\t%016d\t1 1\ta%d", i, i)))
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.departs(source, "mail", "second", 0)
		b.carryAll(source, mail)
		b.Want("the outbox", b.outboxOf(source), "0 wait, 20001 delivered, 1 values")
		members := b.client.ZRangeByLex(b.Context(), k.delivered, &redis.ZRangeBy{Min: "[mail/0\t", Max: "(mail/0\n"}).Val()
		if len(members) != 1 || !strings.HasSuffix(members[0], "\tsecond") {
			b.Errorf("%q of the line are left, want the last one", members)
		}
	})
}

// Marks of sources, and what is known of targets, are removed when they are 7 days old and another one is added.
func TestMarksOfLongAgoAreRemoved(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		now := b.serverTime()
		b.SetClock(now)
		source := storesuite.DefaultPartition
		for i := range 20 {
			target := protocol.Partition{Queue: fmt.Sprint("t", i)}
			b.departs(source, target.Queue, "a", 0)
			b.carryAll(source, target)
			b.departs(target, "mail", fmt.Sprint("b", i), 0)
			b.carryAll(target, mail)
		}
		b.SetClock(now.Add(90 * time.Second))
		for i := range 20 {
			b.confirm(source, protocol.Partition{Queue: fmt.Sprint("t", i)})
		}
		b.SetClock(now.Add(8 * 24 * time.Hour))
		for i := range 20 {
			target := protocol.Partition{Queue: fmt.Sprint("u", i)}
			b.departs(source, target.Queue, "a", 0)
			b.carryAll(source, target)
			b.departs(target, "mail", fmt.Sprint("b", i), 0)
			b.carryAll(target, mail)
		}
		for key, n := range map[string]int64{
			"carried": b.client.HLen(b.Context(), b.keys().carried).Val(), "inbox": b.client.HLen(b.Context(), b.store.keys.partition(mail).inbox).Val(),
		} {
			if n > 30 {
				b.Errorf("%s has %d fields, want that most of the 20 of long ago are removed", key, n)
			}
		}
	})
}

// A key that was edited by hand stops no line for good.
// A line was blocked for more than 7 days, so the numbers of its entries are that old when they are carried. Their mark is not: another source does not
// remove it, and the same call, sent again because its answer was lost, adds nothing.
func TestTheMarkOfALineThatWasBlockedForLongIsKept(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		long := b.serverTime().Add(-8 * 24 * time.Hour).UnixMicro()
		entries := []protocol.OutboxEntry{{Number: long, ID: "a", Value: "j0 0 0 0 \x01a"}}
		token := b.mark(source, mail)
		if answer := b.carry(source, mail, token, entries); answer.Added != 1 {
			b.Fatalf("%+v, want the entry added", answer)
		}
		k := b.store.keys.partition(mail)
		b.client.Del(b.Context(), k.ready, k.jobs) // it has run
		b.mark(protocol.Partition{Queue: "other"}, mail)
		want := fmt.Sprint(long, " a")
		if answer := b.carry(source, mail, token, entries); answer.Mark != want || answer.Added != 0 {
			b.Errorf("%+v after another source has come, want the mark %q and nothing added", answer, want)
		}
	})
}

func TestAnEntryWithoutAValueIsRemoved(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		b.departs(source, "mail", "b", 0)
		b.client.HDel(b.Context(), b.keys().outgoing, "mail\ta")
		batch := b.next(source, mail)
		if len(batch.Entries) != 1 || !batch.Lost {
			b.Errorf("%+v, want the other one, and that one is lost", batch)
		}
		b.carryAll(source, mail)
		b.Want("mail", b.has(mail), "b |")
		b.Want("the outbox", b.outboxOf(source), "0 wait, 1 delivered, 1 values")
	})
}
