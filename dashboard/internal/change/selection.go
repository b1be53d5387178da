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
	more  bool // there are more jobs for another form
}

// A ref refers to a job by queue and ID.
type ref struct{ queue, id, text string }

// selected returns the jobs that a form changes. These are the ticked jobs, given as "<queue>/<ID>"; all jobs that match its filter; or the jobs of
// groups of failures, given as "<job>\t<error>".
func (c *Changer) selected(ctx context.Context, f *Form) (selection, error) {
	if f.Fields.Get("all") == "1" {
		return c.filtered(ctx, f.Fields.Get("filter"))
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
func (c *Changer) filtered(ctx context.Context, text string) (selection, error) {
	filter, err := jobfind.Parse(text)
	if err != nil {
		return selection{}, err
	}
	return c.found(ctx, filter, func(*chime.JobInfo) bool { return true })
}

// found returns the jobs that match a filter and also the function matches.
func (c *Changer) found(ctx context.Context, filter jobfind.Filter, means func(*chime.JobInfo) bool) (selection, error) {
	s := selection{words: "that match the filter “" + filter.String() + "”"}
	found, err := jobfind.Search{Filter: filter, Limit: maxAll, Shown: c.shown}.Find(ctx, c.store)
	if err != nil {
		return s, err
	}
	for _, job := range found.Jobs {
		if means(job) {
			s.jobs = append(s.jobs, ref{job.Queue, job.ID, fmt.Sprintf("%s, %s of queue %s", job.ID, job.Name, job.Queue)})
		}
	}
	s.more = found.Next != ""
	return s, nil
}

// grouped returns the failed jobs of groups that match the filter of the list.
func (c *Changer) grouped(ctx context.Context, groups []string, text string) (all selection, err error) {
	list, err := jobfind.Parse(text)
	if err != nil {
		return all, err
	}
	if len(groups) > maxTicked {
		return all, &chime.InvalidError{Field: "id", Value: strconv.Itoa(len(groups)) + " groups", Limit: "at most " + strconv.Itoa(maxTicked)}
	}
	all.words = "of the ticked groups"
	var having []string
	for _, text := range groups {
		name, _, found := strings.Cut(text, "\t")
		if !found || name == "" {
			return all, &chime.InvalidError{Field: "id", Value: text, Limit: "a job's name, a tab and an error"}
		}
		for _, state := range []chime.JobState{chime.JobDead, chime.JobRetrying} {
			if list.State != "" && list.State != state {
				continue
			}
			filter := list
			filter.State, filter.Job = state, jobfind.Pattern{Text: name}
			some, err := c.found(ctx, filter, func(job *chime.JobInfo) bool { return c.group(job) == text })
			if err != nil {
				return all, err
			}
			all.jobs, all.more = append(all.jobs, some.jobs...), all.more || some.more
			if len(some.jobs) > 0 && !slices.Contains(having, text) {
				having = append(having, text)
			}
		}
	}
	all.named = firstOf(having)
	if len(all.jobs) > maxAll {
		all.jobs, all.more = all.jobs[:maxAll], true
	}
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
