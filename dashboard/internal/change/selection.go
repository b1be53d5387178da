package change

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/jobfind"
)

const (
	maxTicked = 200    // maximum number of ticked rows
	maxAll    = 10_000 // maximum number of jobs that one form changes
	stepJobs  = 500    // maximum number of jobs that one step changes
)

// A selection has the jobs that a form changes.
type selection struct {
	words string // describes the jobs for the viewer
	named string // describes ticked jobs for the audit; empty: use words
	jobs  []ref
	more  bool // there are more jobs: those of the tails, or for another form
	tails []tail
}

// A tail finds the jobs that follow those of a selection, in a search that was not finished.
type tail struct {
	search jobfind.Search
	means  func(*chime.JobInfo) bool
}

// follow returns the next jobs of a tail. end: there are no others.
func (c *Changer) follow(ctx context.Context, t *tail) (jobs []ref, end bool, err error) {
	found, err := t.search.Find(ctx, c.store)
	if err != nil {
		return nil, false, err
	}
	t.search.After = found.Next
	return refsOf(found.Jobs, t.means), found.Next == "", nil
}

// refsOf returns the jobs for which means returns true.
func refsOf(jobs []*chime.JobInfo, means func(*chime.JobInfo) bool) (refs []ref) {
	for _, job := range jobs {
		if means(job) {
			refs = append(refs, ref{job.Queue, job.ID, fmt.Sprintf("%s, %s of queue %s", job.ID, job.Name, job.Queue)})
		}
	}
	return refs
}

// A ref refers to a job by queue and ID.
type ref struct{ queue, id, text string }

// selected returns the jobs that a form changes. These are the ticked jobs, given as "<queue>/<ID>"; all jobs that match its filter; or the jobs of
// groups of failures, given as "<job>\t<error>".
func (c *Changer) selected(ctx context.Context, f *Form) (selection, error) {
	if f.Fields.Get("all") == "1" {
		return c.filtered(ctx, f)
	}
	ids := f.Fields["id"]
	if len(ids) > maxTicked {
		return selection{}, &chime.InvalidError{Field: "id", Value: strconv.Itoa(len(ids)) + " rows", Limit: "at most " + strconv.Itoa(maxTicked)}
	}
	s := selection{words: "that are ticked", named: firstOf(ids)}
	for _, text := range ids {
		queue, id, found := strings.Cut(text, "/")
		if !found || queue == "" || id == "" {
			return selection{}, &chime.InvalidError{Field: "id", Value: text, Limit: "a queue, a slash and the ID of a job"}
		}
		s.jobs = append(s.jobs, ref{queue, id, id + " of queue " + queue})
	}
	return s, nil
}

// filtered returns the jobs that match a filter.
func (c *Changer) filtered(ctx context.Context, f *Form) (selection, error) {
	filter, err := f.filter()
	if err != nil {
		return selection{}, err
	}
	return c.found(ctx, filter, func(*chime.JobInfo) bool { return true })
}

// filter returns the filter of a form.
func (f *Form) filter() (jobfind.Filter, error) {
	filter, err := jobfind.Parse(f.Fields.Get("filter"))
	if err == nil && len(filter.Arguments) > 0 && !f.Reveal {
		err = &chime.InvalidError{Field: "filter arg", Value: "arg:", Limit: "no arguments: you may not see them"}
	}
	return filter, err
}

// found returns the jobs that match a filter and for which means returns true.
func (c *Changer) found(ctx context.Context, filter jobfind.Filter, means func(*chime.JobInfo) bool) (selection, error) {
	s := selection{words: "that match the filter “" + filter.String() + "”"}
	search := jobfind.Search{Filter: filter, Limit: c.most, Shown: c.shown, Arguments: c.arguments}
	found, err := search.Find(ctx, c.store)
	if err != nil {
		return s, err
	}
	s.jobs = refsOf(found.Jobs, means)
	if s.more = found.Next != ""; s.more && (filter.State == chime.JobDead || filter.State == chime.JobRetrying) {
		search.After = found.Next
		if until := &search.Filter.Until; until.IsZero() || found.Now.Before(*until) { // a job that fails again meanwhile is not changed again
			*until = found.Now
		}
		s.tails = append(s.tails, tail{search, means})
	}
	return s, nil
}

// ticked returns the ticked groups of a form, and their job names, each once.
func (f *Form) ticked() (groups, names []string, err error) {
	groups = f.Fields["id"]
	if len(groups) > maxTicked {
		return nil, nil, &chime.InvalidError{Field: "id", Value: strconv.Itoa(len(groups)) + " groups", Limit: "at most " + strconv.Itoa(maxTicked)}
	}
	for _, text := range groups {
		name, _, found := strings.Cut(text, "\t")
		if !found || name == "" {
			return nil, nil, &chime.InvalidError{Field: "id", Value: text, Limit: "a job's name, a tab and an error"}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return groups, names, nil
}

// grouped returns the failed jobs of groups that match the filter of the list. Groups of one job name are found with one reading. each is called for each of these
// jobs, but not for those of tails; it may be nil.
func (c *Changer) grouped(ctx context.Context, f *Form, each func(*chime.JobInfo)) (all selection, err error) {
	list, err := f.filter()
	if err != nil {
		return all, err
	}
	groups, names, err := f.ticked()
	if err != nil {
		return all, err
	}
	all.words = "of the ticked groups"
	having, reads := map[string]bool{}, true
	for _, group := range groups {
		having[group] = false
	}
	means := func(job *chime.JobInfo) bool {
		of := c.group(job)
		_, ticked := having[of]
		if ticked && reads {
			having[of] = true
			if each != nil {
				each(job)
			}
		}
		return ticked
	}
	for _, name := range names {
		for _, state := range []chime.JobState{chime.JobDead, chime.JobRetrying} {
			if list.State != "" && list.State != state {
				continue
			}
			filter := list
			filter.State, filter.Job = state, jobfind.Pattern{Text: name}
			some, err := c.found(ctx, filter, means)
			if err != nil {
				return all, err
			}
			all.jobs, all.more, all.tails = append(all.jobs, some.jobs...), all.more || some.more, append(all.tails, some.tails...)
		}
	}
	reads = false
	all.named = firstOf(slices.DeleteFunc(slices.Clone(groups), func(text string) bool { return !having[text] }))
	return all, nil
}

const maxNamed = 300 // maximum length of the ticked rows, in bytes

// firstOf returns the first ticked rows, up to the maximum length for an audit.
func firstOf(ticked []string) string {
	text := ""
	for i, one := range ticked {
		one = strings.ReplaceAll(one, "\t", ": ")
		if i > 0 && (i == maxExamples || len(text)+len(one) > maxNamed) {
			return text + fmt.Sprintf(" and %d more", len(ticked)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%.*s", maxNamed, one)
	}
	return text
}

// steps splits jobs into slices of one queue.
func steps(jobs []ref) (all [][]ref) {
	for len(jobs) > 0 {
		n := 1
		for n < len(jobs) && n < stepJobs && jobs[n].queue == jobs[0].queue {
			n++
		}
		all, jobs = append(all, jobs[:n]), jobs[n:]
	}
	return all
}
