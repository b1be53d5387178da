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

// PutJob applies edit to the stored job and stores the result. Edit gets nil if there is no job, and may be called again after a conflict. patched means
// that a state in the result of edit always counts.
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
		if err == nil {
			written, err = s.renewSeals(ctx, written, c.sealed)
		}
		if err != nil {
			return nil, false, err
		}
		j, err = s.view(ctx, written)
		return j, c.old == nil, err
	}
	return nil, false, problem.New(problem.Busy, "other requests keep changing job %s: try again", n.Schedule())
}

// A change is one attempt to write a job: the values that were read, and the new ones. If the stored values have changed before the write, the error is
// [chime.ErrConflict] or [chime.ErrNotFound], and the caller should repeat the whole change.
type change struct {
	service *Service
	name    resource.JobName
	patched bool

	schedule   *chime.Schedule // nil: none
	old        *definition     // of the schedule; nil: none
	collection *collection.Record
	limits     *resource.Collection // the limits of the collection

	given    *resource.Job
	enabling bool // it is disabled, and the client wants it enabled
	new      *definition
	sealed   int // the version in which its secrets were sealed; 0: it has none
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

// read reads the schedule, then its collection. A schedule that an earlier collection of that name has left is deleted.
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
		return problem.New(problem.NameTaken, "the schedule %s belongs to a program: choose another name", schedule.Name)
	}
	if m.Collection != c.collection.Creation {
		_, err := s.align(ctx, schedule, false)
		return err
	}
	c.schedule = schedule
	c.old, err = readDefinition(schedule, m)
	return err
}

// define builds the definition from the client's job, and makes all checks that need no further call.
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
	if c.sealed, err = s.prepare(ctx, &j, before, c.name); err != nil {
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
	queue := s.queueOf(c.limits)
	c.new = newDefinition(&j, c.limits, queue, m)
	if c.old != nil && final(stateOf(c.schedule)) {
		c.new.queue = c.old.queue // a new queue or group of the collection does not change a job that has ended
		if j.Group == c.old.job.Group {
			c.new.group = c.old.group
		}
	}
	return c.check(ctx, queue)
}

// prepare converts an action to its stored form, with the secrets that it keeps from the previous action, and returns its mistakes. sealed is the version
// of its secrets; 0: it has none.
func (s *Service) prepare(ctx context.Context, j *resource.Job, before *action.Action, n resource.JobName) (sealed int, err error) {
	a, keep := j.Action, j.Action.Keep
	if j.Patched && before != nil {
		keep = a.CheckKept
	}
	mistakes := append(a.Prepare(ctx, s.options.OpenPFX), keep(before)...)
	mistakes = append(mistakes, a.Validate(s.rules())...)
	if len(mistakes) > 0 {
		return 0, problem.Invalid(within(j.Prefix, mistakes))
	}
	if !a.HasSecrets() {
		return 0, nil
	}
	ring, sealed, err := s.sealing(ctx)
	if err != nil {
		return 0, err
	}
	err = a.Seal(ring, action.PlaceOf(n.Schedule()), before)
	if errors.Is(err, action.ErrNoKeys) {
		return 0, noKeys()
	}
	if lost := (*action.SealedError)(nil); errors.As(err, &lost) {
		return 0, mistake("secret_required", j.Prefix+lost.Field, "", "give the secret again, because the stored one cannot be opened")
	}
	return sealed, err
}

// rules are the limits for actions.
func (s *Service) rules() action.Rules {
	return action.Rules{Limits: s.options.Limits, Egress: s.options.Egress, Now: time.Now()}
}

func noKeys() error {
	return problem.New(problem.SecretKeysMissing, "the service has no keys for secrets, so a job cannot have secrets: start the service with keys")
}

