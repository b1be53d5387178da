package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// member returns the body of a job that is a member of a batch; empty: of none.
func member(batch string, change ...func(*wire.Envelope)) []byte {
	e := wire.Envelope{Name: "work", Payload: []byte("p"), Details: &wire.Details{Batch: batch}}
	for _, c := range change {
		c(&e)
	}
	return e.Encode()
}

// openBatch creates a batch that is followed by jobs in the queue mail.
func (b *bench) openBatch(id string) protocol.BatchRecord {
	b.Helper()
	follow := func(name string) []byte {
		e := wire.Envelope{Name: name, Details: &wire.Details{Queue: mail.Queue}}
		return e.Encode()
	}
	spec := wire.BatchSpec{Done: follow("done"), Ended: follow("ended")}
	record, _, err := b.store.OpenBatch(b.Context(), protocol.BatchDefinition{
		ID: id, Spec: spec.Encode(), Keep: 24 * time.Hour, KeepDead: 7 * 24 * time.Hour, HasDone: true, HasEnded: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	return record
}

// fillBatch adds members to a batch at positions from first on, without a note at home.
func (b *bench) fillBatch(id string, first int64, ids ...string) protocol.FillAnswer {
	b.Helper()
	call := protocol.FillCall{Partition: storesuite.DefaultPartition, Batch: id}
	for i, job := range ids {
		call.Positions = append(call.Positions, first+int64(i))
		call.Items = append(call.Items, protocol.EnqueueItem{ID: job, Body: member(id)})
	}
	answer := b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// filled creates a batch with these members and seals it.
func (b *bench) filled(id string, ids ...string) {
	b.Helper()
	b.openBatch(id)
	if len(ids) > 0 {
		note := protocol.FillNote{Position: int64(len(ids)), Hash: "h", Partitions: []protocol.Partition{storesuite.DefaultPartition}}
		if _, err := b.store.NoteFill(b.Context(), id, note); err != nil {
			b.Fatal(err)
		}
		b.fillBatch(id, 1, ids...)
	}
	b.seal(id, int64(len(ids)), "h")
}

// seal seals a batch.
func (b *bench) seal(id string, total int64, hash string) protocol.BatchRecord {
	b.Helper()
	if total == 0 {
		hash = ""
	}
	var counts []protocol.PartitionCounts
	for range 3 {
		record, sealed, err := b.store.SealBatch(b.Context(), id, total, hash, false, counts)
		if err != nil {
			b.Fatal(err)
		}
		if sealed {
			return record
		}
		counts = nil
		for _, part := range record.Partition {
			counts = append(counts, b.count(protocol.CountCall{Partition: part.Partition, Batch: id, Close: true}))
		}
	}
	b.Fatal("the batch is not sealed")
	return protocol.BatchRecord{}
}

func (b *bench) count(call protocol.CountCall) protocol.PartitionCounts {
	b.Helper()
	answer := b.store.CountBatch(b.Context(), []protocol.CountCall{call})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer.Counts
}

// ofBatch returns the counts of a batch in a partition.
func (b *bench) ofBatch(p protocol.Partition, id string) string {
	b.Helper()
	return countsText(b.count(protocol.CountCall{Partition: p, Batch: id}).Counts)
}

func countsText(c protocol.BatchCounts) string {
	var parts []string
	for _, part := range []struct {
		n    int64
		what string
	}{{c.Added, "added"}, {c.Away, "away"}, {c.Done, "done"}, {c.Dead, "dead"}, {c.Cancelled, "cancelled"}, {c.Existing, "existing"}, {c.Left(), "left"}} {
		if part.n != 0 {
			parts = append(parts, fmt.Sprint(part.n, " ", part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// report brings the counts of a partition to the homes, and ends what has ended.
func (b *bench) report(partitions ...protocol.Partition) {
	b.Helper()
	for _, p := range partitions {
		due, _, err := b.store.DueReports(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		for _, counts := range due {
			answer := b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: counts}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			if err := b.store.AckReports(b.Context(), p, []protocol.ReportAck{{Batch: counts.Batch, Version: counts.Version, Unknown: answer.Unknown}}); err != nil {
				b.Fatal(err)
			}
			if answer.Ends {
				if err := batch.End(b.Context(), b.store, counts.Batch); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// record returns the state of a batch with its totals.
func (b *bench) record(id string) string {
	b.Helper()
	record, err := b.store.GetBatch(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return string(record.State) + ": " + countsText(record.Totals())
}

// followed brings what follows a batch to the queue mail, and returns the jobs there.
func (b *bench) followed(id string) string {
	b.Helper()
	home := protocol.Home(protocol.HomeOf(id))
	b.carryAll(home, mail)
	ids := b.client.HKeys(b.Context(), b.store.keys.partition(mail).jobs).Val()
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestABatchIsFilledSealedAndEndedOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.Want("created", string(b.openBatch("import").State), "open")
		if _, existed, err := b.store.OpenBatch(b.Context(), protocol.BatchDefinition{ID: "import"}); existed || !errors.Is(err, protocol.ErrConflict) {
			b.Errorf("another definition: existed %v, %v, want a conflict", existed, err)
		}
		b.filled("import", "a", "b", "c")
		again := b.fillBatch("import", 2, "x", "y")
		b.Want("positions that were taken", fmt.Sprint(again.Passed, again.Closed), "2 false")
		late := b.fillBatch("import", 3, "x", "y")
		b.Want("positions after the seal", fmt.Sprint(late.Passed, late.Closed), "1 true")
		b.Want("counts", b.ofBatch(source, "import"), "3 added, 3 left")
		b.Want("sealed", b.record("import"), "running: 3 added, 3 left")

		taken := b.Take("w", 3)
		answer := b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{
			{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleDone, Batch: "import"},
			{ID: taken[1].ID, Fence: taken[1].Fence + 7, Kind: protocol.SettleDone, Batch: "import"},
		}})
		if len(answer.Refused) != 1 || !answer.Batches {
			b.Errorf("refused %v, batches %v", answer.Refused, answer.Batches)
		}
		b.Want("one is done, one was refused", b.ofBatch(source, "import"), "3 added, 1 done, 2 left")
		b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{{ID: taken[1].ID, Fence: taken[1].Fence, Kind: protocol.SettleDone, Batch: "import"}}})
		last := b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{{ID: taken[2].ID, Fence: taken[2].Fence, Kind: protocol.SettleDone, Batch: "import"}}})
		if !last.Reports {
			b.Error("no member is left, and the answer does not name a report")
		}
		b.report(source)
		b.Want("ended", b.record("import"), "done: 3 added, 3 done")
		b.Want("what follows", b.followed("import"), "import#done import#ended")
		b.report(source)
		if err := batch.End(b.Context(), b.store, "import"); err != nil {
			b.Error(err)
		}
		b.Want("what follows, once", b.followed("import"), "import#done import#ended")
		body := b.client.HGet(b.Context(), b.store.keys.partition(mail).jobs, "import#done").Val()
		e, err := wire.DecodeEnvelope([]byte(body))
		if err != nil || e.Details.BatchEnd == nil || e.Details.BatchEnd.Total != 3 || e.Details.BatchEnd.Done != 3 {
			b.Errorf("Done has the batch %+v, %v", e.Details, err)
		}
	})
}

// Each way in which a job ends, and what that is for its batch.
func TestEveryEndOfAMemberIsCounted(t *testing.T) {
	dies := func(b *bench) {
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead, Body: member("b"), Batch: "b"})
	}
	for _, c := range []struct {
		name, want string
		end        func(b *bench)
	}{
		{"done, and its result is kept", "1 added, 1 done", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Result: &protocol.Result{Keep: time.Hour, Body: []byte("r")}, Batch: "b"})
		}},
		{"done, and another job follows", "1 added, 1 done", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Follower: &protocol.Follower{Body: member("")}, Batch: "b"})
		}},
		{"done, and a member follows", "2 added, 1 done, 1 left", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Follower: &protocol.Follower{Body: member("b"), Batch: "b"}, Batch: "b"})
		}},
		{"done, and a member follows in another queue", "1 added, 1 away, 1 done, 1 left", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Follower: &protocol.Follower{Body: member("b"), Batch: "b", Queue: "mail"}, Batch: "b"})
		}},
		{"later", "1 added, 1 left", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Delay: time.Hour, Batch: "b"})
		}},
		{"back", "1 added, 1 left", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleBack, Batch: "b"})
		}},
		{"dead", "1 added, 1 dead", dies},
		{"expired", "1 added, 1 dead", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleExpired, Batch: "b"})
		}},
		{"dead, and requeued", "1 added, 1 left", func(b *bench) {
			dies(b)
			if got, err := b.store.RequeueJobs(b.Context(), "default", []protocol.RequeuedJob{{ID: "m", Read: member("b"), Body: member("b")}}); err != nil || got[0] != protocol.ChangeDone {
				b.Fatal(got, err)
			}
		}},
		{"dead, and deleted", "1 added, 1 cancelled", func(b *bench) {
			dies(b)
			if got, err := b.store.DeleteJobs(b.Context(), "default", []string{"m"}); err != nil || got[0] != protocol.ChangeDone {
				b.Fatal(got, err)
			}
		}},
		{"dead, and replaced", "1 added, 1 left", func(b *bench) {
			dies(b)
			b.replaces("m", "b", protocol.ReplaceDone)
		}},
		{"cancelled while it waits", "1 added, 1 cancelled", func(b *bench) { b.Want("cancelled", b.Cancel("m"), "done") }},
		{"deleted while it waits", "1 added, 1 cancelled", func(b *bench) {
			if got, err := b.store.DeleteJobs(b.Context(), "default", []string{"m"}); err != nil || got[0] != protocol.ChangeDone {
				b.Fatal(got, err)
			}
		}},
		{"cancelled while it is held, and done", "1 added, 1 cancelled", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Want("cancelled", b.Cancel("m"), "asked")
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		}},
		{"cancelled while it is held, and failed", "1 added, 1 cancelled", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.Want("cancelled", b.Cancel("m"), "asked")
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Failed: true, Batch: "b"})
		}},
		{"its batch is cancelled while it is held, and it is done", "1 added, 1 done", ofCancelledBatch(protocol.Settlement{Kind: protocol.SettleDone})},
		{"its batch is cancelled while it is held, and it is dead", "1 added, 1 dead", ofCancelledBatch(protocol.Settlement{Kind: protocol.SettleDead, Body: member("b"), Failed: true})},
		{"its batch is cancelled while it is held, and it fails", "1 added, 1 cancelled",
			ofCancelledBatch(protocol.Settlement{Kind: protocol.SettleLater, Failed: true, Body: member("b"), Delay: time.Hour})},
		{"its batch is cancelled while it is held, and it goes back", "1 added, 1 cancelled", ofCancelledBatch(protocol.Settlement{Kind: protocol.SettleBack, Unbegun: true})},
		{"its batch is cancelled while it is held, and it is parked", "1 added, 1 cancelled", ofCancelledBatch(protocol.Settlement{Kind: protocol.SettlePark, Name: "work"})},
		{"another batch is closed while it is held, and it fails", "1 added, 1 left", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: "b", Close: true})
			b.fillBatch("x", 1, "other")
			b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: "x", Cancel: true})
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Failed: true, Body: member("b"), Delay: time.Hour, Batch: "b"})
		}},
		{"replaced while it is held, and done", "1 added, 1 left", func(b *bench) {
			taken := b.Take("s", 1)[0]
			b.replaces("m", "b", protocol.ReplaceDone)
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		}},
		{"replaced while it waits", "1 added, 1 left", func(b *bench) { b.replaces("m", "b", protocol.ReplaceDone) }},
		{"replaced by a job of no batch", "1 added, 1 left", func(b *bench) { b.replaces("m", "", protocol.ReplaceOtherBatch) }},
		{"replaced by a member of another batch", "1 added, 1 left", func(b *bench) { b.replaces("m", "c", protocol.ReplaceOtherBatch) }},
		{"cancelled while it is held, and its worker vanishes", "1 added, 1 cancelled", func(b *bench) {
			b.Work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
			b.Want("cancelled", b.Cancel("m"), "asked")
			b.Reap(b.UntilLapsed(), 0)
		}},
		{"its worker vanishes", "1 added, 1 left", func(b *bench) {
			b.Work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
			b.Reap(b.UntilLapsed(), 0)
		}},
		{"purged", "1 added, 1 cancelled", func(b *bench) {
			if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
			if answer, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition); err != nil || answer.Changed != 1 {
				b.Fatal(answer, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.fillBatch("b", 1, "m")
				b.openBatch("b")
				c.end(b)
				b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "b"), c.want)
			})
		})
	}
}

