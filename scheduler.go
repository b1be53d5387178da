package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/guardlog"
	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/tick"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

// SchedulerOptions are the options of a Scheduler. The zero value has the defaults.
type SchedulerOptions struct {
	// LeaderTTL is how long a leader's lease lasts after the leader has vanished, 1 s to 10 min. Zero means 10 s.
	LeaderTTL time.Duration
	// SafetyTick is about how often a scheduler that does not lead searches for occurrences that nobody has placed, 1 s to 10 min.
	// Zero means 30 s.
	SafetyTick time.Duration
	// Owner names the program that declares schedules, 1 to 100 of A-Z a-z 0-9 _ . : -. It is stored with each schedule, together with the
	// Version. A schedule with another owner, or without one, is taken over by the last program that declares it. Schedules.Put creates
	// schedules without an owner. If it changes a schedule, the owner remains.
	Owner string
	// Version must grow with each deployment of the owner. Best use the time of the deployment: going back to an old build is a new deployment. A
	// lower version does not change schedules that a higher version has declared, and logs that once; it continues to lead and to place. For 7 days
	// after a higher version has pruned, a lower version also does not take over schedules of other owners or without an owner. With version 0
	// nothing is compared, and neither the version nor the owner is stored.
	Version int64
	// With Prune, Run first declares its own schedules. Then it deletes those that a lower version of the same owner has declared and that this
	// version does not declare, and no others. After one process has done this, no other process of the version repeats it. For 7 days a lower
	// version that starts again does not create them again. If another program runs and has declared one of them, with another owner or without, it
	// declares that one again within minutes. With version 0 nothing is pruned, and Run logs a warning when it begins.
	Prune bool
	// NoImmediateRuns sets [NoImmediateRun] for each schedule that the scheduler declares: a new schedule does not run when it is created. It changes
	// no schedule that exists, and neither does a program without it.
	NoImmediateRuns bool
	// Observers are called when the scheduler leads or places something, and when the store fails.
	Observers []*Observer
	// Logger logs elections, changed schedules, and a store that does not answer. Nil means slog.Default().
	Logger *slog.Logger
}

func (o SchedulerOptions) validate() error {
	var bad []error
	if o.LeaderTTL < time.Second || o.LeaderTTL > 10*time.Minute {
		bad = append(bad, protocol.Invalid("SchedulerOptions.LeaderTTL", o.LeaderTTL.String(), "1s to 10m"))
	}
	if o.SafetyTick < time.Second || o.SafetyTick > 10*time.Minute {
		bad = append(bad, protocol.Invalid("SchedulerOptions.SafetyTick", o.SafetyTick.String(), "1s to 10m"))
	}
	if o.Owner != "" {
		if err := protocol.CheckName("SchedulerOptions.Owner", o.Owner); err != nil {
			bad = append(bad, err)
		}
	} else if o.Prune || o.Version != 0 {
		bad = append(bad, protocol.Invalid("SchedulerOptions.Owner", "", "a name: Prune and Version need an owner"))
	}
	if o.Version < 0 {
		bad = append(bad, protocol.Invalid("SchedulerOptions.Version", strconv.FormatInt(o.Version, 10), "0 or more"))
	}
	if _, err := observing("SchedulerOptions.Observers", o.Observers, o.Logger); err != nil {
		bad = append(bad, err)
	}
	return errors.Join(bad...)
}

// A Scheduler declares schedules, and places the occurrences that no worker has placed. Any number of processes may run the same
// scheduler. One of them leads; that only makes placing faster. Create one with NewScheduler; the zero value is not usable.
type Scheduler struct {
	store   protocol.Store
	options SchedulerOptions
	ticker  *observe.Pulse

	draining atomic.Bool

	mu       sync.Mutex
	running  bool
	names    map[string]bool // declared or removed
	declared []protocol.Declaration
	removed  []string
	refused  []error
	dated    []datedRule // declared schedules with dates that end
}

// A datedRule is a declared schedule whose calendar has dates of years.
type datedRule struct {
	name  string
	until time.Time // the last date
}

// datesSoon is how long before the last date Run warns that a schedule's list of dates must be extended.
const datesSoon = 365 * 24 * time.Hour

// NewScheduler returns a scheduler. It does no I/O; Run returns an error for invalid options.
func NewScheduler(store Store, options SchedulerOptions) *Scheduler {
	options.LeaderTTL = cmp.Or(options.LeaderTTL, defaultLeaderTTL)
	options.SafetyTick = cmp.Or(options.SafetyTick, defaultSafetyTick)
	options.Logger = guardlog.New(cmp.Or(options.Logger, slog.Default()))
	return &Scheduler{store: protocolOf(store), options: options, ticker: observe.NewPulse(), names: map[string]bool{}}
}

