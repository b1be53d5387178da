package service

import (
	"context"
	"errors"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A Verb is what a program other than the API, such as a dashboard, does to a schedule.
type Verb int

// The verbs.
const (
	VerbRun    Verb = iota + 1 // run it once now
	VerbPause                  // pause it
	VerbResume                 // resume it
	VerbDefine                 // change its definition, or run it with other arguments
	VerbOther                  // anything else
)

// CheckVerb reports whether a schedule is a job of a collection, and returns the rule of the API, if there is one, that forbids the verb to everybody.
// The error is a *problem.Problem, or the store's.
//
// A job that is resumed when its collection is disabled at the same time may be live in the disabled collection, until the next sweep pauses it.
func (s *Service) CheckVerb(ctx context.Context, name string, do Verb) (job bool, err error) {
	schedule, err := s.schedules.Get(ctx, name)
	if errors.Is(err, chime.ErrNotFound) || errors.As(err, new(*chime.InvalidError)) {
		return false, nil // the verb itself fails
	}
	if err != nil {
		return false, err
	}
	m, job := metaOf(schedule)
	if !job {
		return false, nil
	}
	n := jobOf(name)
	if do == VerbDefine {
		return true, problem.New(problem.Forbidden, "job %s belongs to collection %s of the HTTP API: change it by the API", n.Job, n.Collection)
	}
	if do == VerbOther {
		return true, nil
	}
	c, err := s.collection(ctx, n.Collection)
	switch {
	case err != nil:
		return true, err
	case c.Creation != m.Collection:
		return true, noJob(n)
	case do == VerbRun:
		if err = runnable(schedule, c); err == nil {
			err = s.addUse(ctx, c, schedule)
		}
		if err == nil {
			s.dropUse(c, runBytes(schedule)) // the run itself is not counted before the next sum
		}
		return true, err
	case c.State == collection.Deleted:
		return true, deleting(n.Collection)
	case do == VerbResume && c.State == collection.Disabled:
		return true, disabled(n)
	case do == VerbResume && m.State == resource.Disabled:
		return true, problem.New(problem.Forbidden, "a client of the HTTP API has disabled job %s: enable it by the API", name)
	}
	return true, nil
}
