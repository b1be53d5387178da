package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// result describes what is kept of a job: how it ended and its result; empty: nothing.
func (b *bench) result(id string) string {
	b.Helper()
	found, err := b.store.FindJobs(b.Context(), "default", []string{id})
	if err != nil {
		b.Fatal(err)
	}
	if found[0].State != protocol.JobDone {
		return found[0].State
	}
	return fmt.Sprintf("%c %s", found[0].Ended, found[0].Result)
}

func TestWhateverEndsAJobKeepsItsResult(t *testing.T) {
	result := &protocol.Result{Keep: time.Hour, Body: []byte("r|1")}
	for name, c := range map[string]struct {
		kind   protocol.SettleKind
		cancel bool
		want   string
	}{
		"done": {protocol.SettleDone, false, "d r|1"}, "failed": {protocol.SettleLater, false, "delayed"}, "dead": {protocol.SettleDead, false, "dead"},
		"back": {protocol.SettleBack, false, "waiting"}, "done, but it was cancelled": {protocol.SettleDone, true, "c r|1"},
		"failed, and it was cancelled": {protocol.SettleLater, true, "c r|1"}, "dead, and it was cancelled": {protocol.SettleDead, true, "c r|1"},
		"cancelled": {protocol.SettleCancelled, true, "c r|1"},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.enqueue(job("a"))
				held := b.take("w", 1)[0]
				if c.cancel {
					b.want("cancelled", b.cancel("a"), "asked")
				}
				s := protocol.Settlement{ID: "a", Fence: held.Fence, Kind: c.kind, Delay: time.Hour, Body: []byte("\x01b"), Result: result}
				if c.kind == protocol.SettleDone || c.kind == protocol.SettleBack || c.kind == protocol.SettleCancelled {
					s.Body = nil
				}
				if !b.settle("w", s) {
					b.Fatal("the settlement was refused")
				}
				b.want("left", b.result("a"), c.want)
			})
		})
	}
}

// Settlements of every kind in one call, in no order: each result belongs to its job, for as long as it says, and what is refused leaves none.
func TestEachResultOfACallIsThatOfItsJob(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		names := []string{"plain", "kept", "dies", "cancelled", "refused", "replaced", "kept too", "fails"}
		for _, name := range names {
			b.enqueue(job(name))
		}
		var call protocol.WorkCall
		var died int64
		for i, taken := range b.take("w", len(names)) {
			s := protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone,
				Result: &protocol.Result{Keep: time.Duration(1+i/4) * time.Hour, Body: []byte("of " + taken.ID)}}
			switch taken.ID {
			case "plain":
				s.Result = nil
			case "dies":
				s.Kind, s.Body, s.OnDeath, died = protocol.SettleDead, []byte("\x01dead"), []byte("\x01alert"), taken.Fence
			case "fails":
				s.Kind, s.Delay, s.Body = protocol.SettleLater, time.Hour, []byte("\x01again")
			case "refused":
				s.Fence--
			}
			call.Settle = append(call.Settle, s)
		}
		b.want("cancelled", b.cancel("cancelled"), "asked")
		if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: defaultPartition, Token: "t", Item: own("replaced")}); how != protocol.ReplaceDone {
			b.Fatal(how, err)
		}
		answer := b.work("w", call)
		b.want("refused", fmt.Sprint(answer.Refused), "[4]")
		for range 2 {
			for name, want := range map[string]string{
				"plain": "", "kept": "d of kept", "dies": "dead", "cancelled": "c of cancelled", "refused": "running", "replaced": "waiting", "kept too": "d of kept too", "fails": "delayed",
			} {
				b.want(name, b.result(name), want)
			}
			kept := map[string]time.Duration{}
			for _, z := range b.client.ZRangeWithScores(b.Context(), b.keys().kept, 0, -1).Val() {
				kept[z.Member.(string)] = time.UnixMilli(int64(z.Score)).Sub(answer.Now).Round(time.Minute)
			}
			b.want("kept for", fmt.Sprint(kept), fmt.Sprint(map[string]time.Duration{"kept": time.Hour, "cancelled": time.Hour, "kept too": 2 * time.Hour, "replaced": 2 * time.Hour}))
			b.repeat("w", call)
		}
		b.want("taken next", ids(b.take("other", 9)), protocol.DeathID("dies", died)+" replaced")
	})
}

