package chime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// Runs iterates over the last ended attempts of a schedule, as many as the option KeepRuns sets, the newest first. They include occurrences that
// ended without an attempt: missed, skipped, superseded or cancelled; so they show why a schedule did not run. Their Attempt is 0. It is also 0 for
// an occurrence that became dead because no worker could run it. Manual runs ([Schedules.Trigger]) are included too; their Planned is when they
// were accepted, to the second. Jobs that [OnDone] and [OnDeath] added for jobs of the schedule are included with their own ID and name. A schedule that was
// moved to another queue keeps its history; a deleted one loses it.
//
// All are read in one call, as one text of a few kilobytes: about 60 bytes for each attempt, with the longest errors and notes at most 350 kB for
// 1000 attempts. So a loop that stops early saves nothing.
//
// After an error, which comes with a nil RunInfo, the list ends. ErrNotFound: no schedule has that name.
func (s *Schedules) Runs(ctx context.Context, name string) iter.Seq2[*RunInfo, error] {
	return func(yield func(*RunInfo, error) bool) {
		found, runs, err := s.runs(ctx, name)
		if err != nil {
			yield(nil, fmt.Errorf("chime: list the runs of schedule %.200q: %w", name, err))
			return
		}
		job := schedule.JobNameOf(found.Definition)
		for _, run := range runs {
			info := &RunInfo{
				ID: run.ID, Name: cmp.Or(run.Name, job), Queue: found.Partition.Queue, Schedule: name,
				Planned: run.Planned, Started: run.Started, Ended: run.Ended, Outcome: RunOutcome(run.Outcome),
				Attempt: run.Attempt, Fence: run.Fence, Error: protocol.ShownText(run.Error), Note: protocol.ShownText(run.Note), Worker: run.Worker, Manual: run.Manual, Backfilled: run.Backfilled,
			}
			if info.ID == "" {
				info.ID = schedule.OccurrenceID(name, run.Planned)
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// runs reads the whole history: at most 1000 attempts, and 64 KiB of notes. It is one field, which the server cannot read in parts: each page
// would read it all. That takes 0.1 ms with 20 attempts, and 1.2 ms with 1000 of 330 bytes.
func (s *Schedules) runs(ctx context.Context, name string) (protocol.Stored, []protocol.RunRecord, error) {
	if err := s.check(ctx, name); err != nil {
		return protocol.Stored{}, nil, err
	}
	found, err := s.store.Runs(ctx, []string{name})
	switch {
	case err != nil:
		return protocol.Stored{}, nil, err
	case found[0].Name == "":
		return protocol.Stored{}, nil, ErrNotFound
	}
	return found[0].Stored, found[0].Runs, nil
}

// lastRun returns the results of a schedule's last runs for display.
func lastRun(last protocol.LastRun) LastRun {
	return LastRun{
		Outcome: RunOutcome(last.Outcome), Planned: last.Planned, Ended: last.Ended, Failures: last.Failures, Unfinished: last.Unfinished,
	}
}

// A RunOutcome is the result of an attempt of a job, in one word.
type RunOutcome string

// The results of attempts.
const (
	RunDone       RunOutcome = "done"       // the handler returned nil
	RunFailed     RunOutcome = "failed"     // the handler failed, and another attempt follows
	RunSnoozed    RunOutcome = "snoozed"    // the handler returned Snooze
	RunDead       RunOutcome = "dead"       // the job became dead
	RunCrashed    RunOutcome = "crashed"    // its worker vanished, and another attempt follows
	RunCancelled  RunOutcome = "cancelled"  // somebody cancelled the job
	RunSuperseded RunOutcome = "superseded" // the next occurrence came, with OverlapCancel
	RunExpired    RunOutcome = "expired"    // the job had not begun when its time was over, see Expire
	RunMissed     RunOutcome = "missed"     // the occurrence was passed over by the misfire policy
	RunSkipped    RunOutcome = "skipped"    // the occurrence was dropped, because another one was running
)

// LastRun describes the last runs of a schedule, including manual runs. Jobs that [OnDone] and [OnDeath] added for its jobs count only as unfinished. The
// zero value: no run is known.
type LastRun struct {
	Outcome    RunOutcome `json:"outcome,omitempty"`    // the outcome of the attempt that ended last
	Planned    time.Time  `json:"planned,omitzero"`     // the planned instant of its occurrence; for a manual run the second in which it was accepted
	Ended      time.Time  `json:"ended,omitzero"`       // when it ended, by the store's clock
	Failures   int        `json:"failures,omitempty"`   // consecutive failed attempts up to this one (PauseAfter counts occurrences); 0: it did not fail
	Unfinished int        `json:"unfinished,omitempty"` // jobs of the schedule that were accepted and have not ended
}

// failing reports whether the last attempt failed or was the job's last.
func (r LastRun) failing() bool { return r.Outcome == RunFailed || r.Outcome == RunDead }

// A RunInfo is an attempt of a job that has ended, or an occurrence that ended without one.
type RunInfo struct {
	ID       string     `json:"id"`                 // the ID of the job; for an occurrence "<schedule>@<planned instant>"
	Name     string     `json:"name"`               // the job name
	Queue    string     `json:"queue"`              // the queue of its schedule now; before a move the attempt ran in another one
	Schedule string     `json:"schedule,omitempty"` // the schedule that created the job; empty: it was enqueued
	Planned  time.Time  `json:"planned,omitzero"`   // when the job was planned to run first; see [Job]
	Started  time.Time  `json:"started,omitzero"`   // when the attempt began, by the store's clock
	Ended    time.Time  `json:"ended,omitzero"`     // when it ended, by the store's clock
	Outcome  RunOutcome `json:"outcome"`            // how it ended
	Attempt  int        `json:"attempt,omitempty"`  // 1, 2, …: failures of the job until then plus one
	Fence    int64      `json:"fence,omitempty"`    // its fence; see [Job]
	Error    string     `json:"error,omitempty"`    // the error; empty: it did not fail
	Note     string     `json:"note,omitempty"`     // its handler's note
	Worker   string     `json:"worker,omitempty"`   // the worker that ran it, a [WorkerInfo]'s name
	Manual   bool       `json:"manual,omitempty"`   // somebody triggered the schedule; it is not an occurrence

	// Backfilled: its occurrence was placed by Schedules.Backfill.
	Backfilled bool `json:"backfilled,omitempty"`
}

// String describes which attempt of which job it was, and how it ended.
func (r RunInfo) String() string {
	text := fmt.Sprintf("job %q (ID %q, queue %s, attempt %d) %s at %s", r.Name, r.ID, r.Queue, r.Attempt, r.Outcome, r.Ended.UTC().Format(time.RFC3339Nano))
	if r.Error != "" {
		text += ": " + r.Error
	}
	return text
}

// MarshalJSON encodes the attempt with its instants in UTC.
func (r RunInfo) MarshalJSON() ([]byte, error) {
	type fields RunInfo // without methods
	r.Planned, r.Started, r.Ended = r.Planned.UTC(), r.Started.UTC(), r.Ended.UTC()
	return json.Marshal(fields(r))
}

// A RunDay counts the results of a schedule's occurrences that were planned for one day, whenever they ended. Manual runs are not counted.
type RunDay struct {
	Day     time.Time `json:"day"`               // its beginning, 00:00 UTC
	Done    int       `json:"done,omitempty"`    // occurrences that ended well
	Failed  int       `json:"failed,omitempty"`  // attempts that failed, including last attempts
	Skipped int       `json:"skipped,omitempty"` // occurrences dropped because another one was running
	Missed  int       `json:"missed,omitempty"`  // occurrences passed over by the misfire policy when they were taken
}

// MarshalJSON encodes the day in UTC.
func (d RunDay) MarshalJSON() ([]byte, error) {
	type fields RunDay // without methods
	d.Day = d.Day.UTC()
	return json.Marshal(fields(d))
}

// Days returns counts for the last days of a schedule, at most 35, the oldest first. It returns every day from the first known one to the last one
// for which an occurrence ended; nothing is known of earlier and later days. The days are stored with the schedule's history: with KeepRuns(0)
// there are no days. Neither a change of the rule nor the number of runs that [Schedules.Runs] returns limits them. Instants that were missed while
// no worker ran, and for which no occurrence was placed, are counted only in [ScheduleCounters]. ErrNotFound: no schedule has that name.
func (s *Schedules) Days(ctx context.Context, name string) ([]RunDay, error) {
	if err := s.check(ctx, name); err != nil {
		return nil, fmt.Errorf("chime: list the days of schedule %.200q: %w", name, err)
	}
	found, records, err := s.store.Days(ctx, name)
	if err == nil && found.Name == "" {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("chime: list the days of schedule %q: %w", name, err)
	}
	days := make([]RunDay, len(records))
	for i, r := range records {
		days[i] = RunDay{Day: r.Day, Done: r.Done, Failed: r.Failed, Skipped: r.Skipped, Missed: r.Missed}
	}
	return days, nil
}
