package service

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/recurrence"
)

// PutJob stores what edit makes of the job as it is, which is nil if there is none; edit may be called again after a conflict. Patched says that a
// state in what edit returns always counts.
func (s *Service) PutJob(ctx context.Context, n resource.JobName, when Condition, patched bool, edit func(*Job) (*resource.Job, error)) (j *Job, created bool, err error) {
	if err := checkJobName(n); err != nil {
		return nil, false, err
	}
	for range maxTries {
		c := &change{service: s, name: n, patched: patched}
		written, err := c.try(ctx, when, edit)
		if lostRace(err) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		j, err = s.view(ctx, written)
		return j, c.old == nil, err
	}
	return nil, false, problem.New(problem.Busy, "job %s is changed by others all the while: try again", n.Schedule())
}

// A change is one try to write a job: what was read, and what is made of it. If what was read is not stored any more when it is written, its error is
// [chime.ErrConflict] or [chime.ErrNotFound], and to do it all again is right.
type change struct {
	service *Service
	name    resource.JobName
	patched bool

	schedule   *chime.Schedule // nil: there is none
	old        *definition     // of the schedule; nil: there is none
	collection *collection.Record
	limits     *resource.Collection // what the collection says

	given    *resource.Job
	enabling bool // it is disabled, and the client wants it enabled
	new      *definition
}

func (c *change) try(ctx context.Context, when Condition, edit func(*Job) (*resource.Job, error)) (*chime.Schedule, error) {
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	var shown *Job
	revision := int64(0)
	if c.schedule != nil {
		var err error
		if shown, err = c.service.view(ctx, c.schedule); err != nil {
			return nil, err
		}
		revision = c.schedule.Revision
	}
	if err := when.check(revision); err != nil {
		return nil, err
	}
	given, err := edit(shown)
	if err != nil {
		return nil, err
	}
	if err := c.define(ctx, given); err != nil {
		return nil, err
	}
	if c.old == nil {
		return c.create(ctx)
	}
	return c.replace(ctx)
}

// read reads the schedule, then its collection. What an earlier collection of that name has left is deleted.
func (c *change) read(ctx context.Context) error {
	s := c.service
	schedule, err := s.schedules.Get(ctx, c.name.Schedule())
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		return err
	}
	found := err == nil
	if c.collection, err = s.collection(ctx, c.name.Collection); err != nil {
		return err
	}
	if c.collection.State == collection.Deleted {
		return deleting(c.name.Collection)
	}
	if c.limits, err = resource.DecodeCollection(c.collection.Data); err != nil {
		return err
	}
	if !found {
		return nil
	}
	m, ours := metaOf(schedule)
	if !ours {
		return problem.New(problem.NameTaken, "the schedule %s is a program's, and no job: choose another name", schedule.Name)
	}
	if m.Collection != c.collection.Creation {
		_, err := s.align(ctx, schedule, false)
		return err
	}
	c.schedule = schedule
	c.old, err = readDefinition(schedule, m)
	return err
}

// define makes the definition of what the client has given, and checks all that needs no further call.
func (c *change) define(ctx context.Context, given *resource.Job) error {
	s := c.service
	j := *given
	j.Action = given.Action.Clone()
	c.given, c.patched = &j, c.patched || given.Patched
	m, err := c.wanted()
	if err != nil {
		return err
	}
	var before *action.Action
	if c.old != nil {
		before = c.old.job.Action
	}
	if err := s.prepare(ctx, &j, before, c.name); err != nil {
		return err
	}
	if keeps := c.old != nil && m.StartTime == startMade && (j.Now || j.Rule.Equal(c.old.job.Rule)); keeps {
		j.Rule = c.old.job.Rule
	} else {
		m.StartTime = ""
		if j.Now {
			m.StartTime = startMade
		}
	}
	queue := c.limits.Queue
	if queue == "" {
		queue = s.options.Queues[0]
	}
	c.new = newDefinition(&j, queue, m)
	if c.old != nil && final(stateOf(c.schedule)) {
		c.new.queue = c.old.queue // another one of the collection is no change of a job that has ended
	}
	return c.check(queue)
}