// ofCancelledBatch settles a member that was taken before its batch was cancelled in the partition. Either it has ended, or no job is left.
func ofCancelledBatch(s protocol.Settlement) func(b *bench) {
	return func(b *bench) {
		b.Helper()
		taken := b.Take("s", 1)[0]
		b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: "b", Cancel: true})
		s.ID, s.Fence, s.Batch = taken.ID, taken.Fence, "b"
		b.Settle("s", s)
		keys := b.store.keys.partition(storesuite.DefaultPartition)
		if left := b.client.HExists(b.Context(), keys.jobs, "m").Val(); left != (s.Kind == protocol.SettleDead) {
			b.Errorf("settled as %c: the job is left: %v", s.Kind, left)
		}
		if n := b.client.ZCard(b.Context(), keys.due).Val() + b.client.LLen(b.Context(), keys.ready).Val(); n != 0 {
			b.Errorf("settled as %c: %d jobs are on the queue, want none", s.Kind, n)
		}
	}
}

// replaces replaces a job by a member of a batch; empty: of none.
func (b *bench) replaces(id, batch string, want protocol.Replaced) {
	b.Helper()
	item := protocol.EnqueueItem{ID: id, Own: true, Body: member(batch)}
	got, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t-" + batch, Item: item, Batch: batch})
	if err != nil || got != want {
		b.Fatalf("replaced: %v, %v, want %v", got, err, want)
	}
}

