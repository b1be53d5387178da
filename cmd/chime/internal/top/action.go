package top

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
)

// A Verb is the action of a key on items.
type Verb string

// The verbs.
const (
	Pause   Verb = "pause"
	Resume  Verb = "resume"
	Trigger Verb = "trigger"
	Retry   Verb = "retry"
	Cancel  Verb = "cancel"
	Delete  Verb = "delete"
)

// An Action is a change that the user has confirmed.
type Action struct {
	Verb    Verb
	Panel   overview.Panel
	Targets []Target
}

// A Target is an item of a panel.
type Target struct {
	Name  string         // of the queue, schedule or group's job; a job's ID
	Queue string         // of jobs
	State chime.JobState // of the jobs with these IDs: a job in another state is not changed
	IDs   []string
}

// Done is the past participle of the verb.
func (v Verb) Done() string {
	return map[Verb]string{Pause: "paused", Resume: "resumed", Trigger: "triggered", Retry: "retried", Cancel: "cancelled", Delete: "deleted"}[v]
}

// Act performs an action, one target after the other, and reports what was done; by is the user who pauses. It reports that also with an error.
func Act(ctx context.Context, store chime.Store, by string, a Action) (string, error) {
	done, gone := 0, 0
	for _, target := range a.Targets {
		changed, missing, err := act(ctx, store, chime.Note{By: by}, a, target)
		done, gone = done+changed, gone+missing
		if err != nil {
			if done > 0 {
				err = fmt.Errorf("%d %s, then: %w", done, a.Verb.Done(), err)
			}
			return "", err
		}
	}
	text := fmt.Sprintf("%s %s", format.Plural(done, noun[a.Panel], noun[a.Panel]+"s"), a.Verb.Done())
	if len(a.Targets) == 1 && a.Panel != overview.Failures && gone == 0 {
		text = a.Targets[0].Name + " " + a.Verb.Done()
	}
	if gone > 0 {
		text += fmt.Sprintf(", %d had %s", gone, map[bool]string{true: "ended", false: "gone"}[a.Panel == overview.Running])
	}
	return text, nil
}

// noun is the name of an item of each panel, for counts.
var noun = [overview.Panels]string{overview.Queues: "queue", overview.Next: "schedule", overview.Running: "job", overview.Failures: "job", overview.Workers: "worker"}

func act(ctx context.Context, store chime.Store, by chime.Note, a Action, t Target) (changed, gone int, err error) {
	queues, schedules, jobs := chime.NewQueues(store), chime.NewSchedules(store), chime.NewJobs(store)
	filter := chime.JobFilter{Queue: t.Queue, State: t.State, IDs: t.IDs}
	var result chime.BulkResult
	switch a.Panel {
	case overview.Queues:
		switch a.Verb {
		case Pause:
			err = queues.Pause(ctx, t.Name, by)
		case Resume:
			err = queues.Resume(ctx, t.Name)
		case Delete:
			err = queues.Delete(ctx, t.Name)
		}
	case overview.Next:
		switch a.Verb {
		case Pause:
			err = schedules.Pause(ctx, t.Name, by)
		case Resume:
			err = schedules.Resume(ctx, t.Name)
		case Trigger:
			_, err = schedules.Trigger(ctx, t.Name)
		case Delete:
			err = schedules.Delete(ctx, t.Name)
		}
	case overview.Running:
		var how chime.CancelResult
		if how, err = jobs.Cancel(ctx, t.Queue, t.Name); how == chime.CancelTooLate {
			return 0, 1, nil
		}
	case overview.Failures:
		switch a.Verb {
		case Retry:
			result, err = jobs.Requeue(ctx, filter, nil)
		case Delete:
			result, err = jobs.Delete(ctx, filter, nil)
		}
		return result.Changed, len(t.IDs) - result.Changed, err
	}
	if errors.Is(err, chime.ErrNotFound) {
		return 0, 1, nil
	}
	if err == nil {
		changed = 1
	}
	return changed, 0, err
}
