package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// manualBodies are envelopes of a schedule's manual run, with elements of every possible length.
func manualBodies(schedule string) []string {
	of := fmt.Sprintf("\xa0\xd9%c%s", len(schedule), schedule)[1:]
	long := strings.Repeat("x", 70000)
	return []string{
		"\x01\x97\xa1j\xc4\x00\xc0\x00\x00\x00" + of,
		"\x01\x97\xa1j\xc4\x03abc\xcf\x00\x00\x01\x9a\x00\x00\x00\x00\x05\xcd\x75\x30\x03" + of,
		"\x01\x9a\xd9\x21" + long[:33] + "\xc5\x01\x00" + long[:256] + "\xd3\x00\x00\x01\x9a\x00\x00\x00\x00\xcc\x80\xce\x00\x01\x00\x00\x01" + of + "\xa1e\xa0\xc4\x00",
		"\x01\x97\xa1j\xc6\x00\x01\x11\x70" + long + "\xd2\x80\x00\x00\x00\x00\x00\x00" + of,
	}
}

// If a schedule is deleted with its waiting jobs, its manual runs and the jobs that follow deaths are deleted in all places; jobs with only a
// similar name, and unreadable ones, remain.
func TestDeleteWaitingTakesWhatSaysThatItIsTheSchedules(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "skip", storesuite.Ago(0).Add(time.Hour))
		occurrence := storesuite.OccurrenceID("s", storesuite.Ago(time.Hour))
		stay := map[string]string{
			"s#plain": "\x01\x93\xa1j\xc4\x00\xc0", "s#other": manualBodies("s2")[0], "s2#1": manualBodies("s2")[1], "t": manualBodies("s")[0],
			"s#cut": manualBodies("s")[1][:20], "s#newer": "\x03" + manualBodies("s")[0][1:], "s#none": "", "s#longer": manualBodies("s")[2][:40],
		}
		goes := map[string]string{occurrence + "#dead-7": manualBodies("s")[0]}
		for i, body := range manualBodies("s") {
			goes[fmt.Sprint("s#", i)] = body
		}
		for _, place := range []string{"ready", "due", "dead", "parked"} {
			for _, all := range []map[string]string{stay, goes} {
				for id, body := range all {
					id += place
					b.client.HSet(b.Context(), b.keys().jobs, id, body)
					b.client.HSet(b.Context(), b.keys().results, id, "what an earlier one has left")
					b.client.ZAdd(b.Context(), b.keys().kept, redisZ(9e12, id))
					b.client.ZAdd(b.Context(), b.keys().once, redisZ(9e12, id))
					switch place {
					case "ready":
						b.client.RPush(b.Context(), b.keys().ready, id)
					case "due":
						b.client.ZAdd(b.Context(), b.keys().due, redisZ(9e12, id))
					case "dead":
						b.client.ZAdd(b.Context(), b.keys().dead, redisZ(9e12, id))
					case "parked":
						b.client.ZAdd(b.Context(), b.keys().parked(sharedParked), redisZ(9e12, "j\t"+id))
						b.client.ZAdd(b.Context(), b.keys().unhandled, redisZ(9e12, sharedParked))
					}
				}
			}
		}
		for range 2 { // repeated: as if the answer was lost
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s", Waiting: true}); err != nil {
				b.Fatal(err)
			}
			if err := b.store.deleteWaiting(b.Context(), "s", []string{"default"}); err != nil {
				b.Fatal(err)
			}
		}
		k := b.keys()
		for place, n := range map[string]int64{
			"ready": b.client.LLen(b.Context(), k.ready).Val() - b.client.ZCard(b.Context(), k.stale).Val(),
			"due":   b.client.ZCard(b.Context(), k.due).Val(), "dead": b.client.ZCard(b.Context(), k.dead).Val(),
			"parked": b.client.ZCard(b.Context(), k.parked(sharedParked)).Val(),
		} {
			if n != int64(len(stay)) {
				b.Errorf("%s has %d left, want %d", place, n, len(stay))
			}
		}
		for what, n := range map[string]int64{
			"results": b.client.HLen(b.Context(), k.results).Val(), "kept": b.client.ZCard(b.Context(), k.kept).Val(), "once": b.client.ZCard(b.Context(), k.once).Val(),
		} {
			if n != int64(4*len(stay)) {
				b.Errorf("%s has %d left, want %d", what, n, 4*len(stay))
			}
		}
		if n := b.client.HLen(b.Context(), k.jobs).Val(); n != int64(4*len(stay)) {
			b.Errorf("%d bodies, want %d", n, 4*len(stay))
		}
		for _, job := range b.Take("w", 100) {
			if _, was := stay[strings.TrimSuffix(job.ID, "ready")]; !was {
				b.Errorf("%s was taken", job.ID)
			}
		}
		b.Want("state's stale", b.stateField("stale"), "")
	})
}

// A call that is sent again, because its answer was lost, has the same answer: a run that it has refused remains refused, although there is room now, and a
// run that it has added remains added, although there is no room.
func TestARefusedRunRemainsRefusedForItsCall(t *testing.T) {
	onServersWith(t, manualRuns, func(b *bench) {
		b.Scheduled("s", "allow", storesuite.Ago(0).Add(time.Hour))
		run := func(id string) protocol.EnqueueItem {
			return protocol.EnqueueItem{ID: "s#" + id, Own: true, Schedule: "s", MaxUnfinished: 2, Body: []byte("\x01" + id)}
		}
		send := func(number int64, items ...protocol.EnqueueItem) string {
			b.Helper()
			answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: number, Items: items}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			return fmt.Sprint("existing ", answer.Existing, " full ", refusedItems(answer.Full, protocol.ErrMaxUnfinished))
		}
		unfinished := func() int {
			found, err := b.store.Find(b.Context(), []string{"s"})
			if err != nil {
				b.Fatal(err)
			}
			return found[0].Last.Unfinished
		}
		plain := protocol.EnqueueItem{ID: "plain", Body: []byte("\x01plain")}
		first := []protocol.EnqueueItem{plain, run("1"), run("2"), run("1"), run("3")}
		b.Want("the first call", send(1, first...), "existing [false false false true false] full [false false false false true]")
		b.Want("one more", send(2, run("3")), "existing [false] full [true]")
		b.Want("a known one", send(3, run("2")), "existing [true] full []")
		if n := unfinished(); n != 2 {
			b.Errorf("%d unfinished, want 2", n)
		}
		for _, job := range b.Take("w", 10) {
			b.Settle("w", storesuite.Done(job))
		}
		if n := unfinished(); n != 0 {
			b.Errorf("%d unfinished after their end, want 0", n)
		}
		b.Want("the last call again", send(3, run("2")), "existing [true] full []")
		b.Want("a later call", send(4, run("4"), run("5"), run("6")), "existing [false false false] full [false false true]")
		for _, job := range b.Take("w", 10) {
			b.Settle("w", storesuite.Done(job))
		}
		b.Want("the later call again", send(4, run("4"), run("5"), run("6")), "existing [true true false] full [false false true]")
		sealed := b.store.Seal(b.Context(), []protocol.SealCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: 4, Seal: 5, Items: 3}})[0]
		b.Want("refused by the later call, as its seal returns", fmt.Sprint(sealed.Sealed, sealed.Refused, sealed.Err), "1 [2] <nil>")
		b.Want("and then with room", send(5, run("6")), "existing [false] full []")
		if n := unfinished(); n != 1 {
			b.Errorf("%d unfinished in the end, want 1", n)
		}
	})
}