// Schedule declares a schedule, before Run. The name is 1 to 200 bytes of UTF-8 without control or format characters and without space at either
// end, and must not end like the ID of an occurrence. Unless the option [JobName] sets another name for the jobs, the schedule's name is also the
// name of its jobs; then it must be 1 to 100 characters of A-Z a-z 0-9 _ . : -. A rule without a frequency, a cron line and a start time is
// refused, because these fields were probably forgotten. Schedule checks its arguments immediately and does no I/O. Run writes the declaration. Run
// also returns the errors of refused declarations, so a program may check them in one place.
//
// A stored schedule with the same definition is not changed. A changed definition takes effect when Run begins. The schedule's creation time and
// its number of used-up runs remain, and there is no immediate run. A completed schedule remains completed. Deleting the line from the program does
// not delete the schedule: Remove and [Schedules.Delete] do. If a calendar lists dates with a year, Run warns when less than a year of them is
// left.
func (s *Scheduler) Schedule(name string, rec recurrence.Recurrence, options ...ScheduleOption) error {
	put := putOptions(options)
	if s.options.NoImmediateRuns {
		put = append(put, NoImmediateRun())
	}
	declared, err := declaration(name, rec, put)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.running:
		return fmt.Errorf("chime: schedule %q: the scheduler runs already: use Schedules.Put", name)
	case err != nil:
		err = fmt.Errorf("chime: schedule %q: %w", name, err)
	case s.names[name]:
		err = fmt.Errorf("chime: schedule %q: the name is declared or removed twice", name)
	}
	if err != nil {
		s.refused = append(s.refused, err)
		return err
	}
	s.names[name] = true
	s.declared = append(s.declared, declared)
	if until := rec.DatesEnd(); !until.IsZero() {
		s.dated = append(s.dated, datedRule{name, until})
	}
	return nil
}

// Declared returns the names of the schedules that were declared so far, in order. It can be called before Run.
func (s *Scheduler) Declared() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.declared))
	for i := range s.declared {
		names[i] = s.declared[i].Name
	}
	slices.Sort(names)
	return names
}

// Remove makes Run delete a schedule that an earlier version of the program declared. It is no error if the schedule does not exist.
func (s *Scheduler) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := protocol.CheckID("name", name)
	switch {
	case s.running:
		return fmt.Errorf("chime: remove schedule %q: the scheduler runs already: use Schedules.Delete", name)
	case err != nil:
		err = fmt.Errorf("chime: remove schedule: %w", err)
	case s.names[name]:
		err = fmt.Errorf("chime: remove schedule %q: the name is declared or removed twice", name)
	}
	if err != nil {
		s.refused = append(s.refused, err)
		return err
	}
	s.names[name] = true
	s.removed = append(s.removed, name)
	return nil
}

// validate returns the problems that prevent the scheduler from running.
func (s *Scheduler) validate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems()
}

func (s *Scheduler) problems() error {
	bad := s.options.validate()
	if s.options.Prune && len(s.declared) == 0 {
		bad = errors.Join(bad, protocol.Because(
			protocol.Invalid("SchedulerOptions.Prune", "true", "false, or a schedule that is declared"), "would delete every schedule of its owner"))
	}
	return errors.Join(append([]error{unusable("scheduler", s.store, bad)}, s.refused...)...)
}

// Run writes the declarations, and then places the occurrences that no worker has placed, until ctx ends. Then it returns its lease and
// returns nil. If the store does not answer, Run waits for it. For refused declarations, invalid options and an unfit store it returns an
// error before it writes anything. A scheduler runs once.
func (s *Scheduler) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("chime: scheduler: %w", errNilContext)
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer drains(ctx, &s.draining)()
	if s.options.Prune && s.options.Version == 0 {
		s.options.Logger.Warn("chime: nothing is pruned because the scheduler has no version", "event", "schedule.unpruned")
	}
	for _, d := range s.dated {
		if time.Until(d.until) < datesSoon {
			s.options.Logger.Warn("chime: the calendar of a schedule has dates for less than a year: declare it with a longer list", "event", "schedule.dates_end",
				"schedule", d.name, "last_date", d.until.Format(time.DateOnly))
		}
	}
	observer, _ := observing("", s.options.Observers, s.options.Logger) // validate has checked them
	err := tick.New(observer.Store(s.store), tick.Options{
		Observe: observer, Pulse: s.ticker,
		Log: s.options.Logger, LeaderTTL: s.options.LeaderTTL, SafetyTick: s.options.SafetyTick, SessionTTL: defaultSessionTTL,
		Declared: s.declared, Removed: s.removed, Owner: protocol.Owner{Name: s.options.Owner, Version: s.options.Version}, Prune: s.options.Prune,
	}).Run(ctx)
	if err != nil {
		return fmt.Errorf("chime: scheduler: %w", err)
	}
	return nil
}

func (s *Scheduler) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return runsAlready("this scheduler")
	}
	if err := s.problems(); err != nil {
		return err
	}
	s.running = true
	return nil
}

func (s *Scheduler) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// stopsLast returns true: the scheduler hands over when the workers have drained.
func (s *Scheduler) stopsLast() bool { return true }

