package storesuite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Bench is a store under test, with short methods that call it. If such a method fails, it ends the test.
type Bench struct {
	*testing.T
	Store      protocol.Store
	SetClock   func(time.Time)  // sets the clock of the server; nil: it cannot be set
	Numbers    map[string]int64 // of the last call of each session
	Callers    int64            // calls of Enqueue
	NoSuspects bool             // no session may get one

	backdate func(schedule string)
}

// NewBench returns a bench on a server and registers the default queue, as roles do before they use it.
func NewBench(t *testing.T, server Server) *Bench {
	t.Helper()
	b := &Bench{T: t, Store: server.Store, SetClock: server.SetClock, Numbers: map[string]int64{}, backdate: server.Backdate}
	b.RegisterDefault()
	return b
}

// Now returns the time of the store's clock.
func (b *Bench) Now() time.Time {
	b.Helper()
	return b.Stats().Now
}

// DefaultPartition is the partition that the short methods of a Bench use.
var DefaultPartition = protocol.Partition{Queue: "default"}

// Job returns a job with an ID and a body that contains it.
func Job(id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Body: []byte("\x01" + id)}
}

// Own returns a job whose ID its caller has chosen.
func Own(id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Own: true, Body: []byte("\x01" + id)}
}

// Enqueue adds jobs and returns for each whether it existed.
func (b *Bench) Enqueue(items ...protocol.EnqueueItem) []bool {
	b.Helper()
	b.Callers++
	answer := b.Store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: DefaultPartition, Caller: "caller", Number: b.Callers, Items: items}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer.Existing
}

// Work makes the next numbered call of a session.
func (b *Bench) Work(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	answer := b.Try(session, call)
	if answer.Err != nil {
		b.Fatalf("call %d of %s: %v", b.Numbers[session], session, answer.Err)
	}
	return answer
}

// Try makes the next numbered call of a session, which may fail.
func (b *Bench) Try(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	b.Numbers[session]++
	answer := b.Repeat(session, call)
	if b.Numbers[session] == 1 && len(answer.Taken) == 0 {
		b.Numbers[session] = 0
	}
	return answer
}

// Repeat makes a call with the number of the last one.
func (b *Bench) Repeat(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	call.Partition, call.Worker, call.Session, call.Number = DefaultPartition, "w-"+session, session, b.Numbers[session]
	call.Suspect = !b.NoSuspects
	if call.TTL == 0 {
		call.TTL = 12 * time.Second
	}
	return b.Store.Work(b.Context(), []protocol.WorkCall{call})[0]
}

// Take takes up to n jobs and returns them.
func (b *Bench) Take(session string, n int) []protocol.TakenJob {
	b.Helper()
	return b.Work(session, protocol.WorkCall{Take: n}).Taken
}

// Settle ends one job and reports whether the store accepted it.
func (b *Bench) Settle(session string, settled protocol.Settlement) bool {
	b.Helper()
	return len(b.Work(session, protocol.WorkCall{Settle: []protocol.Settlement{settled}}).Refused) == 0
}

// Done settles a job as succeeded.
func Done(job protocol.TakenJob) protocol.Settlement {
	return protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Outcome: "done"}}
}

// Cancel cancels a job and returns the effect; "none": there is no such job.
func (b *Bench) Cancel(id string) string {
	b.Helper()
	result, err := b.Store.CancelJob(b.Context(), "default", id, nil)
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		return "none"
	case err != nil:
		b.Fatalf("cancel %s: %v", id, err)
	}
	return map[protocol.CancelResult]string{protocol.CancelDone: "done", protocol.CancelAsked: "asked", protocol.CancelTooLate: "too late"}[result]
}

// ReapStep makes one call that reaps a session.
func (b *Bench) ReapStep(call protocol.ReapCall) (done bool, err error) {
	b.Helper()
	answer := b.Store.Reap(b.Context(), []protocol.ReapCall{call})[0]
	return answer.Done, answer.Err
}

// UntilLapsed polls until a session has lapsed, and returns it.
func (b *Bench) UntilLapsed() protocol.LapsedSession {
	b.Helper()
	started := time.Now()
	for time.Since(started) < time.Minute { // the sessions of tests that call it live for 50 ms at most
		poll := b.Store.Poll(b.Context(), []protocol.PollCall{{Partition: DefaultPartition, Worker: "poller"}})[0]
		if poll.Err != nil {
			b.Fatal(poll.Err)
		}
		if len(poll.Lapsed) > 0 {
			return poll.Lapsed[0]
		}
	}
	b.Fatal("no session lapsed")
	return protocol.LapsedSession{}
}

