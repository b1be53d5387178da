package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// bulk calls DeleteJobs or RequeueJobs and returns the letters of the answer.
func (b *bench) bulk(became []protocol.Changed, err error) string {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	text := ""
	for _, how := range became {
		text += string(rune(how))
	}
	return text
}

func (b *bench) requeue(jobs ...protocol.RequeuedJob) string {
	b.Helper()
	return b.bulk(b.store.RequeueJobs(b.Context(), "default", jobs))
}

// everywhere puts a job into each place: waiting, delayed, parked, parked in the shared list, dead, running.
func (b *bench) everywhere() (running protocol.TakenJob) {
	b.Helper()
	later := storesuite.Job("delayed")
	later.In = time.Hour
	b.Enqueue(storesuite.Job("parked"), storesuite.Job("shared"), storesuite.Job("dead"), storesuite.Job("running"), storesuite.Job("waiting"), later)
	taken := b.Take("s", 4)
	b.Settle("s", protocol.Settlement{ID: "parked", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
	var many []redis.Z
	for i := range 1000 {
		many = append(many, redisZ(float64(time.Now().UnixMilli()), fmt.Sprint("name", i)))
	}
	b.client.ZAdd(b.Context(), b.keys().unhandled, many...)
	b.Settle("s", protocol.Settlement{ID: "shared", Fence: taken[1].Fence, Kind: protocol.SettlePark, Name: "one-too-many"})
	b.Settle("s", protocol.Settlement{ID: "dead", Fence: taken[2].Fence, Kind: protocol.SettleDead})
	if n := b.client.ZCard(b.Context(), b.keys().parked(sharedParked)).Val(); n != 1 {
		b.Fatalf("%d jobs in the shared list, want 1", n)
	}
	return taken[3]
}

func TestDeleteRemovesJobsWhereverTheyAreButInFlight(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		running := b.everywhere()
		b.Want("became", b.bulk(b.store.DeleteJobs(b.Context(), "default", placesOfJobs)), "eeeeern")
		b.Want("again", b.bulk(b.store.DeleteJobs(b.Context(), "default", placesOfJobs)), "nnnnnrn")
		b.Want("bodies left", fmt.Sprint(b.client.HKeys(b.Context(), b.keys().jobs).Val()), "[running]")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "")
		if s := b.Stats(); s.Waiting+s.Delayed+s.Parked+s.Dead != 0 || s.InFlight() != 1 || s.Cancelled != 0 {
			b.Errorf("stats %+v, want one running and nothing else", s)
		}
		if !b.Settle("s", protocol.Settlement{ID: "running", Fence: running.Fence, Kind: protocol.SettleDone}) {
			b.Error("the running job cannot be settled any more")
		}
	})
}

func TestRequeuePutsJobsToTheFrontInTheirOrder(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		var jobs []protocol.RequeuedJob
		for _, id := range placesOfJobs {
			jobs = append(jobs, protocol.RequeuedJob{ID: id})
		}
		jobs[4].Read, jobs[4].Body = []byte("\x01dead"), []byte("\x01anew")
		b.Want("became", b.requeue(jobs...), "neeeenn")
		b.Want("again", b.requeue(jobs...), "nnnnnnn")
		taken := b.Take("other", 10)
		b.Want("taken", storesuite.IDs(taken), "delayed parked shared dead waiting")
		b.Want("body of the dead one", string(taken[3].Body), "\x01anew")
	})
}

// An ID that is repeated in one call counts once, wherever its job is: it is in ready once, and its schedule counts it once.
func TestAnIDThatIsGivenTwiceInACallCountsOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		for i, want := range []string{"nn", "en", "en", "en", "en", "nn", "nn"} {
			id := placesOfJobs[i]
			job := protocol.RequeuedJob{ID: id}
			if id == "dead" {
				job.Read, job.Body = []byte("\x01dead"), []byte("\x01anew")
			}
			b.Want(id, b.requeue(job, job), want)
		}
		b.Want("ready", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()), "[dead shared parked delayed waiting]")
	})
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		for i, want := range []string{"en", "en", "en", "en", "en", "rn", "nn"} {
			id := placesOfJobs[i]
			b.Want(id, b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id, id})), want)
		}
	})
	onEveryServer(t, func(b *bench) {
		b.longKnown("s", "allow", storesuite.Ago(time.Minute), storesuite.Ago(time.Second))
		for _, job := range b.Take("w", 2) {
			b.Settle("w", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01again"), Failed: true, Run: ran(job.ID, "failed")})
		}
		id := b.client.ZRange(b.Context(), b.keys().due, 0, 0).Val()[0]
		b.Want("unfinished", b.unfinished("s"), "2")
		b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id, id})), "en")
		b.Want("unfinished then", b.unfinished("s"), "1")
	})
}

// A job that has changed since the caller read it does not change.
func TestRequeueLeavesADeadJobThatHasChanged(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		b.Want("read with another body", b.requeue(protocol.RequeuedJob{ID: "dead", Read: []byte("\x01old"), Body: []byte("\x01anew")}), "n")
		b.Want("read when it was not dead", b.requeue(protocol.RequeuedJob{ID: "dead"}), "n")
		b.Want("read when it was dead", b.requeue(protocol.RequeuedJob{ID: "delayed", Read: []byte("\x01delayed"), Body: []byte("\x01anew")}), "n")
		if s := b.Stats(); s.Dead != 1 || s.Delayed != 1 || s.Waiting != 1 {
			b.Errorf("stats %+v, want one dead, one delayed, one waiting", s)
		}
	})
}

// A job whose ID is in ready, void, gets that place when it is requeued: its ID is in ready once.
func TestRequeueOfAnIDThatIsVoidInReadyUsesItsPlace(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("first"), storesuite.Own("x"), storesuite.Job("last"))
		b.Cancel("x")
		later := storesuite.Own("x")
		later.In = time.Hour
		b.Enqueue(later)
		b.Want("became", b.requeue(protocol.RequeuedJob{ID: "x"}), "e")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "first x last")
		b.Want("left", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val(), b.client.ZCard(b.Context(), b.keys().stale).Val()), "[] 0")
	})
}

// The next occurrence of a schedule does not move: deleting delayed jobs stops no schedule, and requeuing runs nothing early.
func TestBulkChangesLeaveAnOccurrenceThatNobodyHasTaken(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		b.Scheduled("s", "skip", at)
		id := storesuite.OccurrenceID("s", at)
		b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id})), "u")
		b.Want("requeued", b.requeue(protocol.RequeuedJob{ID: id}), "u")
		b.Want("cancelled", b.Cancel(id), "done")
		b.Want("deleted then", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id})), "n")
		b.Want("requeued then", b.requeue(protocol.RequeuedJob{ID: id}), "n")
		b.Want("due", fmt.Sprint(b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val()), "["+id+"]")
	})
}

// The answer to a bulk change is lost and the client sends it again: its changes are counted, and only once.
func TestABulkChangeThatIsSentTwiceHasTheSameCount(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		b.client.AddHook(&sentTwice{})
		b.Want("requeued", fmt.Sprint(strings.Count(b.requeue(protocol.RequeuedJob{ID: "delayed"}, protocol.RequeuedJob{ID: "nobody"}), "e")), "1")
		b.Want("deleted", fmt.Sprint(strings.Count(b.bulk(b.store.DeleteJobs(b.Context(), "default", placesOfJobs)), "e")), "5")
	})
}