// The scripts find the batch of a job in its envelope, whatever else is in it.
func TestAMemberIsKnownByItsEnvelope(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	onEveryServer(t, func(b *bench) {
		for i, change := range []func(*wire.Envelope){
			func(e *wire.Envelope) {},
			func(e *wire.Envelope) { e.Payload = []byte(long) },
			func(e *wire.Envelope) { e.Payload = nil },
			func(e *wire.Envelope) { e.Details.Alone = true },
			func(e *wire.Envelope) { e.Details.Header = map[string]string{"a": "\xa1b", "b": long[:300]} },
			func(e *wire.Envelope) { e.Details.OnDone = []byte(long) },
			func(e *wire.Envelope) {
				e.MaxAttempts, e.Timeout, e.Failures, e.LastError, e.Stack = 300, time.Hour, 7, "failed: \xa1b", "stack"
			},
			func(e *wire.Envelope) { e.Planned, e.Expires = time.UnixMilli(1e12), time.UnixMilli(2e12) },
			func(e *wire.Envelope) { e.Payload, e.Sealed = nil, []byte("sealed") },
			func(e *wire.Envelope) {
				e.Details = &wire.Details{
					Batch: e.Details.Batch, SameBatch: true, BatchEnd: &wire.BatchEnd{ID: "other", Created: time.UnixMilli(1e12), Ended: time.UnixMilli(1e12)}, Keep: time.Hour, Group: "g",
					Enqueued: time.UnixMilli(1e12), Retry: wire.Retry{First: time.Second, Max: time.Minute}, Failures: []wire.Failure{{At: time.UnixMilli(1e12), Worker: "w", Error: "e"}},
				}
			},
		} {
			id, of := fmt.Sprint("job", i), fmt.Sprint("batch", i)
			body := member(of, change)
			if got := wire.Member(body); got != of {
				t.Fatalf("case %d: the envelope names batch %q, want %q", i, got, of)
			}
			call := protocol.FillCall{Partition: storesuite.DefaultPartition, Batch: of, Positions: []int64{1}, Items: []protocol.EnqueueItem{{ID: id, Body: body}}}
			if answer := b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]; answer.Err != nil {
				t.Fatal(answer.Err)
			}
			b.Want("cancelled", b.Cancel(id), "done")
			b.Want(fmt.Sprint("case ", i), b.ofBatch(storesuite.DefaultPartition, of), "1 added, 1 cancelled")
		}
		b.Enqueue(protocol.EnqueueItem{ID: "none", Body: member("", func(e *wire.Envelope) { e.Details.Header = map[string]string{"h": "\xa1b\xa5batch"} })})
		b.Want("no member", b.Cancel("none"), "done")
	})
}

