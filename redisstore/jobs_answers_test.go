package redisstore

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A jobAnswers is a model of one job: where it is, and what is remembered of an earlier job of its ID.
//
// remembered is the last action on a job whose ID is still in ready: "cancelled", "deleted", or empty. A cancellation may be repeated while its ID
// is there; a deleted job can never be cancelled.
type jobAnswers struct{ place, remembered string }

const (
	jobGone  = "" // there is no such job
	jobRipe  = "delayed, its time has come"
	jobAsked = "running and cancelled"
	jobHeir  = "running, another job replaces it"
)

// jobActions lists for each action its answer and the place of the job afterwards, by the place of the job before. An action has no effect on a job
// in a place that is not listed; its answer is then that of "else".
var jobActions = map[string]map[string]struct{ answer, place string }{
	"enqueue": {jobGone: {"added", protocol.JobWaiting}, "else": {"exists", ""}},
	"delay":   {jobGone: {"added", protocol.JobDelayed}, "else": {"exists", ""}},
	"replace": {
		jobGone: {"", protocol.JobDelayed}, jobRipe: {"", protocol.JobDelayed}, protocol.JobParked: {"", protocol.JobDelayed},
		protocol.JobDead: {"", protocol.JobDelayed}, protocol.JobDelayed: {"", protocol.JobDelayed}, protocol.JobWaiting: {"", protocol.JobWaiting},
		protocol.JobRunning: {"", jobHeir}, jobHeir: {"", jobHeir},
	},
	"cancel": {
		protocol.JobWaiting: {"done", jobGone}, protocol.JobDelayed: {"done", jobGone}, jobRipe: {"done", jobGone}, protocol.JobParked: {"done", jobGone},
		protocol.JobRunning: {"asked", jobAsked}, jobHeir: {"asked", jobAsked}, jobAsked: {"asked", jobAsked}, protocol.JobDead: {"too late", protocol.JobDead}, "else": {"none", ""},
	},
	"delete": {
		protocol.JobWaiting: {"e", jobGone}, protocol.JobDelayed: {"e", jobGone}, jobRipe: {"e", jobGone}, protocol.JobParked: {"e", jobGone},
		protocol.JobRunning: {"r", protocol.JobRunning}, jobHeir: {"r", jobHeir}, jobAsked: {"r", jobAsked}, protocol.JobDead: {"e", jobGone}, "else": {"n", ""},
	},
	"ripen":   {protocol.JobDelayed: {"", jobRipe}},
	"take":    {protocol.JobWaiting: {"x", protocol.JobRunning}, jobRipe: {"x", protocol.JobRunning}},
	"done":    {protocol.JobRunning: {"", jobGone}, jobHeir: {"", protocol.JobDelayed}, jobAsked: {"", jobGone}},
	"retry":   {protocol.JobRunning: {"", protocol.JobDelayed}, jobHeir: {"", protocol.JobDelayed}, jobAsked: {"", jobGone}},
	"die":     {protocol.JobRunning: {"", protocol.JobDead}, jobHeir: {"", protocol.JobDelayed}, jobAsked: {"", jobGone}},
	"park":    {protocol.JobRunning: {"", protocol.JobParked}, jobHeir: {"", protocol.JobDelayed}, jobAsked: {"", jobGone}},
	"requeue": {protocol.JobDelayed: {"e", protocol.JobWaiting}, jobRipe: {"e", protocol.JobWaiting}, protocol.JobParked: {"e", protocol.JobWaiting}, protocol.JobDead: {"e", protocol.JobWaiting}, "else": {"n", ""}},
	"purge":   {protocol.JobWaiting: {"", jobGone}},
}

// jobActionNames has the actions in a fixed order.
var jobActionNames = strings.Fields("enqueue delay replace cancel delete ripen take done retry die park requeue purge")

// after returns the answer to an action and the job after it.
func (j jobAnswers) after(action string) (answer string, then jobAnswers) {
	effect, has := jobActions[action][j.place]
	if !has {
		effect = jobActions[action]["else"]
		effect.place = j.place
	}
	then = jobAnswers{effect.place, j.remembered}
	switch was := j.place; {
	case action == "purge", action == "take": // every ID leaves ready
		then.remembered = ""
	case then.place == protocol.JobWaiting: // its old place in ready is its place now
		then.remembered = ""
	case was == protocol.JobWaiting && then.place == jobGone, j.remembered != "" && was != then.place && then.place == jobGone:
		then.remembered = action + "led"
		if action == "delete" {
			then.remembered = "deleted"
		}
	case action == "cancel" && was == jobGone && j.remembered == "cancelled":
		effect.answer = "done"
	}
	return effect.answer, then
}