// prepare brings an action into the form that is stored, with the secrets of the one before that it keeps, and says what is wrong with it.
func (s *Service) prepare(ctx context.Context, j *resource.Job, before *action.Action, n resource.JobName) error {
	a, keep := j.Action, j.Action.Keep
	if j.Patched && before != nil {
		keep = a.CheckKept
	}
	mistakes := append(a.Prepare(ctx, s.options.OpenPFX), keep(before)...)
	mistakes = append(mistakes, a.Validate(s.rules())...)
	if len(mistakes) > 0 {
		return problem.Invalid(within(j.Prefix, mistakes))
	}
	err := a.Seal(s.options.Secrets, action.PlaceOf(n.Schedule()), before)
	if errors.Is(err, action.ErrNoKeys) {
		return noKeys()
	}
	return err
}

// rules are what actions are held against.
func (s *Service) rules() action.Rules {
	return action.Rules{Limits: s.options.Limits, Egress: s.options.Egress, Now: time.Now()}
}

func noKeys() error {
	return problem.New(problem.SecretKeysMissing, "the service has no keys for secrets, so a job cannot have any: start it with some")
}

// wanted is the meta of the job with the state that it is to be in: a state that is as shown, or left out, stays as wanted.
func (c *change) wanted() (meta, error) {
	m := meta{State: resource.Enabled, Collection: c.collection.Creation}
	shown := resource.State("")
	if c.old != nil {
		m, shown = c.old.meta, stateOf(c.schedule)
	}
	said := c.given.State
	switch {
	case said == "" || said == shown && (!c.patched || final(said)):
	case said == resource.Enabled || said == resource.Disabled:
		m.State = said
		c.enabling = said == resource.Enabled && shown == resource.Disabled
	default:
		return m, mistake("state_value", c.given.Prefix+"state", string(said), "want enabled or disabled")
	}
	return m, nil
}

// create reserves the job's name, and puts its schedule. A name whose time is wrong, because this machine's clock is or because the reservation took long,
// is given back: the next try has a right one.
func (c *change) create(ctx context.Context) (*chime.Schedule, error) {
	s := c.service
	name := newReservedName(c.name.Job, s.clock.now())
	r, err := c.reserve(ctx, name)
	if err != nil {
		return nil, err
	}
	s.clock.set(r.Now)
	if off := r.Now.Sub(name.at()).Abs(); off > maxUnderWay-2*putTime || r.Collection.Creation != c.collection.Creation {
		return nil, errors.Join(chime.ErrConflict, s.collections.Release(ctx, r.Collection, string(name)))
	}
	return c.put(ctx, name, r)
}

// put puts a new schedule for a name that is reserved, and reserves the name again: see the package's comment for why.
func (c *change) put(ctx context.Context, name reservedName, r *collection.Reservation) (*chime.Schedule, error) {
	s := c.service
	c.new.meta.Name, c.new.meta.Collection = name, r.Collection.Creation
	c.begin(r.Now)
	options, err := c.new.options()
	if err != nil {
		return nil, errors.Join(err, s.collections.Release(ctx, r.Collection, string(name)))
	}
	if paused := pausedAtCreation(c.new.meta, r.Collection); paused != nil {
		options = append(options, paused)
	}
	soon, stop := context.WithTimeout(ctx, putTime)
	defer stop()
	put, err := s.schedules.Put(soon, c.name.Schedule(), c.new.job.Rule, append(options, chime.IfAbsent())...)
	if errors.Is(err, chime.ErrConflict) || refused(err) {
		return nil, errors.Join(clientError(err, c.given.Prefix), s.collections.Release(ctx, r.Collection, string(name)))
	}
	if err != nil {
		return nil, err // it may be stored: a sweep releases the name if it is not
	}
	stands, err := s.align(ctx, put, true)
	if errors.Is(err, collection.ErrQuota) { // a sweep has taken the name of a writer who was too slow, and others have filled the collection
		if err := s.takeBack(ctx, stands.schedule); err != nil {
			return nil, err
		}
		return nil, c.full()
	}
	return c.standing(put, stands, err)
}

// reserve reserves a name; if there is no room, after names without a schedule were released.
func (c *change) reserve(ctx context.Context, name reservedName) (*collection.Reservation, error) {
	s := c.service
	r, err := s.collections.Reserve(ctx, c.name.Collection, string(name))
	if errors.Is(err, collection.ErrQuota) {
		cleared, failed := s.makeRoom(ctx, r.Collection)
		if failed != nil {
			return nil, failed
		}
		if cleared {
			r, err = s.collections.Reserve(ctx, c.name.Collection, string(name))
		}
	}
	switch {
	case errors.Is(err, collection.ErrQuota):
		return nil, c.full()
	case errors.Is(err, collection.ErrDeleting):
		return nil, deleting(c.name.Collection)
	case errors.Is(err, chime.ErrNotFound):
		return nil, noCollection(c.name.Collection)
	}
	return r, err
}