// An item that is refused stops the call, so that a repeated one continues with it.
func TestAFillStopsAtTheItemThatIsRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.setGroup("g", protocol.GroupRule{Waiting: 1})
		item := func(id, group string) protocol.EnqueueItem {
			return protocol.EnqueueItem{ID: id, Group: group, Body: member("b")}
		}
		call := protocol.FillCall{
			Partition: source, Batch: "b", Positions: []int64{3, 5, 6, 9, 10},
			Items: []protocol.EnqueueItem{item("a", ""), item("b", "g"), item("c", ""), item("d", "g"), item("e", "")},
		}
		answer := b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]
		if answer.Err != nil || len(answer.Full) != 5 || !errors.Is(answer.Full[3], protocol.ErrGroupFull) {
			t.Fatalf("refused %v, %v, want the fourth one", answer.Full, answer.Err)
		}
		b.Want("counts", countsText(answer.Counts.Counts)+fmt.Sprint(" up to ", answer.Counts.Position), "3 added, 3 left up to 6")
		for _, taken := range b.Take("w", 3) {
			b.Settle("w", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		}
		answer = b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]
		b.Want("repeated", fmt.Sprint(answer.Err, answer.Passed, answer.Full)+" "+countsText(answer.Counts.Counts), "<nil> 3 [] 5 added, 3 done, 2 left")
	})
}

// A job of an ID that exists is no member; it counts in Existing.
func TestAnItemWhoseJobExistsIsNoMember(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("order-1"))
		call := protocol.FillCall{Partition: storesuite.DefaultPartition, Batch: "b", Positions: []int64{1, 2}, Items: []protocol.EnqueueItem{
			{ID: "order-1", Own: true, Body: member("b")}, {ID: "order-2", Own: true, Body: member("b")},
		}}
		for range 2 {
			if answer := b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]; answer.Err != nil {
				t.Fatal(answer.Err)
			}
		}
		b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "b"), "1 added, 1 existing, 1 left")
		b.Want("cancelled", b.Cancel("order-1"), "done")
		b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "b"), "1 added, 1 existing, 1 left")
	})
}

// A follower that is a member is counted by its source until the target has it, and the home asks the target before the batch ends.
func TestAMemberThatFollowsInAnotherQueueIsCountedAllTheWay(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m")
		taken := b.Take("w", 1)[0]
		b.Settle("w", protocol.Settlement{
			ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b", Follower: &protocol.Follower{Body: member("b"), Batch: "b", Queue: mail.Queue},
		})
		b.Want("source", b.ofBatch(source, "b"), "1 added, 1 away, 1 done, 1 left")
		b.carryAll(source, mail)
		b.Want("source", b.ofBatch(source, "b"), "1 added, 1 done")
		b.Want("target", b.ofBatch(mail, "b"), "1 added, 1 left")
		b.report(source)
		b.Want("the home knows the target", b.record("b"), "running: 2 added, 1 done, 1 left")
		b.report(mail)
		if got, err := b.store.discard(b.Context(), "delete", mail.Queue, []string{fmt.Sprintf("m#done-%d.1", taken.Fence)}, nil); err != nil || got[0] != protocol.ChangeDone {
			t.Fatal(got, err)
		}
		b.report(mail)
		b.Want("ended", b.record("b"), "ended: 2 added, 1 done, 1 cancelled")
		b.Want("what follows", b.followed("b"), "b#ended")
	})
}

// A target that has lost what was carried gets it again, and the source counts it again until then.
func TestAMemberThatIsCarriedAgainIsAwayAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m")
		taken := b.Take("w", 1)[0]
		b.Settle("w", protocol.Settlement{
			ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b", Follower: &protocol.Follower{Body: member("b"), Batch: "b", Queue: mail.Queue},
		})
		b.carryAll(source, mail)
		k := b.store.keys.partition(mail)
		b.client.Del(b.Context(), k.jobs, k.ready, k.inbox, k.batches, k.reports, k.state)
		b.next(source, mail)
		b.Want("source", b.ofBatch(source, "b"), "1 added, 1 away, 1 done, 1 left")
		b.carryAll(source, mail)
		b.Want("source", b.ofBatch(source, "b"), "1 added, 1 done")
		b.Want("target", b.ofBatch(mail, "b"), "1 added, 1 left")
	})
}

// A batch does not end while a job is about to be added to it, also if the reports show that no member is left.
func TestABatchDoesNotEndWhileItGrows(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m")
		taken := b.Take("w", 1)[0]
		if _, err := b.store.GrowBatch(b.Context(), "b", "token", mail); err != nil {
			t.Fatal(err)
		}
		b.Settle("w", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		b.report(source)
		b.Want("growing", b.record("b"), "running: 1 added, 1 done")
		if first, second := b.endsBatch("b"), b.endsBatch("b"); first || second { // the first call closes the partition that is new
			t.Error("it has ended while it grows")
		}
		call := protocol.FillCall{Partition: mail, Batch: "b", Token: "token", Items: []protocol.EnqueueItem{{ID: "grown", Body: member("b")}}}
		for range 2 {
			if answer := b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]; answer.Err != nil || answer.Closed {
				t.Fatal(answer.Closed, answer.Err)
			}
		}
		b.Want("target", b.ofBatch(mail, "b"), "1 added, 1 left")
		counts := b.count(protocol.CountCall{Partition: mail, Batch: "b"})
		b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: counts, Grown: []string{"token"}}})
		b.Want("grown", b.record("b"), "running: 2 added, 1 done, 1 left")
		if record, _ := b.store.GetBatch(b.Context(), "b"); len(record.Growing) != 0 {
			t.Errorf("growing %v", record.Growing)
		}
	})
}

// The call of a process that died is void once its partition was asked: a late copy adds nothing.
func TestAJobThatWasToBeAddedIsVoidAfterThePartitionWasAsked(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.filled("b", "m")
		if _, err := b.store.GrowBatch(b.Context(), "b", "token", mail); err != nil {
			t.Fatal(err)
		}
		b.count(protocol.CountCall{Partition: mail, Batch: "b", Void: "token"})
		call := protocol.FillCall{Partition: mail, Batch: "b", Token: "token", Items: []protocol.EnqueueItem{{ID: "late", Body: member("b")}}}
		if answer := b.store.FillBatch(b.Context(), []protocol.FillCall{call})[0]; answer.Err != nil || !answer.Closed {
			t.Errorf("a void call: closed %v, %v", answer.Closed, answer.Err)
		}
		b.Want("target", b.ofBatch(mail, "b")+b.has(mail), "|")
	})
}