// shown is the state that Jobs.Get shows.
func (j jobAnswers) shown() string {
	switch j.place {
	case jobRipe:
		return protocol.JobDelayed
	case jobAsked, jobHeir:
		return protocol.JobRunning
	}
	return j.place
}

// Each sequence of actions on one job has the answers of the table, whatever was done to earlier jobs of its ID; in particular, a deleted job can
// never be cancelled. Actions without an effect come last only.
func TestEachActionOnAJobHasTheAnswerOfTheTable(t *testing.T) {
	actions := 4
	if long.All() {
		actions = 5
	}
	onServersWith(t, randomCalls, func(b *bench) {
		tried := 0
		var try func(done []string, job jobAnswers)
		try = func(done []string, job jobAnswers) {
			for _, action := range jobActionNames {
				_, then := job.after(action)
				sequence := append(done[:len(done):len(done)], action)
				if then != job && len(sequence) <= actions {
					try(sequence, then)
				} else if action == "cancel" || action == "delete" || then == job && len(sequence) <= actions {
					tried++
					b.answers(fmt.Sprint("s", tried), sequence)
				}
			}
		}
		try(nil, jobAnswers{})
		if tried < 900 {
			b.Errorf("tried %d sequences", tried)
		}
	})
}

// answers carries out a sequence of actions on a new job, and compares each answer with the table.
func (b *bench) answers(session string, sequence []string) {
	b.Helper()
	if keys := b.keysLike("*{default}*"); len(keys) > 0 {
		b.client.Del(b.Context(), keys...)
	}
	a := jobActor{bench: b, session: session}
	job := jobAnswers{}
	for i, action := range sequence {
		var want string
		want, job = job.after(action)
		if got := a.act(action); got != want {
			b.Fatalf("%s: the last one has the answer %q, want %q", strings.Join(sequence[:i+1], ", "), got, want)
		}
	}
	found, err := b.store.FindJobs(b.Context(), "default", []string{"x"})
	if err != nil || found[0].State != job.shown() {
		b.Fatalf("%s: then it is shown as %+v, %v, want %q", strings.Join(sequence, ", "), found, err, job.shown())
	}
}

// A jobActor carries out actions on the job x.
type jobActor struct {
	*bench
	session string
	taken   protocol.TakenJob
}

// act carries out an action and returns its answer.
func (a *jobActor) act(action string) string {
	a.Helper()
	var err error
	switch action {
	case "enqueue", "delay":
		item := storesuite.Own("x")
		if action == "delay" {
			item.In = time.Hour
		}
		if existing := a.Enqueue(item); len(existing) > 0 && existing[0] {
			return "exists"
		}
		return "added"
	case "replace":
		item := storesuite.Own("x")
		item.In = time.Hour
		_, err = a.store.Replace(a.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: rand.Text(), Item: item})
	case "cancel":
		return a.Cancel("x")
	case "delete":
		return a.bulk(a.store.DeleteJobs(a.Context(), "default", []string{"x"}))
	case "ripen":
		err = a.client.ZAddXX(a.Context(), a.keys().due, redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()), "x")).Err()
	case "take":
		taken := a.Take(a.session, 5)
		for _, job := range taken {
			a.taken = job
		}
		return storesuite.IDs(taken)
	case "done", "retry", "die", "park":
		if a.taken.ID == "" {
			return ""
		}
		kind := map[string]protocol.SettleKind{"done": protocol.SettleDone, "retry": protocol.SettleLater, "die": protocol.SettleDead, "park": protocol.SettlePark}[action]
		a.Settle(a.session, protocol.Settlement{ID: "x", Fence: a.taken.Fence, Kind: kind, Name: "mail", Delay: time.Hour, Body: []byte("\x01x")})
		a.taken = protocol.TakenJob{}
	case "requeue":
		job := protocol.RequeuedJob{ID: "x"}
		if a.client.ZScore(a.Context(), a.keys().dead, "x").Err() == nil {
			job.Read, job.Body = []byte("\x01x"), []byte("\x01x")
		}
		return a.requeue(job)
	case "purge":
		_, err = a.store.BeginPurge(a.Context(), storesuite.DefaultPartition)
		for more := err == nil; more && err == nil; {
			var step protocol.PurgeAnswer
			step, err = a.store.PurgeStep(a.Context(), storesuite.DefaultPartition)
			more = step.More
		}
	}
	if err != nil {
		a.Fatal(action, err)
	}
	return ""
}