func (b *Bench) Reap(lapsed protocol.LapsedSession, seed int64) {
	b.Helper()
	done, err := b.ReapStep(protocol.ReapCall{Partition: DefaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse, Seed: seed})
	if err != nil || !done {
		b.Fatalf("reap: done %v, error %v", done, err)
	}
}

// Sleeping registers a worker as asleep and returns when, by the server's clock.
func (b *Bench) Sleeping(session string) time.Time {
	b.Helper()
	return b.Work(session, protocol.WorkCall{Take: 1, Sleep: true}).Now
}

// Poll polls for a sleeping worker.
func (b *Bench) Poll(session string, since, now time.Time) protocol.PollAnswer {
	b.Helper()
	answer := b.Store.Poll(b.Context(), []protocol.PollCall{{Partition: DefaultPartition, Worker: "w-" + session, Sleep: true, Since: since, Now: now}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// Limit limits the default queue.
func (b *Bench) Limit(limit protocol.QueueLimit) {
	b.Helper()
	if err := b.Store.LimitQueue(b.Context(), "default", limit); err != nil {
		b.Fatal(err)
	}
}

// OneAtOnce and OneAnHour are the tightest limits.
var OneAtOnce, OneAnHour = protocol.QueueLimit{Running: 1}, protocol.QueueLimit{Starts: 1, Per: time.Hour}

// Stats counts the default queue.
func (b *Bench) Stats() protocol.QueueStats {
	b.Helper()
	stats, err := b.Store.QueueStats(b.Context(), []string{"default"})
	if err != nil {
		b.Fatal(err)
	}
	return stats[0]
}

// Result describes the result of a job: its outcome and its value; empty: none.
func (b *Bench) Result(id string) string {
	b.Helper()
	found, err := b.Store.FindJobs(b.Context(), "default", []string{id})
	if err != nil {
		b.Fatal(err)
	}
	if found[0].State != protocol.JobDone {
		return found[0].State
	}
	return fmt.Sprintf("%c %s", found[0].Ended, found[0].Result)
}

// Listed returns the IDs of a page of the default queue, and the page.
func (b *Bench) Listed(call protocol.JobPageCall) (string, protocol.JobPage) {
	b.Helper()
	call.Queue = DefaultPartition.Queue
	if call.Limit == 0 {
		call.Limit = 100
	}
	page, err := b.Store.PageJobs(b.Context(), call)
	if err != nil {
		b.Fatalf("page of %s: %v", call.State, err)
	}
	var ids []string
	for _, job := range page.Jobs {
		ids = append(ids, job.ID)
	}
	return strings.Join(ids, " "), page
}

// Verify reads the namespace and returns its faults.
func (b *Bench) Verify(repair bool) []protocol.Finding {
	b.Helper()
	var found []protocol.Finding
	if _, err := b.Store.Verify(b.Context(), repair, func(f protocol.Finding) { found = append(found, f) }); err != nil {
		b.Fatal(err)
	}
	return found
}

// Verified fails the test if Verify finds a fault.
func (b *Bench) Verified() {
	b.Helper()
	if found := b.Verify(false); len(found) > 0 {
		b.Fatalf("found %+v, want nothing", found)
	}
}

// VerifyEvery is the number of steps of a walk after which it is verified.
const VerifyEvery = 20

// VerifiedNowAndThen verifies the namespace in some steps of a walk.
func (b *Bench) VerifiedNowAndThen(step int) {
	b.Helper()
	if step%VerifyEvery == 0 {
		b.Verified()
	}
}

// Want ends the test if got differs from want.
func (b *Bench) Want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// IDs returns the IDs of jobs taken, in order, separated by spaces.
func IDs(taken []protocol.TakenJob) string {
	text := ""
	for _, t := range taken {
		if text != "" {
			text += " "
		}
		text += t.ID
	}
	return text
}

func BoolsText(all []bool) string {
	text := ""
	for i, is := range all {
		if i > 0 {
			text += " "
		}
		text += map[bool]string{true: "true", false: "false"}[is]
	}
	return text
}