// A batch that has ended, or was cancelled, does not grow.
func TestABatchThatHasEndedDoesNotGrow(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.filled("b", "m")
		if _, err := b.store.CancelBatch(b.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.GrowBatch(b.Context(), "b", "token", mail); !errors.Is(err, protocol.ErrConflict) {
			t.Errorf("a cancelled batch: %v, want a conflict", err)
		}
		if _, err := b.store.GrowBatch(b.Context(), "unknown", "token", mail); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("an unknown batch: %v", err)
		}
	})
}

// A report that comes late, or twice, changes nothing.
func TestALateReportChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m", "n")
		before := b.count(protocol.CountCall{Partition: source, Batch: "b"})
		for _, taken := range b.Take("w", 2) {
			b.Settle("w", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		}
		now := b.count(protocol.CountCall{Partition: source, Batch: "b"})
		for _, counts := range []protocol.PartitionCounts{now, before, now, before} {
			b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: counts}})
			b.Want("the last one counts", b.record("b"), "running: 2 added, 2 done")
		}
	})
}

// A home that went back to an earlier state may not know a partition, or not its last counts. The partition reports once a minute while members are left, a minute
// after the last change, and then once a day.
func TestAPartitionReportsAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.store.keys.partition(storesuite.DefaultPartition)
		dueIn := func(what string, want time.Duration) {
			b.Helper()
			at := time.UnixMilli(int64(b.client.ZScore(b.Context(), k.reports, "b").Val()))
			if in := at.Sub(b.serverTime()); in < want-10*time.Second || in > want+time.Second {
				b.Errorf("%s: the next report is due in %v, want %v", what, in, want)
			}
		}
		b.filled("b", "m")
		b.report(source)
		dueIn("a member is left", time.Minute)
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		b.report(source)
		dueIn("all members have ended", time.Minute)
		aged := []protocol.ReportAck{{Batch: "b", Version: b.serverTime().Add(-time.Minute).UnixMicro()}}
		b.client.HSet(b.Context(), k.batches, "b", fmt.Sprintf("%d 1 1 0 0 0 0 1 c 0 -", aged[0].Version))
		if err := b.store.AckReports(b.Context(), source, aged); err != nil {
			b.Fatal(err)
		}
		dueIn("they ended a minute ago", 24*time.Hour-time.Minute)
		b.count(protocol.CountCall{Partition: source, Batch: "b", Forget: true})
		if err := b.store.AckReports(b.Context(), source, aged); err != nil || b.client.ZCard(b.Context(), k.reports).Val() > 0 {
			b.Errorf("a batch that was forgotten is to be reported again, %v", err)
		}
	})
}

// A home goes back to before a dead member of an ended batch was requeued and done. It does not ask the partition, but the partition reports again.
func TestAHomeThatWentBackGetsTheCountsAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.store.keys.partition(storesuite.DefaultPartition)
		b.filled("b", "m")
		key := b.store.keys.home(protocol.HomeOf("b")).batch("b")
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead, Body: member("b"), Batch: "b"})
		b.report(source)
		b.Want("the member is dead", b.record("b"), "ended: 1 added, 1 dead")
		earlier := b.client.HGetAll(b.Context(), key).Val()
		if _, err := b.store.RequeueJobs(b.Context(), "default", []protocol.RequeuedJob{{ID: "m", Read: member("b"), Body: member("b")}}); err != nil {
			b.Fatal(err)
		}
		taken = b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		b.report(source)
		b.Want("the member is done", b.record("b"), "done: 1 added, 1 done")
		b.client.Del(b.Context(), key)
		b.client.HSet(b.Context(), key, earlier)
		b.client.ZAddXX(b.Context(), k.reports, redis.Z{Score: 1, Member: "b"}) // a minute or a day passes
		b.report(source)
		b.Want("the home went back", b.record("b"), "done: 1 added, 1 done")
	})
}

// A partition keeps the counts of a batch that its home has lost for a day, and longer while members are left or something changes. Then the next report removes
// them. Verify removes those that no report has removed.
func TestCountsOfALostBatchAreRemovedADayLater(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.store.keys.partition(storesuite.DefaultPartition)
		b.filled("known", "m")
		day, id := int64(24*time.Hour/time.Microsecond), "lost"
		for _, c := range []struct {
			what      string
			age, left int64
			due, kept bool
			found     int
		}{
			{"23 hours old", day * 23 / 24, 0, true, true, 0},
			{"a day old", day, 0, true, false, 0},
			{"two days old, with a member", 2 * day, 1, true, true, 1},
			{"a day old, and no report is due", day, 0, false, true, 0},
			{"two days old, and no report is due", 2 * day, 0, false, true, 1},
		} {
			now := b.serverTime().UnixMicro()
			b.client.Del(b.Context(), k.reports)
			b.client.HSet(b.Context(), k.batches, id, fmt.Sprintf("%d 2 %d 0 0 0 0 2 c 0 -", now-c.age, 2-c.left))
			if c.due {
				b.client.ZAdd(b.Context(), k.reports, redis.Z{Score: 1, Member: id})
			}
			b.report(source)
			kept := b.client.HExists(b.Context(), k.batches, id).Val()
			if again := b.client.ZScore(b.Context(), k.reports, id).Err() == nil; kept != c.kept || again != (c.kept && c.due) {
				t.Errorf("%s: kept %v, to be reported again %v, want %v", c.what, kept, again, c.kept)
			}
			found := b.Verify(true)
			if len(found) != c.found {
				t.Errorf("%s: found %v, want %d", c.what, found, c.found)
			}
			for _, f := range found {
				if gone := !b.client.HExists(b.Context(), k.batches, id).Val(); f.Repaired != gone || gone != (c.left == 0) {
					t.Errorf("%s: %v, removed: %v", c.what, f, gone)
				}
			}
		}
	})
}

