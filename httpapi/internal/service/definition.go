package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/internal/wire"
)

const (
	defaultGrace  = time.Minute
	maxUnfinished = 1000 // runs of a job that have not ended
)

// A definition is a job in the form of its schedule. Each can be converted to the other, and equal definitions have equal schedules.
type definition struct {
	job   resource.Job // with all defaults, sealed secrets, and without State and Now, which are in meta
	queue string       // the queue of its jobs
	group string       // the group of its jobs; empty: none
	meta  meta
}

// newDefinition converts a client's job. limits and queue are the collection's.
func newDefinition(j *resource.Job, limits *resource.Collection, queue string, m meta) *definition {
	d := &definition{job: *j, queue: queue, meta: m}
	a := d.job.Action
	d.job.State, d.job.Now, d.job.Prefix = "", false, ""
	d.job.Misfire = cmp.Or(d.job.Misfire, chime.MisfireRunOnce)
	d.job.Grace = cmp.Or(d.job.Grace, defaultGrace)
	if d.job.Overlap == "" {
		d.job.Overlap = chime.OverlapAllow
		if a.Type == action.Job {
			d.job.Overlap = chime.OverlapSkip
		}
	}
	d.meta.Rest, d.meta.Group, d.meta.Job, d.meta.Error = metaForm, j.Group, nil, nil
	if a.Type == action.Job {
		d.queue = cmp.Or(a.Job.Queue, queue)
		d.meta.Job = &targetMeta{Queue: a.Job.Queue, Text: a.Job.Body != "", Excerpt: a.Excerpt, Retry: a.RetryPolicy}
	}
	d.group = groupOf(j.Group, d.queue, limits, queue)
	if e := a.ErrorAction; e != nil {
		of := targetMeta{Inherits: e.RetryPolicy == nil}
		if e.Type == action.Job {
			of.Text, of.Excerpt, of.Retry = e.Job.Body != "", e.Excerpt, e.RetryPolicy
		}
		if of != (targetMeta{}) {
			d.meta.Error = &of
		}
	}
	return d
}

// options are the schedule's options, without its rule.
func (d *definition) options() ([]chime.PutOption, error) {
	item, err := d.job.Action.Item()
	if err != nil {
		return nil, err
	}
	of, err := d.job.Action.Options(inGroup(d.group)...)
	if err != nil {
		return nil, err
	}
	stored, err := d.meta.encode()
	if err != nil {
		return nil, err
	}
	options := []chime.PutOption{
		chime.JobName(item.Name), chime.Args(item.Args), chime.Queue(d.queue), chime.Meta(stored), chime.Overlap(d.job.Overlap), chime.Misfire(d.job.Misfire),
		chime.Grace(d.job.Grace), chime.KeepRuns(d.job.KeepRuns), chime.PauseAfter(d.job.DisableAfter), chime.MaxUnfinished(maxUnfinished),
	}
	if d.job.NoImmediateRun {
		options = append(options, chime.NoImmediateRun())
	}
	for _, option := range of {
		options = append(options, option)
	}
	return options, nil
}

// ErrUnreadable means that a job is stored in a form that this program cannot read: a newer program has written it, or it was edited manually.
var ErrUnreadable = errors.New("cannot be read")

// readDefinition reads the definition from one of our schedules.
func readDefinition(s *chime.Schedule, m meta) (*definition, error) {
	main, err := mainAction(s, m)
	if err != nil {
		return nil, fmt.Errorf("httpapi: the action of job %q %w: %w", s.Name, ErrUnreadable, err)
	}
	if main.ErrorAction, err = errorAction(s, m); err != nil {
		return nil, fmt.Errorf("httpapi: the error action of job %q %w: %w", s.Name, ErrUnreadable, err)
	}
	rule := s.Recurrence
	rule.NoImmediateRun = false // it has its own field
	return &definition{queue: s.Queue, group: s.Group, meta: m, job: resource.Job{
		Rule: rule, Action: main, Overlap: s.Overlap, Misfire: s.Misfire, Grace: s.Grace,
		NoImmediateRun: s.NoImmediateRun, DisableAfter: s.PauseAfter, KeepRuns: s.KeepRuns, Group: m.Group,
	}}, nil
}

func mainAction(s *chime.Schedule, m meta) (*action.Action, error) {
	if m.Job == nil {
		return decodeAction(s.JobName, s.Payload)
	}
	a := &action.Action{Type: action.Job, Job: target(s.JobName, s.Payload, m.Job.Text), RetryPolicy: m.Job.Retry, Excerpt: m.Job.Excerpt}
	a.Job.Queue = m.Job.Queue
	return a, nil
}

func errorAction(s *chime.Schedule, m meta) (*action.Action, error) {
	job, err := s.OnDeathJob()
	if err != nil || job == nil {
		return nil, err
	}
	of := cmp.Or(m.Error, &targetMeta{})
	if job.Name != action.JobName {
		return &action.Action{Type: action.Job, Job: target(job.Name, job.Payload, of.Text), RetryPolicy: of.Retry, Excerpt: of.Excerpt}, nil
	}
	a, err := decodeAction(job.Name, job.Payload)
	if err == nil && of.Inherits {
		a.RetryPolicy = nil // the stored policy is the main action's
	}
	return a, err
}

func decodeAction(jobName string, payload []byte) (*action.Action, error) {
	if jobName != action.JobName {
		return nil, errors.New("it is a job of another handler")
	}
	return action.Decode(payload)
}

func target(name string, payload []byte, text bool) *action.JobTarget {
	t := &action.JobTarget{Name: name}
	switch shown, ok := wire.View(payload); {
	case text:
		t.Body = string(payload)
	case ok: // what its handler gets; another program may have put it
		t.Payload = shown
	case len(payload) > 0:
		t.Payload = json.RawMessage(payload)
	}
	return t
}

// equal reports whether two definitions give the same schedule.
func (d *definition) equal(other *definition) bool {
	ours, err := d.meta.encode()
	theirs, failed := other.meta.encode()
	return err == nil && failed == nil && bytes.Equal(ours, theirs) && d.queue == other.queue && d.group == other.group &&
		d.job.Rule.Equal(other.job.Rule) && d.equalAction(other) &&
		d.job.Overlap == other.job.Overlap && d.job.Misfire == other.job.Misfire && d.job.Grace == other.job.Grace &&
		d.job.NoImmediateRun == other.job.NoImmediateRun && d.job.DisableAfter == other.job.DisableAfter && d.job.KeepRuns == other.job.KeepRuns
}

// equalAction reports whether two definitions do the same.
func (d *definition) equalAction(other *definition) bool {
	ours, err := action.Encode(d.job.Action)
	theirs, failed := action.Encode(other.job.Action)
	return err == nil && failed == nil && bytes.Equal(ours, theirs)
}
