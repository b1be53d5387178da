package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
)

const maxStep = 30 * time.Second // time limit of one step

// A jobVerb is an action for many jobs.
type jobVerb struct {
	name, do, done string // such as "requeue", "Requeue", "requeued"
	button         string // the button of the confirmation; empty: do
	destroys       bool   // the number has to be typed
	warning        string
	step           func(*chime.Jobs, context.Context, string, []string) (chime.BulkResult, error) // changes at most stepJobs of a queue
}

var (
	requeues = jobVerb{name: "requeue", do: "Requeue", done: "requeued", step: func(jobs *chime.Jobs, ctx context.Context, queue string, ids []string) (chime.BulkResult, error) {
		return jobs.Requeue(ctx, chime.JobFilter{Queue: queue, IDs: ids}, nil)
	}}
	deletes = jobVerb{
		name: "delete", do: "Delete", done: "deleted", destroys: true, warning: "This cannot be undone: the jobs are removed with all their data.",
		step: func(jobs *chime.Jobs, ctx context.Context, queue string, ids []string) (chime.BulkResult, error) {
			return jobs.Delete(ctx, chime.JobFilter{Queue: queue, IDs: ids}, nil)
		},
	}
	cancels = jobVerb{
		name: "cancel", do: "Cancel", button: "Cancel the jobs", done: "cancelled", destroys: true, warning: "This cannot be undone: waiting jobs never start, and the handlers of running jobs are cancelled.",
		step: cancelEach,
	}
)

// cancelEach cancels jobs one after another.
func cancelEach(jobs *chime.Jobs, ctx context.Context, queue string, ids []string) (done chime.BulkResult, err error) {
	for _, id := range ids {
		result, err := jobs.Cancel(ctx, queue, id)
		switch {
		case errors.Is(err, chime.ErrNotFound), err == nil && result == chime.CancelTooLate:
			done.Gone++
		case err != nil:
			return done, err
		default:
			done.Changed++
		}
	}
	return done, nil
}

// RequeueJobs, CancelJobs and DeleteJobs change the ticked jobs of a list, or all jobs that match its filter.
func RequeueJobs(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeJobs(ctx, f, requeues)
}

// CancelJobs is described at RequeueJobs.
func CancelJobs(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeJobs(ctx, f, cancels)
}

// DeleteJobs is described at RequeueJobs.
func DeleteJobs(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeJobs(ctx, f, deletes)
}

func (c *Changer) changeJobs(ctx context.Context, f *Form, verb jobVerb) (Answer, error) {
	s, err := c.selected(ctx, f)
	return c.changeSelected(f, verb, s, err, "jobs")
}

// RequeueGroups and DeleteGroups change the failed jobs of the ticked groups.
func RequeueGroups(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	s, err := c.grouped(ctx, f, nil)
	return c.changeSelected(f, requeues, s, err, "failures")
}

// DeleteGroups is described at RequeueGroups.
func DeleteGroups(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	s, err := c.grouped(ctx, f, nil)
	return c.changeSelected(f, deletes, s, err, "failures")
}

// changeSelected asks for confirmation, and then begins to change the jobs.
func (c *Changer) changeSelected(f *Form, verb jobVerb, s selection, err error, page string) (Answer, error) {
	answer := Answer{Target: cmp.Or(s.named, s.words), Back: page, List: f.list(), Count: int64(len(s.jobs))}
	if err != nil {
		return answer, err
	}
	if verb.destroys { // the number that the viewer types is the number of jobs that are changed
		s.tails = nil
		if len(s.jobs) > maxAll {
			s.jobs, s.more = s.jobs[:maxAll], true
		}
		answer.Count = int64(len(s.jobs))
	}
	if len(s.jobs) == 0 && len(s.tails) == 0 {
		answer.Said = "Nothing was changed: no job is ticked, or no job matches any more."
		if s.more {
			answer.Said = "Nothing was changed: none of the jobs that were read matches. There are more jobs: continue in the list, and tick them there."
		}
		return answer, nil
	}
	meant := strconv.Itoa(len(s.jobs))
	if !f.sure() || verb.destroys && f.Fields.Get("number") != meant {
		answer.Ask = f.askJobs(verb, s, page)
		return answer, nil
	}
	begun := &Operation{
		Title: verb.do + " " + s.number(), Page: page, List: f.list(), Verb: verb.done, Lost: "gone or changed", Meant: len(s.jobs), Counting: len(s.tails) > 0,
	}
	operation := c.operations.begin(begun, func(ctx context.Context, report func(progress)) error {
		return c.changeWhole(ctx, f, verb, s, report)
	}, f.ended(answer))
	answer.Back, answer.List = render.Path("operations", operation.ID), ""
	return answer, nil
}