func (c *change) full() error {
	return problem.New(problem.QuotaJobs, "collection %s has %d jobs, as many as it may have: delete one, or raise its quota", c.name.Collection, c.collection.MaxNames)
}

// startDelay is how far ahead a job begins that had another rule, and is to run once, now: a rule that has begun already when it is put would not run.
const startDelay = 5 * time.Second

// begin gives a job that is to run once, now, its start.
func (c *change) begin(now time.Time) {
	if c.new.job.Rule.StartTime.IsZero() && c.given.Now {
		c.new.job.Rule = recurrence.Recurrence{StartTime: now.UTC().Truncate(time.Second)}
	}
}

// replace puts a changed definition, and takes the schedule where it is to stand.
func (c *change) replace(ctx context.Context) (*chime.Schedule, error) {
	s := c.service
	put := c.schedule
	if !c.new.equal(c.old) {
		if c.given.Now && c.old.meta.StartTime != startMade {
			r, err := s.collections.Reserve(ctx, c.name.Collection, string(c.old.meta.Name)) // its answer has the store's time
			if err == nil && !r.Known {
				return nil, errors.Join(chime.ErrConflict, s.collections.Release(ctx, r.Collection, string(c.old.meta.Name)))
			}
			if err != nil {
				return nil, err
			}
			c.begin(r.Now.Add(startDelay))
		}
		options, err := c.new.options()
		if err != nil {
			return nil, err
		}
		if put, err = s.schedules.Put(ctx, c.schedule.Name, c.new.job.Rule, append(options, chime.IfRevision(c.schedule.Revision))...); err != nil {
			return nil, clientError(err, c.given.Prefix)
		}
	}
	if c.enabling {
		var err error
		if put, err = s.enable(ctx, put); err != nil {
			return nil, err
		}
	}
	stands, err := s.align(ctx, put, false)
	return c.standing(put, stands, err)
}

// enable resumes a schedule for a client, whoever holds it, unless somebody has wanted it disabled meanwhile.
func (s *Service) enable(ctx context.Context, schedule *chime.Schedule) (*chime.Schedule, error) {
	for range maxTries {
		if m, ours := metaOf(schedule); !ours || m.State != resource.Enabled || schedule.State != chime.StatePaused {
			break
		}
		if err := s.resume(ctx, schedule); err != nil && !lostRace(err) {
			return nil, err
		}
		again, err := s.schedules.Get(ctx, schedule.Name)
		if err != nil {
			return nil, err
		}
		schedule = again
	}
	return schedule, nil
}

// standing is the schedule after a write: where it stands, or, if somebody has deleted it since, as it was written. If its collection was deleted the
// write has no effect, and that is a problem.
func (c *change) standing(put *chime.Schedule, stands aligned, err error) (*chime.Schedule, error) {
	switch {
	case err != nil:
		return nil, err
	case stands.schedule != nil:
		return stands.schedule, nil
	case stands.collection != nil && stands.collection.Creation == c.collection.Creation && stands.collection.State != collection.Deleted:
		return put, nil
	}
	return nil, deleting(c.name.Collection)
}

// refused reports whether an error says that chime refuses what a client gave.
func refused(err error) bool {
	bad := (*chime.InvalidError)(nil)
	return errors.As(err, &bad) || len(recurrence.Errors(err)) > 0
}

// clientError is an error of a Put, with what is wrong with the rule as problems, whose paths begin with a prefix.
func clientError(err error, prefix string) error {
	var mistakes []problem.Mistake
	for _, bad := range recurrence.Errors(err) {
		mistakes = append(mistakes, problem.Mistake{Code: string(bad.Code), Field: "recurrence." + bad.Field, Value: bad.Value, Detail: bad.Reason})
	}
	if len(mistakes) > 0 {
		return problem.Invalid(within(prefix, mistakes))
	}
	return err
}

// within puts a prefix before the paths of mistakes.
func within(prefix string, mistakes []problem.Mistake) []problem.Mistake {
	for i := range mistakes {
		mistakes[i].Field = prefix + mistakes[i].Field
	}
	return mistakes
}