// Counts that have changed since they were reported are kept: the batch may have been created again.
func TestCountsOfALostBatchThatHaveChangedAreKept(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k := b.store.keys.partition(storesuite.DefaultPartition)
		b.client.HSet(b.Context(), k.batches, "lost", "2 1 1 0 0 0 0 1 c 0 -")
		for _, version := range []int64{1, 2} {
			if err := b.store.AckReports(b.Context(), storesuite.DefaultPartition, []protocol.ReportAck{{Batch: "lost", Version: version, Unknown: true}}); err != nil {
				t.Fatal(err)
			}
			if kept := b.client.HExists(b.Context(), k.batches, "lost").Val(); kept != (version == 1) {
				t.Errorf("after an answer to version %d of 2: kept %v", version, kept)
			}
		}
	})
}

// A partition that went back to an earlier state has a lower version than the home knows, until it is asked.
func TestAPartitionThatWentBackIsRightAgainWhenItIsAsked(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.store.keys.partition(storesuite.DefaultPartition)
		b.filled("b", "m", "n")
		earlier := b.client.HGet(b.Context(), k.batches, "b").Val()
		for _, taken := range b.Take("w", 2) {
			b.Settle("w", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		}
		known := b.count(protocol.CountCall{Partition: source, Batch: "b"})
		b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: known}})
		b.client.HSet(b.Context(), k.batches, "b", earlier)
		asked := b.count(protocol.CountCall{Partition: source, Batch: "b", Above: known.Version})
		if asked.Version <= known.Version {
			t.Errorf("version %d is not above %d", asked.Version, known.Version)
		}
		b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: asked}})
		b.Want("the partition is right", b.record("b"), "running: 2 added, 2 left")
	})
}

// A batch without items ends with its seal.
func TestABatchWithoutItemsEndsAtOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.filled("empty")
		if err := batch.End(b.Context(), b.store, "empty"); err != nil {
			t.Fatal(err)
		}
		b.Want("ended", b.record("empty"), "done: ")
		b.Want("what follows", b.followed("empty"), "empty#done empty#ended")
	})
}

// Done follows when dead members were requeued and are done; Ended does not follow again.
func TestDoneFollowsWhenDeadMembersAreDone(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m")
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead, Body: member("b"), Batch: "b"})
		b.report(source)
		b.Want("ended", b.record("b"), "ended: 1 added, 1 dead")
		b.Want("what follows", b.followed("b"), "b#ended")
		if _, err := b.store.DeleteJobs(b.Context(), mail.Queue, []string{"b#ended"}); err != nil { // else it would not be added again
			t.Fatal(err)
		}
		if _, err := b.store.RequeueJobs(b.Context(), "default", []protocol.RequeuedJob{{ID: "m", Read: member("b"), Body: member("b")}}); err != nil {
			t.Fatal(err)
		}
		taken = b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		b.report(source)
		b.Want("done", b.record("b"), "done: 1 added, 1 done")
		b.Want("what follows", b.followed("b"), "b#done")
	})
}

// endsBatch asks the partitions of a batch, and calls EndBatch with what they answer. It reports whether the batch has ended.
func (b *bench) endsBatch(id string) bool {
	b.Helper()
	record, err := b.store.GetBatch(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	ending := protocol.BatchEnding{Revision: record.Revision}
	for _, part := range record.Partition {
		ending.Counts = append(ending.Counts, b.count(protocol.CountCall{Partition: part.Partition, Batch: id, Above: part.Version, Close: true}))
	}
	_, done, err := b.store.EndBatch(b.Context(), id, ending)
	if err != nil {
		b.Fatal(err)
	}
	return done
}

// A batch ends only with what its partitions have answered last.
func TestTheEndNeedsTheLastCountsOfEachPartition(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m", "n")
		done := func() {
			taken := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		}
		done()
		old := b.count(protocol.CountCall{Partition: source, Batch: "b"})
		done()
		b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: b.count(protocol.CountCall{Partition: source, Batch: "b"})}})
		record, err := b.store.GetBatch(b.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		for what, ending := range map[string]protocol.BatchEnding{
			"earlier counts":         {Revision: record.Revision, Counts: []protocol.PartitionCounts{old}},
			"a partition is missing": {Revision: record.Revision},
		} {
			if _, done, err := b.store.EndBatch(b.Context(), "b", ending); err != nil || done {
				t.Errorf("%s: done %v, %v", what, done, err)
			}
		}
		if first, second := b.endsBatch("b"), b.endsBatch("b"); !first || !second {
			t.Error("it has not ended with the last counts")
		}
	})
}

// A report of an earlier state does not count the job that was added since, so its note remains.
func TestAReportOfAnEarlierStateClearsNoNoteOfGrowth(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m")
		old := b.count(protocol.CountCall{Partition: source, Batch: "b"})
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		b.report(source)
		for _, c := range []struct {
			counts protocol.PartitionCounts
			want   int
		}{{old, 1}, {b.count(protocol.CountCall{Partition: source, Batch: "b"}), 0}} {
			b.client.HSet(b.Context(), b.store.keys.home(protocol.HomeOf("b")).batch("b"), "g:token", "1 default/0")
			b.store.ReportBatches(b.Context(), []protocol.BatchReport{{Counts: c.counts, Grown: []string{"token"}}})
			record, err := b.store.GetBatch(b.Context(), "b")
			if err != nil || len(record.Growing) != c.want {
				t.Errorf("version %d: growing %v, %v, want %d notes", c.counts.Version, record.Growing, err, c.want)
			}
		}
	})
}