// declaration checks a schedule and converts it into its declared form. It returns all problems, joined.
func declaration(name string, rec recurrence.Recurrence, options []PutOption) (protocol.Declaration, error) {
	settings := putSettings{scheduleSettings: scheduleSettings{overlap: OverlapSkip, misfire: MisfireRunOnce, grace: defaultGrace}}
	if err := protocol.CheckID("name", name); err != nil {
		settings.refuse(err)
	}
	for _, option := range options {
		if option == nil {
			settings.refuse(errNilOption)
			continue
		}
		option.put(&settings)
	}
	if settings.absent && settings.revision != 0 {
		settings.refuse(protocol.Because(protocol.Invalid("option", "IfAbsent", "IfAbsent or IfRevision"), "is given together with IfRevision"))
	}
	if settings.jobName == "" {
		settings.jobName = name
		bad := (*InvalidError)(nil)
		if protocol.CheckID("name", name) == nil && errors.As(protocol.CheckName("job name", name), &bad) {
			settings.refuse(protocol.Because(bad, "is the schedule's name, because the option JobName is not given"))
		}
	}
	payload, err := wire.EncodeStable(settings.args)
	if err == nil && len(payload) > defaultMaxPayload {
		err = wire.TooLarge(len(payload), defaultMaxPayload)
	}
	job := settings.jobSettings.or(settings.kind)
	rec.NoImmediateRun = rec.NoImmediateRun || settings.noImmediateRun
	spec := schedule.Spec{
		JobName: settings.jobName, Recurrence: rec, Payload: payload,
		Overlap: string(settings.overlap), Misfire: string(settings.misfire), Grace: settings.grace,
		Spread: settings.spread, Meta: settings.meta, KeepRuns: settings.keepRuns, PauseAfter: settings.pauseAfter, MaxUnfinished: settings.maxUnfinished, Group: job.group,
		MaxAttempts: job.maxAttempts,
		Timeout:     job.timeout,
		Details:     job.details(),
	}
	groups, problem := checkFollowers(spec.Details, cmp.Or(job.queue, defaultQueue))
	if problem != nil {
		settings.refuse(problem)
	}
	if problem := spec.Validate(); problem != nil {
		settings.refuse(invalidRule(problem))
	}
	if err != nil {
		settings.refuse(err)
	}
	if err := checkHeaderSize(job.header); err != nil && checkHeaderSize(settings.header) == nil { // else the option has reported it
		settings.refuse(err)
	}
	if err := settings.err(); err != nil {
		return protocol.Declaration{}, err
	}
	declared, err := spec.Declare(name, cmp.Or(job.queue, defaultQueue))
	declared.Revision, declared.Absent, declared.Paused, declared.FollowsIn = settings.revision, settings.absent, settings.paused, groups
	return declared, err
}

// invalidRule returns the mistakes in a rule as InvalidErrors with the same text, joined. Each wraps its recurrence.Error. An error without such
// mistakes is returned as it is.
func invalidRule(err error) error {
	var refused []error
	for _, mistake := range recurrence.Errors(err) {
		field := "recurrence"
		if mistake.Field != "" {
			field += "." + mistake.Field
		}
		refused = append(refused, protocol.Restating(mistake, field, mistake.Value, mistake.Reason))
	}
	switch len(refused) {
	case 0:
		return err
	case 1:
		return refused[0]
	}
	return errors.Join(refused...)
}

// A Leader is the scheduler that leads. Of all schedulers of a store, it does the work that nobody else has done in time.
type Leader struct {
	Name string `json:"name"`           // random: each start of a scheduler has its own; empty: no scheduler leads now
	Host string `json:"host,omitempty"` // the host of its process; empty: unknown
	PID  int    `json:"pid,omitempty"`  // the process ID; 0: unknown
	Term int64  `json:"term"`           // how many leaders the store has had; 0: no scheduler has led yet
}

// Leader returns the scheduler that leads, by the store's clock. If no scheduler leads, live workers still place due occurrences, only later.
// After a crash of the leader it returns the old one until another takes its place, which is within seconds.
func (s *Schedules) Leader(ctx context.Context) (Leader, error) {
	err := s.usable(ctx)
	var leads protocol.Leadership
	if err == nil {
		leads, err = s.store.Leader(ctx)
	}
	if err != nil {
		return Leader{}, fmt.Errorf("chime: who leads: %w", err)
	}
	l := Leader{Name: leads.Leader, Term: leads.Term}
	l.Host, l.PID = protocol.SplitCandidate(l.Name)
	return l, nil
}

// Pulses returns the time of the last iteration of the scheduler's only loop, "ticker"; see [Worker.Pulses]. The loop has an iteration at least
// every 5 s, also if the scheduler does not lead. While the loop waits for an answer, for at most 30 s, Pulses returns the current time for it.
// Pulses does no I/O.
func (s *Scheduler) Pulses() map[string]time.Time {
	return pulsesOf(map[string]*observe.Pulse{"ticker": s.ticker})
}

// Draining reports whether the scheduler is ending: the ctx of Run has ended, or Run has returned. It does no I/O.
func (s *Scheduler) Draining() bool { return s.draining.Load() }
