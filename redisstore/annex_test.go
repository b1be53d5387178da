package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Settlements of every kind in one call, unsorted: each result belongs to its job, for the given time, and a refused settlement leaves none.
func TestEachResultOfACallIsThatOfItsJob(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		names := []string{"plain", "kept", "dies", "cancelled", "refused", "replaced", "kept too", "fails"}
		for _, name := range names {
			b.Enqueue(storesuite.Job(name))
		}
		var call protocol.WorkCall
		var died int64
		for i, taken := range b.Take("w", len(names)) {
			s := protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone,
				Result: &protocol.Result{Keep: time.Duration(1+i/4) * time.Hour, Body: []byte("of " + taken.ID)}}
			switch taken.ID {
			case "plain":
				s.Result = nil
			case "dies":
				s.Kind, s.Body, s.Follower, died = protocol.SettleDead, []byte("\x01dead"), &protocol.Follower{Body: []byte("\x01alert")}, taken.Fence
			case "fails":
				s.Kind, s.Delay, s.Body = protocol.SettleLater, time.Hour, []byte("\x01again")
			case "refused":
				s.Fence--
			}
			call.Settle = append(call.Settle, s)
		}
		b.Want("cancelled", b.Cancel("cancelled"), "asked")
		if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Own("replaced")}); how != protocol.ReplaceDone {
			b.Fatal(how, err)
		}
		answer := b.Work("w", call)
		b.Want("refused", fmt.Sprint(answer.Refused), "[4]")
		for range 2 {
			for name, want := range map[string]string{
				"plain": "", "kept": "d of kept", "dies": "dead", "cancelled": "c of cancelled", "refused": "running", "replaced": "waiting", "kept too": "d of kept too", "fails": "delayed",
			} {
				b.Want(name, b.Result(name), want)
			}
			kept := map[string]time.Duration{}
			for _, z := range b.client.ZRangeWithScores(b.Context(), b.keys().kept, 0, -1).Val() {
				kept[z.Member.(string)] = time.UnixMilli(int64(z.Score)).Sub(answer.Now).Round(time.Minute)
			}
			b.Want("kept for", fmt.Sprint(kept), fmt.Sprint(map[string]time.Duration{"kept": time.Hour, "cancelled": time.Hour, "kept too": 2 * time.Hour, "replaced": 2 * time.Hour}))
			b.Repeat("w", call)
		}
		b.Want("taken next", storesuite.IDs(b.Take("other", 9)), protocol.FollowerID("dies", protocol.EndDead, died, "")+" replaced")
	})
}

func TestADeathsJobIsAddedOnceHoweverOftenTheCallIsSent(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("first"), storesuite.Job("a"))
		held := b.Take("w", 2)[1]
		death := protocol.FollowerID("a", protocol.EndDead, held.Fence, "")
		s := protocol.Settlement{ID: "a", Fence: held.Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead"), Follower: &protocol.Follower{Body: []byte("\x01alert")}, Failed: true}
		wrong := s
		wrong.Fence--
		b.Want("settled under another fence", fmt.Sprint(b.Settle("w", wrong)), "false")
		b.Want("then waits", fmt.Sprint(b.ready()), "[]")
		call := protocol.WorkCall{Settle: []protocol.Settlement{s}}
		b.Work("w", call)
		b.Want("waits", fmt.Sprint(b.ready()), fmt.Sprint([]string{death}))
		b.Repeat("w", call)
		b.Want("waits after the same call again", fmt.Sprint(b.ready()), fmt.Sprint([]string{death}))
		b.Settle("w", s)
		b.Want("waits after the same settlement again", fmt.Sprint(b.ready()), fmt.Sprint([]string{death}))
		taken := b.Take("other", 5)
		b.Want("taken", storesuite.IDs(taken)+" "+string(taken[0].Body), death+" \x01alert")
		b.Want("dead", fmt.Sprint(b.Stats().Dead, b.Stats().Died), "1 1")
	})
}

func TestProgressIsKeptForTheHolderOnlyAndGoesWithTheFlight(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		progress := func() string {
			found, err := b.store.FindJobs(b.Context(), "default", []string{"a"})
			if err != nil {
				b.Fatal(err)
			}
			return string(found[0].Progress)
		}
		report := func(session string, fence int64, text string) {
			b.Helper()
			r := protocol.ProgressReport{Partition: storesuite.DefaultPartition, Session: session, ID: "a", Fence: fence, Progress: []byte(text)}
			if err := b.store.Report(b.Context(), []protocol.ProgressReport{r}); err != nil {
				b.Fatal(err)
			}
		}
		b.Enqueue(storesuite.Job("a"))
		held := b.Take("w", 1)[0]
		report("w", held.Fence-1, "under another fence")
		report("nobody", held.Fence, "of another session")
		b.Want("progress", progress(), "")
		report("w", held.Fence, "1")
		report("w", held.Fence, "2")
		b.Want("progress", progress(), "2")
		b.Settle("w", protocol.Settlement{ID: "a", Fence: held.Fence, Kind: protocol.SettleBack, Reported: true})
		report("w", held.Fence, "late")
		b.Want("progress after its flight", progress(), "")
		b.Want("fields left", fmt.Sprint(b.client.HLen(b.Context(), b.keys().progress).Val()), "0")

		held = b.Work("gone", protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken[0]
		report("gone", held.Fence, "3")
		b.Reap(b.UntilLapsed(), 1)
		b.Want("progress after its worker has vanished", progress(), "")
		b.Want("fields left", fmt.Sprint(b.client.HLen(b.Context(), b.keys().progress).Val()), "0")
	})
}

func TestResultsGoWhenTheirTimeIsUp(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 3 {
			id := fmt.Sprint(i)
			b.Enqueue(storesuite.Job(id))
			held := b.Take("w", 1)[0]
			keep := time.Hour
			if i == 1 {
				keep = time.Millisecond
			}
			b.Settle("w", protocol.Settlement{ID: id, Fence: held.Fence, Kind: protocol.SettleDone, Result: &protocol.Result{Keep: keep, Body: []byte(id)}})
		}
		for b.serverTime().UnixMilli() <= int64(b.client.ZScore(b.Context(), b.keys().kept, "1").Val()) {
			b.serverTime()
		}
		b.Want("kept before a sweep", b.Result("0")+b.Result("1")+b.Result("2"), "d 0d 2")
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		b.Want("results left", fmt.Sprint(b.client.HLen(b.Context(), b.keys().results).Val(), b.client.ZCard(b.Context(), b.keys().kept).Val()), "2 2")
	})
}