// An overtakenStore does something else before the first report of a growth.
type overtakenStore struct {
	*store
	before func()
}

func (s *overtakenStore) ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.store.ReportBatches(ctx, reports)
}

// A growth that is reported after a later one of the same partition leaves no note at home: the batch could not end until the note is void.
func TestAGrowthThatIsReportedAfterALaterOneLeavesNoNote(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.filled("b", "m")
		options := batch.Options{Timeout: time.Minute}
		grow := func(g *batch.Grower, job string) {
			growth := batch.Growth{Token: "of " + job, Batch: "b", Partition: storesuite.DefaultPartition, Items: []protocol.EnqueueItem{{ID: job, Body: member("b")}}}
			if _, err := g.Grow(b.Context(), growth); err != nil {
				t.Error(err)
			}
		}
		grow(batch.NewGrower(&overtakenStore{b.store, func() { grow(batch.NewGrower(b.store, options), "later") }}, options), "earlier")
		record, err := b.store.GetBatch(b.Context(), "b")
		if err != nil || len(record.Growing) > 0 || record.Totals().Added != 3 {
			t.Errorf("%d members, growing %v, %v, want 3 members and no note", record.Totals().Added, record.Growing, err)
		}
	})
}

// Two processes that create the same batch add each position once; one with other items is refused where they differ.
func TestOtherItemsAreAConflict(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.openBatch("b")
		note := func(before int64, beforeHash string, position int64, hash string) error {
			_, err := b.store.NoteFill(b.Context(), "b", protocol.FillNote{
				Before: before, BeforeHash: beforeHash, Position: position, Hash: hash, Partitions: []protocol.Partition{storesuite.DefaultPartition},
			})
			return err
		}
		for _, c := range []struct {
			what     string
			err      error
			conflict bool
		}{
			{"the first items", note(0, "", 500, "h500"), false},
			{"the same again", note(0, "", 500, "h500"), false},
			{"others", note(0, "", 500, "x500"), true},
			{"the next ones", note(500, "h500", 1000, "h1000"), false},
			{"an earlier position", note(0, "", 500, "h500"), false},
			{"after others", note(1000, "x1000", 1500, "x1500"), true},
			{"with a gap", note(1500, "h1500", 2000, "h2000"), true},
		} {
			if errors.Is(c.err, protocol.ErrConflict) != c.conflict || c.err != nil && !c.conflict {
				t.Errorf("%s: %v, want a conflict: %v", c.what, c.err, c.conflict)
			}
		}
		if _, _, err := b.store.SealBatch(b.Context(), "b", 500, "h500", false, nil); !errors.Is(err, protocol.ErrConflict) {
			t.Errorf("sealed at an earlier position: %v", err)
		}
		if record, sealed, err := b.store.SealBatch(b.Context(), "b", 1000, "h1000", false, nil); err != nil || sealed || len(record.Partition) != 1 {
			t.Errorf("sealed %v before the partitions %v have answered, %v", sealed, record.Partition, err)
		}
		if err := note(1000, "h1000", 1500, "h1500"); !errors.Is(err, protocol.ErrConflict) {
			t.Errorf("items after somebody has begun to seal it: %v", err)
		}
		b.seal("b", 1000, "h1000")
		b.seal("b", 1000, "h1000")
	})
}

// Nothing of a batch remains when it was forgotten; members that end later count nowhere.
func TestABatchIsForgotten(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source, k := storesuite.DefaultPartition, b.store.keys.partition(storesuite.DefaultPartition)
		b.filled("b", "m")
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead, Body: member("b"), Batch: "b"})
		if err := b.store.DeleteBatch(b.Context(), "b"); !errors.Is(err, protocol.ErrConflict) {
			t.Errorf("a batch that has not ended: %v", err)
		}
		b.report(source)
		if err := b.store.CloseSession(b.Context(), source, "s", nil); err != nil {
			t.Fatal(err)
		}
		b.count(protocol.CountCall{Partition: source, Batch: "b", Forget: true})
		if err := b.store.DeleteBatch(b.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.DeleteJobs(b.Context(), "default", []string{"m"}); err != nil {
			t.Fatal(err)
		}
		home := b.store.keys.home(protocol.HomeOf("b"))
		if left := b.remains(k, k.batches, k.reports, home.batch("b"), home.made, home.tended); len(left) > 0 || b.client.HExists(b.Context(), k.state, "batches").Val() {
			t.Errorf("%v remain", left)
		}
		if _, err := b.store.GetBatch(b.Context(), "b"); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("the record: %v", err)
		}
	})
}

// A creator that repeats its call after the end is refused at home, also with items that were noted before: a partition that has forgotten the batch
// already would add them again.
func TestABatchThatHasEndedIsNotFilled(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.filled("b", "m")
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		note := func(position int64, hash string) error {
			_, err := b.store.NoteFill(b.Context(), "b", protocol.FillNote{Position: position, Hash: hash, Partitions: []protocol.Partition{source}})
			return err
		}
		if err := note(1, "h"); err != nil {
			t.Errorf("before the end: %v", err)
		}
		b.report(source)
		b.Want("the batch", b.record("b"), "done: 1 added, 1 done")
		b.count(protocol.CountCall{Partition: source, Batch: "b", Forget: true})
		if err := note(1, "h"); !errors.Is(err, protocol.ErrConflict) {
			t.Errorf("the last item: %v, want a conflict", err)
		}
		if err := note(0, ""); !errors.Is(err, protocol.ErrConflict) {
			t.Errorf("an earlier position: %v, want a conflict", err)
		}
	})
}

