package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

// A stage runs a scenario: the store, the program on it, and the recorded events.
type stage struct {
	*chimetest.Chime
	t         *testing.T
	out       io.Writer
	berlin    *time.Location
	schedules *chime.Schedules
	programs  []func() // stop functions of the running programs

	declared []declared
	owner    chime.SchedulerOptions
	work     map[string]chime.Handler // job name -> handler; without an entry the job does nothing
	seen     []event
	runs     map[attempt]int // its index in seen
}

// declared are the schedules that the program declares at each start.
type declared struct {
	name    string
	rule    recurrence.Recurrence
	options []chime.ScheduleOption
}

// An event is an attempt of a job, an occurrence that ended without one, or something that happens to the program.
type (
	attempt struct {
		id string
		n  int
	}
	event struct {
		at   time.Time
		who  string
		what string
	}
)

// perform plays a scenario under fake time and prints it.
func perform(t *testing.T, s scenario, out io.Writer) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		stage := &stage{
			Chime: c, t: t, out: out, berlin: berlin, schedules: chime.NewSchedules(c.Store()),
			work: map[string]chime.Handler{}, runs: map[attempt]int{},
		}
		fmt.Fprintf(out, "%s\n%s\n", s.title, strings.Repeat("=", len(s.title)))
		s.play(stage)
		stage.stop()
		stage.print()
	})
}

// check ends the scenario at an error.
func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// schedule makes the program declare a schedule. why is printed as a note about its options.
func (s *stage) schedule(name string, rule recurrence.Recurrence, why string, options ...chime.ScheduleOption) {
	s.show(name, rule, why)
	s.declared = append(s.declared, declared{name, rule, append(options, chime.KeepRuns(1000))})
}

// show prints a schedule.
func (s *stage) show(name string, rule recurrence.Recurrence, why string) {
	if why != "" {
		why = "; " + why
	}
	fmt.Fprintf(s.out, "  set   %-16s %v%s\n", name, rule, why)
}

// start starts a process of the program: a scheduler and a worker.
func (s *stage) start() {
	errors := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	worker := chime.NewWorker(s.Store(), chime.WorkerOptions{Logger: errors, Concurrency: 20, SessionTTL: 10 * time.Minute})
	options := s.owner
	options.Logger = errors
	scheduler := chime.NewScheduler(s.Store(), options)
	for _, d := range s.declared {
		worker.Handle(d.name, s.handler(d.name), chime.Timeout(4*time.Hour))
		s.check(scheduler.Schedule(d.name, d.rule, d.options...))
	}
	if len(s.declared) == 0 {
		worker.Handle("report", s.handler("report"))
	}
	s.programs = append(s.programs, s.Start(worker, scheduler))
}

func (s *stage) handler(name string) chime.Handler {
	if work := s.work[name]; work != nil {
		return work
	}
	return func(context.Context, *chime.Job) error { return nil }
}

// stop stops all processes.
func (s *stage) stop() {
	for _, stop := range s.programs {
		stop()
	}
	s.programs = nil
}

// until lets time pass until a clock in Berlin shows an instant of the year 2000.
func (s *stage) until(month time.Month, day, hour, minute int) {
	s.t.Helper()
	at := time.Date(2000, month, day, hour, minute, 0, 0, s.berlin)
	for _, run := range s.Advance(max(time.Until(at), 0)) {
		s.see(run)
	}
}

// note records what happens to the program now.
func (s *stage) note(format string, args ...any) {
	s.seen = append(s.seen, event{at: time.Now(), what: fmt.Sprintf(format, args...)})
}

// see records a run. A later event for the same run replaces the earlier one.
func (s *stage) see(run *chime.RunInfo) {
	e := event{at: run.Started, who: cmp.Or(run.Schedule, run.Name), what: s.describe(run)}
	if e.at.IsZero() || run.Attempt == 0 {
		e.at = run.Ended
	}
	which := attempt{run.ID, run.Attempt}
	if i, ok := s.runs[which]; ok {
		s.seen[i] = e
		return
	}
	s.runs[which] = len(s.seen)
	s.seen = append(s.seen, e)
}

var words = map[chime.RunOutcome]string{
	chime.RunDone: "ran", chime.RunFailed: "failed", chime.RunSnoozed: "snoozed", chime.RunDead: "dead", chime.RunSkipped: "skipped: the last one still runs",
	chime.RunMissed: "missed", chime.RunSuperseded: "ended by the next one", chime.RunCrashed: "its worker vanished",
	chime.RunCancelled: "cancelled", chime.RunExpired: "expired: it had not begun in time",
}

// describe describes the result of an attempt.
func (s *stage) describe(run *chime.RunInfo) string {
	what, began := words[run.Outcome], run.Started
	if run.Attempt == 0 {
		began = run.Ended
	} else if took := run.Ended.Sub(run.Started).Round(time.Minute); took > 0 {
		what += fmt.Sprintf(", %d min", int(took.Minutes()))
	}
	if run.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", run.Attempt)
	}
	if run.Manual {
		what += ", manual"
	} else if began.Sub(run.Planned) > 30*time.Second {
		what += ", planned for " + s.clock(run.Planned)
	}
	if run.Error != "" && run.Outcome != chime.RunSuperseded {
		what += ": " + run.Error
	}
	return what
}

func (s *stage) clock(at time.Time) string { return at.In(s.berlin).Format("15:04") }

// history adds the events that are only in the schedules' histories: skipped runs, and runs that the next one has ended.
func (s *stage) history() {
	for schedule, err := range s.schedules.List(s.t.Context(), chime.ScheduleFilter{}) {
		s.check(err)
		for run, err := range s.schedules.Runs(s.t.Context(), schedule.Name) {
			s.check(err)
			if run.Attempt == 0 || run.Outcome == chime.RunSuperseded {
				s.see(run)
			}
		}
	}
}

// print prints the timeline, and the store's counts of schedules with missing runs.
func (s *stage) print() {
	s.history()
	slices.SortStableFunc(s.seen, func(a, b event) int {
		return cmp.Or(a.at.Round(time.Minute).Compare(b.at.Round(time.Minute)), cmp.Compare(a.who, b.who))
	})
	shown := map[string]int{}
	for _, e := range s.seen {
		shown[e.who]++
	}
	const most = 24
	printed := map[string]int{}
	for _, e := range s.seen {
		if printed[e.who]++; e.who != "" && shown[e.who] > most && printed[e.who] > 3 {
			if printed[e.who] == 4 {
				fmt.Fprintf(s.out, "  %-21s %-16s … and %d more\n", "", e.who, shown[e.who]-3)
			}
			continue
		}
		fmt.Fprintf(s.out, "  %-21s %-16s %s\n", e.at.In(s.berlin).Round(time.Minute).Format("Mon _2 Jan 15:04 MST"), cmp.Or(e.who, "--"), e.what)
	}
	for schedule, err := range s.schedules.List(s.t.Context(), chime.ScheduleFilter{}) {
		s.check(err)
		if n := schedule.Counters; n.Missed+n.Skipped > 0 {
			fmt.Fprintf(s.out, "  count %-16s %d ran, %d missed, %d skipped\n", schedule.Name, n.Done, n.Missed, n.Skipped)
		}
	}
	fmt.Fprintln(s.out)
}