func TestADeathsJobIsAddedOnceHoweverOftenTheCallIsSent(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("first"), job("a"))
		held := b.take("w", 2)[1]
		death := protocol.DeathID("a", held.Fence)
		s := protocol.Settlement{ID: "a", Fence: held.Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead"), OnDeath: []byte("\x01alert"), Failed: true}
		wrong := s
		wrong.Fence--
		b.want("settled under another fence", fmt.Sprint(b.settle("w", wrong)), "false")
		b.want("then waits", fmt.Sprint(b.ready()), "[]")
		call := protocol.WorkCall{Settle: []protocol.Settlement{s}}
		b.work("w", call)
		b.want("waits", fmt.Sprint(b.ready()), fmt.Sprint([]string{death}))
		b.repeat("w", call)
		b.want("waits after the same call again", fmt.Sprint(b.ready()), fmt.Sprint([]string{death}))
		b.settle("w", s)
		b.want("waits after the same settlement again", fmt.Sprint(b.ready()), fmt.Sprint([]string{death}))
		taken := b.take("other", 5)
		b.want("taken", ids(taken)+" "+string(taken[0].Body), death+" \x01alert")
		b.want("dead", fmt.Sprint(b.stats().Dead, b.stats().Died), "1 1")
	})
}

// The job that follows a death stands before what waits.
func TestADeathsJobIsTakenNext(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"))
		held := b.take("w", 1)[0]
		answer := b.work("w", protocol.WorkCall{Take: 2, Settle: []protocol.Settlement{{
			ID: "a", Fence: held.Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead"), OnDeath: []byte("\x01alert"),
		}}})
		b.want("taken with the call that settles", ids(answer.Taken), "b")
		b.want("taken then", ids(b.take("w", 2)), protocol.DeathID("a", held.Fence))
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
			r := protocol.ProgressReport{Partition: defaultPartition, Session: session, ID: "a", Fence: fence, Progress: []byte(text)}
			if err := b.store.Report(b.Context(), []protocol.ProgressReport{r}); err != nil {
				b.Fatal(err)
			}
		}
		b.enqueue(job("a"))
		held := b.take("w", 1)[0]
		report("w", held.Fence-1, "under another fence")
		report("nobody", held.Fence, "of another session")
		b.want("progress", progress(), "")
		report("w", held.Fence, "1")
		report("w", held.Fence, "2")
		b.want("progress", progress(), "2")
		b.settle("w", protocol.Settlement{ID: "a", Fence: held.Fence, Kind: protocol.SettleBack, Reported: true})
		report("w", held.Fence, "late")
		b.want("progress after its flight", progress(), "")
		b.want("fields left", fmt.Sprint(b.client.HLen(b.Context(), b.keys().progress).Val()), "0")

		held = b.work("gone", protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken[0]
		report("gone", held.Fence, "3")
		b.reap(b.untilLapsed(), 1)
		b.want("progress after its worker has vanished", progress(), "")
		b.want("fields left", fmt.Sprint(b.client.HLen(b.Context(), b.keys().progress).Val()), "0")
	})
}

func TestResultsGoWhenTheirTimeIsUp(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 3 {
			id := fmt.Sprint(i)
			b.enqueue(job(id))
			held := b.take("w", 1)[0]
			keep := time.Hour
			if i == 1 {
				keep = time.Millisecond
			}
			b.settle("w", protocol.Settlement{ID: id, Fence: held.Fence, Kind: protocol.SettleDone, Result: &protocol.Result{Keep: keep, Body: []byte(id)}})
		}
		for b.serverTime().UnixMilli() <= int64(b.client.ZScore(b.Context(), b.keys().kept, "1").Val()) {
			b.serverTime()
		}
		b.want("kept before a sweep", b.result("0")+b.result("1")+b.result("2"), "d 0d 2")
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		b.want("results left", fmt.Sprint(b.client.HLen(b.Context(), b.keys().results).Val(), b.client.ZCard(b.Context(), b.keys().kept).Val()), "2 2")
	})
}