// A member that was parked for too long counts as dead, whether something follows it or not.
func TestAMemberThatNobodyCanRunIsDead(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.fillBatch("b", 1, "m")
		follows := member("b", func(e *wire.Envelope) { e.Details.OnDeath = member("") })
		b.store.FillBatch(b.Context(), []protocol.FillCall{{Partition: source, Batch: "b", Positions: []int64{2}, Items: []protocol.EnqueueItem{{ID: "n", Body: follows}}}})
		for _, taken := range b.Take("s", 2) {
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettlePark, Name: "work", Batch: "b"})
		}
		since := float64(b.serverTime().Add(-b.store.options.ParkedRetention * 3 / 2).UnixMilli())
		b.client.ZAdd(b.Context(), b.store.keys.partition(source).parked("work"), redisZ(since, "m"), redisZ(since, "n"))
		b.client.ZAdd(b.Context(), b.store.keys.partition(source).unhandled, redisZ(since, "work"))
		swept := b.store.Sweep(b.Context(), []protocol.Partition{source}, 0)[0]
		if swept.Err != nil || len(swept.Expired) != 1 {
			t.Fatalf("swept %+v", swept)
		}
		b.Want("swept", b.ofBatch(source, "b"), "2 added, 1 dead, 1 left")
		burial := protocol.Burial{ExpiredJob: swept.Expired[0], Follower: &protocol.Follower{Body: member("b"), Batch: "b"}}
		for range 2 {
			if _, err := b.store.Bury(b.Context(), source, []protocol.Burial{burial}); err != nil {
				t.Fatal(err)
			}
		}
		b.Want("buried", b.ofBatch(source, "b"), "3 added, 2 dead, 1 left")
	})
}

// Verify finds counts that do not fit the jobs, and corrects them.
func TestVerifyCountsTheMembersOfBatches(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		k := b.store.keys.partition(storesuite.DefaultPartition)
		b.filled("b", "m", "n")
		b.Verified()
		text := b.client.HGet(b.Context(), k.batches, "b").Val()
		b.client.HSet(b.Context(), k.batches, "b", strings.Replace(text, " 2 0 ", " 5 0 ", 1))
		for _, repair := range []bool{false, true} {
			found := b.Verify(repair)
			if len(found) != 1 || found[0].Kind != protocol.FoundBatch || found[0].ID != "b" || found[0].Repaired != repair {
				t.Errorf("found %+v", found)
			}
		}
		b.Want("corrected", b.ofBatch(storesuite.DefaultPartition, "b"), "5 added, 3 cancelled, 2 left")
		b.Verified()
	})
}

// A queue is not deleted while a batch has members on it that its home may ask for.
func TestAQueueIsNotDeletedBeforeItsBatchesHaveEnded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.filled("b", "m")
		taken := b.Take("s", 1)[0]
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Batch: "b"})
		b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "s", nil)
		remains, err := b.store.DeleteQueue(b.Context(), "default")
		if err != nil || remains.Batches != 1 {
			t.Fatalf("remains %+v, %v, want one batch", remains, err)
		}
		b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: "b", Ended: true})
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			t.Errorf("remains %+v, %v", remains, err)
		}
	})
}

// Lists have the newest batch first, and each page continues after the one before it.
func TestBatchesAreListed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		home, want := protocol.HomeOf("x0"), []string{}
		for i := 0; len(want) < 5; i++ {
			if id := fmt.Sprint("x", i); protocol.HomeOf(id) == home {
				b.openBatch(id)
				want = append(want, id)
			}
		}
		var got []string
		for before := (protocol.BatchMark{}); ; {
			page, err := b.store.ListBatches(b.Context(), home, before, 2)
			if err != nil {
				t.Fatal(err)
			}
			for i, mark := range page {
				if i > 0 && page[i-1].Compare(mark) >= 0 {
					t.Errorf("%v comes after %v", mark, page[i-1])
				}
				got, before = append(got, mark.ID), mark
			}
			if len(page) < 2 {
				break
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
		for i, id := range want[:2] { // the first one is cancelled without members, so it ends
			if _, err := b.store.CancelBatch(b.Context(), id); err != nil {
				t.Fatal(err)
			}
			if _, _, err := b.store.EndBatch(b.Context(), id, protocol.BatchEnding{Revision: int64(2 - 2*i)}); err != nil {
				t.Fatal(err)
			}
		}
		for limit, expect := range map[int]string{1000: fmt.Sprint(want[1:], " false"), 3: "true"} {
			marks, more, err := b.store.UnendedBatches(b.Context(), protocol.BatchMark{}, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(marks) > limit || !slices.IsSortedFunc(marks, protocol.BatchMark.Compare) {
				t.Errorf("with limit %d: %v, want that many at most, in order", limit, marks)
			}
			if len(marks) == limit {
				next, _, err := b.store.UnendedBatches(b.Context(), marks[limit-1], 1)
				if err != nil || len(next) != 1 || next[0].Compare(marks[limit-1]) <= 0 {
					t.Errorf("after %v: %v, %v, want the next one", marks[limit-1], next, err)
				}
			}
			records, err := b.store.ReadBatches(b.Context(), marks) // that the first one has ended is in its record only
			if err != nil || len(records) != len(marks) {
				t.Fatalf("%d of %d are read: %v", len(records), len(marks), err)
			}
			got = nil
			for i := range records {
				if records[i].Unended() {
					got = append(got, records[i].ID)
				}
			}
			slices.Sort(got)
			if found := fmt.Sprint(got, " ", more); !strings.HasSuffix(found, expect) {
				t.Errorf("not ended, with limit %d: %s, want %s", limit, found, expect)
			}
		}
		records, err := b.store.ReadBatches(b.Context(), []protocol.BatchMark{{ID: want[1]}, {ID: "none"}, {ID: want[0]}})
		if err != nil || len(records) != 2 || records[0].ID != want[1] || records[1].ID != want[0] || records[1].State != protocol.BatchCancelled || records[0].Mark().Created == 0 {
			t.Errorf("read %+v, %v", records, err)
		}
	})
}