// wanted is the meta of the job with its wanted state. A state that is left out, or that equals the shown one, does not change the wanted state.
func (c *change) wanted() (meta, error) {
	m := meta{State: resource.Enabled, Collection: c.collection.Creation}
	shown := resource.State("")
	if c.old != nil {
		m, shown = c.old.meta, stateOf(c.schedule)
	}
	given := c.given.State
	switch {
	case given == "" || given == shown && (!c.patched || final(given)):
	case given == resource.Enabled || given == resource.Disabled:
		m.State = given
		c.enabling = given == resource.Enabled && shown == resource.Disabled
	default:
		return m, mistake("state_value", c.given.Prefix+"state", string(given), "want enabled or disabled")
	}
	return m, nil
}

// create reserves the job's name, and puts its schedule. If the time of the name is wrong, because of this machine's clock or a slow reservation, the name
// is released: the next attempt has the correct time.
func (c *change) create(ctx context.Context) (*chime.Schedule, error) {
	s := c.service
	if err := s.makeUse(ctx, c.collection, c.new.runBytes(), nil); err != nil {
		return nil, err
	}
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

// put puts a new schedule for a reserved name, and reserves the name again: the package's comment has the reason.
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
	result, err := s.align(ctx, put, true)
	if errors.Is(err, collection.ErrQuota) { // a sweep has released the name of a slow writer, and others have filled the collection
		if err := s.takeBack(ctx, result.schedule); err != nil {
			return nil, err
		}
		return nil, c.full()
	}
	return c.afterWrite(put, result, err)
}

// reserve reserves a name. If there is no room, it first releases names without a schedule.
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
	return problem.New(problem.QuotaJobs, "collection %s has %d jobs, its maximum: delete one, or raise its quota", c.name.Collection, c.collection.MaxNames)
}

// startDelay is used when a job with a rule becomes a job that runs once, now: its start is this far ahead, because a start in the past would not run.
const startDelay = 5 * time.Second

// begin sets the start of a job that has to run once, now.
func (c *change) begin(now time.Time) {
	if c.new.job.Rule.StartTime.IsZero() && c.given.Now {
		c.new.job.Rule = recurrence.Recurrence{StartTime: now.UTC().Truncate(time.Second)}
	}
}

// replace puts a changed definition, and takes the schedule to its target state.
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
	result, err := s.align(ctx, put, false)
	return c.afterWrite(put, result, err)
}

// enable resumes a schedule for a client, even if somebody else has paused it, unless somebody has disabled it meanwhile.
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

// afterWrite returns the schedule after a write: aligned, or, if somebody has deleted it since, as it was written. If its collection was deleted, the
// write has no effect, and the result is a problem.
func (c *change) afterWrite(put *chime.Schedule, result aligned, err error) (*chime.Schedule, error) {
	switch {
	case err != nil:
		return nil, err
	case result.schedule != nil:
		return result.schedule, nil
	case result.collection != nil && result.collection.Creation == c.collection.Creation && result.collection.State != collection.Deleted:
		return put, nil
	}
	return nil, deleting(c.name.Collection)
}

// refused reports whether an error means that chime refuses the client's input.
func refused(err error) bool {
	bad := (*chime.InvalidError)(nil)
	return errors.As(err, &bad) || len(recurrence.Errors(err)) > 0
}

// clientError converts an error of a Put. Mistakes of the rule become problems, with a prefix before their paths.
func clientError(err error, prefix string) error {
	var mistakes []problem.Mistake
	for _, bad := range recurrence.Errors(err) {
		mistakes = append(mistakes, problem.Mistake{Code: string(bad.Code), Field: "recurrence." + bad.Field, Value: bad.Value, Detail: bad.Reason})
	}
	if len(mistakes) > 0 {
		return problem.Invalid(within(prefix, mistakes))
	}
	return groupError(err, prefix+"chime.")
}

// within adds a prefix to the paths of mistakes.
func within(prefix string, mistakes []problem.Mistake) []problem.Mistake {
	for i := range mistakes {
		mistakes[i].Field = prefix + mistakes[i].Field
	}
	return mistakes
}