// Whatever deletes a job whose ID is in ready, void, because an earlier job of it was cancelled: the deleted one cannot be cancelled.
func TestAJobThatWasDeletedWithItsScheduleCannotBeCancelled(t *testing.T) {
	onServersWith(t, manualRuns, func(b *bench) {
		at := storesuite.Ago(time.Minute)
		b.Scheduled("s", "queue", at)
		occurrence := storesuite.OccurrenceID("s", at)
		job := b.Take("w", 1)[0]
		b.Settle("w", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleBack})
		b.Want("taken and given back", job.ID, occurrence)
		run := protocol.EnqueueItem{ID: "s#run", Own: true, Schedule: "s", Body: []byte(manualBodies("s")[0])}
		b.Enqueue(run)
		b.Want("cancelled", b.Cancel("s#run"), "done")
		run.In = time.Hour
		b.Enqueue(run)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s", Waiting: true}); err != nil {
			b.Fatal(err)
		}
		for _, id := range []string{occurrence, "s#run"} {
			b.Want(id+" cancelled after its schedule was deleted", b.Cancel(id), "none")
			b.Want(id+" deleted again", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id})), "n")
			b.Want(id+" is shown as", b.Result(id), "")
		}
		b.Want("taken", storesuite.IDs(b.Take("w", 9)), "")
	})
}

// A repair removes jobs that have lost their bodies. Nobody has cancelled them.
func TestALostJobThatWasRepairedCannotBeCancelled(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		b.Enqueue(storesuite.Own("waits"), storesuite.Own("later"))
		b.Cancel("later")
		again := storesuite.Own("later")
		again.In = time.Hour
		b.Enqueue(again)
		b.client.HDel(b.Context(), b.keys().jobs, "waits", "later")
		b.Verify(true)
		b.Verified()
		for _, id := range []string{"waits", "later"} {
			b.Want(id, b.Cancel(id), "none")
		}
	})
}

// The mark of a cancelled occurrence remains in due until its instant, also after a change of the recurrence. It counts only for the schedule that
// it belonged to: one that is created with that name later has an occurrence of its own at that instant.
func TestACancellationEndsWithItsSchedule(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		at := storesuite.Ago(0).Add(time.Hour)
		id := storesuite.OccurrenceID("s", at)
		first := b.scheduledBody(body(1, ""), at)
		b.Want("cancelled", b.Cancel(id)+b.Cancel(id), "donedone")
		change := protocol.Change{Revision: first.Revision, Cursor: b.cursorOf("s"), Until: storesuite.Ago(time.Second)}
		changed := b.store.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(body(2, "")), Change: &change}})[0]
		if changed.Err != nil || !changed.Changed {
			b.Fatalf("changed: %+v", changed)
		}
		b.Verified()
		b.Want("cancelled after the change", b.Cancel(id), "done")
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		b.Want("cancelled after the deletion", b.Cancel(id), "none")
		second := b.Declare("s", "skip", body(3, ""))
		b.Want("cancelled before it is placed again", b.Cancel(id), "none")
		b.Want("shown before it is placed again", b.Result(id), "")
		b.Place(*second.Owed, second.Revision, 0, at)
		b.Verified()
		b.Want("shown", b.Result(id), protocol.JobDelayed)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, id))
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), id)
	})
}

// A job that an operator requeues before it has begun does not expire any more.
func TestARequeuedJobDoesNotExpire(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		item := storesuite.Own("x")
		item.In, item.Body = time.Hour, []byte("\x02body12345678")
		b.Enqueue(item)
		b.Want("requeued", b.requeue(protocol.RequeuedJob{ID: "x"}), "e")
		b.Want("its body", b.client.HGet(b.Context(), b.keys().jobs, "x").Val(), "\x01body12345678")
	})
}