// number returns how many jobs a selection has.
func (s *selection) number() string {
	jobs := format.Plural(len(s.jobs), "job", "jobs")
	switch {
	case len(s.tails) > 0 && len(s.jobs) == 0:
		return "the jobs that match"
	case len(s.tails) > 0:
		return "at least " + jobs
	}
	return jobs
}

// changeWhole changes the jobs of a selection, and then those of its tails.
func (c *Changer) changeWhole(ctx context.Context, f *Form, verb jobVerb, s selection, report func(progress)) error {
	if err := c.changeRefs(ctx, f, verb, s.jobs, report); err != nil {
		return err
	}
	for i := range s.tails {
		for end := false; !end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			jobs, last, err := c.follow(ctx, &s.tails[i])
			if err != nil {
				return err
			}
			end = last
			report(progress{found: len(jobs)})
			if err := c.changeRefs(ctx, f, verb, jobs, report); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeRefs changes jobs step by step.
func (c *Changer) changeRefs(ctx context.Context, f *Form, verb jobVerb, jobs []ref, report func(progress)) error {
	for _, some := range steps(jobs) {
		ids := make([]string, len(some))
		for i, job := range some {
			ids[i] = job.id
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := c.changeStep(ctx, f, verb, some[0].queue, ids)
		report(done)
		if err != nil {
			return err
		}
	}
	return nil
}

// changeStep changes jobs of a queue that the viewer may change. A step that has begun is completed.
func (c *Changer) changeStep(ctx context.Context, f *Form, verb jobVerb, queue string, ids []string) (done progress, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxStep)
	defer cancel()
	if why := f.check(ctx, queue, ids...); why != nil {
		done.deny(len(ids), why)
		return done, nil
	}
	if done.BulkResult, err = verb.step(c.jobs, ctx, queue, ids); err == nil {
		done.Gone = len(ids) - done.Changed
	}
	return done, err
}

// ended returns a function for the end of an operation with this answer, or nil.
func (f *Form) ended(answer Answer) func(Operation) {
	if f.Ended == nil {
		return nil
	}
	return func(o Operation) { f.Ended(answer, o) }
}

// numberField returns the field for the number of selected things. It has to be typed if the action cannot be undone.
func (f *Form) numberField(meant string) render.Field {
	field := render.Field{Name: "number", Label: "Type the number " + meant, Kind: "number", Required: true, Exactly: meant}
	if f.sure() {
		field.Error = fmt.Sprintf("%.20q is not the current number.", f.Fields.Get("number"))
	}
	return field
}

// askJobs asks for confirmation that these jobs are to be changed.
func (f *Form) askJobs(verb jobVerb, s selection, page string) *render.Ask {
	meant := strconv.Itoa(len(s.jobs))
	ask := &render.Ask{
		Title: fmt.Sprintf("%s %s?", verb.do, s.number()), Text: "These are the jobs " + s.words + ".",
		Warning: verb.warning, Post: f.Frame.Action(page, "bulk"), Do: cmp.Or(verb.button, verb.do), Destroys: verb.destroys, Cancel: f.Frame.List(page, f.list()),
		Hidden: append(f.kept(), render.Pair{Name: "verb", Value: verb.name}),
	}
	switch {
	case len(s.tails) > 0:
		ask.Text += " There are more. The change continues with them to the end of the filter, and counts them meanwhile."
	case s.more:
		ask.Text += " There are more: repeat this for the rest when these are done."
	}
	for _, name := range []string{"all", "filter", "id"} {
		for _, value := range f.Fields[name] {
			ask.Hidden = append(ask.Hidden, render.Pair{Name: name, Value: value})
		}
	}
	for _, job := range s.jobs[:min(len(s.jobs), maxExamples)] {
		ask.Examples = append(ask.Examples, job.text)
	}
	ask.More = len(s.jobs) - len(ask.Examples)
	if verb.destroys {
		ask.Fields = append(ask.Fields, f.numberField(meant))
	}
	return ask
}
