package chime

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/recurrence"
)

// A Schedule is a named recurrence and the job that it creates, as it is stored.
//
// Its jobs' payload is left out wherever a Schedule is printed, logged or encoded as JSON: only the size is shown.
type Schedule struct {
	Name       string                `json:"name"`             // 1 to 200 bytes; see [Scheduler.Schedule]
	JobName    string                `json:"job_name"`         // the name of its jobs
	Queue      string                `json:"queue"`            // the queue of its jobs
	Group      string                `json:"group,omitempty"`  // the group of its jobs, see [Group]; empty: none
	Recurrence recurrence.Recurrence `json:"recurrence"`       // when it creates them
	Payload    []byte                `json:"-"`                // the encoded arguments of its jobs; see Decode. In JSON: payload_bytes
	Sealed     string                `json:"sealed,omitempty"` // the name of the key that has sealed the arguments, if this program cannot open them; "?": unknown

	Created  time.Time     `json:"created"`  // when the name was first used, by the store's clock, in milliseconds
	Revision int64         `json:"revision"` // grows with every change
	State    ScheduleState `json:"state"`    // live, paused or completed

	Meta    json.RawMessage `json:"meta,omitempty"`    // see the option Meta
	Note    Note            `json:"note,omitzero"`     // why it is paused, and who paused it; zero: no note was given, or it is not paused
	Owner   string          `json:"owner,omitempty"`   // SchedulerOptions.Owner of the scheduler that declared it; empty: none
	Version int64           `json:"version,omitempty"` // SchedulerOptions.Version of that scheduler

	Overlap        OverlapPolicy `json:"overlap"`                // see the option Overlap
	Misfire        MisfirePolicy `json:"misfire"`                // see the option Misfire
	Grace          time.Duration `json:"-"`                      // see the option Grace. In JSON: grace_ms
	Spread         time.Duration `json:"-"`                      // see the option Spread. In JSON: spread_ms
	Offset         time.Duration `json:"-"`                      // the part of Spread: each occurrence is due this long after its planned instant. In JSON: offset_ms
	NoImmediateRun bool          `json:"no_immediate_run"`       // NoImmediateRun of Recurrence
	MaxAttempts    int           `json:"max_attempts,omitempty"` // 0: the default of the handler or the worker, or 5
	Timeout        time.Duration `json:"-"`                      // 0: the default of the handler or the worker, or 30 minutes. In JSON: timeout_ms

	Header  map[string]string `json:"header,omitempty"`   // data of each of its jobs, see the option [Header]; nil: none
	Keep    time.Duration     `json:"-"`                  // see the option Keep; 0: nothing is kept. In JSON: keep_ms
	Retry   RetryPolicy       `json:"retry,omitzero"`     // zero: the default of the handler or the worker
	OnDone  string            `json:"on_done,omitempty"`  // the name of the job that is added when one of its jobs is done, see OnDoneJob; empty: none
	OnDeath string            `json:"on_death,omitempty"` // the name of the job that is added when one of its jobs becomes dead, see OnDeathJob; empty: none

	// DatesUntil is the last day, at 00:00 UTC, that the recurrence's calendar lists with a year: see [recurrence.Recurrence.DatesEnd]. If it is
	// less than a year ahead, store a longer list. Zero: the calendar lists no such day.
	DatesUntil time.Time `json:"dates_until,omitzero"`

	KeepRuns      int `json:"keep_runs"`                // see the option KeepRuns
	PauseAfter    int `json:"pause_after,omitempty"`    // see the option PauseAfter
	MaxUnfinished int `json:"max_unfinished,omitempty"` // see the option MaxUnfinished

	// Next is the planned instant of the occurrence that was placed last, if it has not been taken yet. If that occurrence was cancelled, Next is
	// the one after it. It is due Offset later. It is zero for a moment after an occurrence was taken, and while the schedule is paused or
	// completed.
	Next     time.Time        `json:"next,omitzero"`
	Owed     time.Time        `json:"owed,omitzero"` // since when its next occurrence has to be placed (is owed); zero: none is owed
	Last     LastRun          `json:"last,omitzero"` // the results of its last runs
	Used     int              `json:"used"`          // runs of the recurrence's Count that are used up
	Counters ScheduleCounters `json:"counters"`      // counts since the schedule was created

	onDone  []byte // the body of the job for OnDone
	onDeath []byte // the body of the job for OnDeath
}

// ScheduleCounters count a schedule's occurrences since it was created. Occurrences from [Schedules.Backfill] are counted only in Superseded,
// Cancelled, Done, Failed, Dead, and with MaxUnfinished in Skipped and Full.
type ScheduleCounters struct {
	Placed     int64 `json:"placed"`         // placed, without those that were withdrawn
	Started    int64 `json:"started"`        // started for the first time
	Skipped    int64 `json:"skipped"`        // dropped because another one was running, or because of MaxUnfinished
	Full       int64 `json:"full,omitempty"` // of Skipped: dropped because of MaxUnfinished
	Missed     int64 `json:"missed"`         // passed over by the misfire policy
	CaughtUp   int64 `json:"caught_up"`      // run late by MisfireCatchUp
	Superseded int64 `json:"superseded"`     // ended while they waited for a retry, because the next one came
	Cancelled  int64 `json:"cancelled"`      // ended by Jobs.Cancel
	Done       int64 `json:"done"`           // ended well
	Failed     int64 `json:"failed"`         // attempts that failed
	Dead       int64 `json:"dead"`           // jobs that became dead
}

// Decode reads the arguments of the schedule's jobs into v, a pointer, as [Job.Decode] does in a handler.
func (s *Schedule) Decode(v any) error { return decodeOpened(s.Sealed, s.Payload, v) }

// Options returns the options that create the schedule as it was read, in a new slice. With them and its Recurrence, Put changes nothing; with
// another rule, it changes only the rule. Options that you append override them. With [IfRevision] and the schedule's Revision, Put
// changes the schedule only if it is as you have read it. A Header that you append is added to those of the schedule.
func (s *Schedule) Options() []PutOption {
	options := []PutOption{JobName(s.JobName), Queue(s.Queue), Overlap(s.Overlap), Misfire(s.Misfire), Grace(s.Grace), KeepRuns(s.KeepRuns)}
	add := func(said bool, option PutOption) {
		if said {
			options = append(options, option)
		}
	}
	add(len(s.Payload) > 0, Args(s.Payload))
	add(s.Group != "", Group(s.Group))
	add(s.NoImmediateRun, NoImmediateRun())
	add(s.Spread != 0, Spread(s.Spread))
	add(s.PauseAfter != 0, PauseAfter(s.PauseAfter))
	add(s.MaxUnfinished != 0, MaxUnfinished(s.MaxUnfinished))
	add(s.Meta != nil, Meta(s.Meta))
	add(s.MaxAttempts != 0, MaxAttempts(s.MaxAttempts))
	add(s.Timeout != 0, Timeout(s.Timeout))
	add(s.Retry != RetryPolicy{}, Retry(s.Retry))
	add(s.Keep != 0, Keep(s.Keep))
	for key, value := range s.Header {
		options = append(options, Header(key, value))
	}
	// the body as it is stored: this program may not be able to read it
	add(s.onDone != nil, jobOption(func(job *jobSettings) { job.onDone = s.onDone }))
	add(s.onDeath != nil, jobOption(func(job *jobSettings) { job.onDeath = s.onDeath }))
	return options
}

// LogValue is what a slog.Logger prints of the schedule: its identity, when it runs, and the size of its payload.
func (s Schedule) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("schedule", s.Name), slog.String("job", s.JobName), slog.String("queue", s.Queue), slog.String("state", string(s.State)),
		slog.Int64("revision", s.Revision), slog.Time("next", s.Next), slog.Int("payload_bytes", len(s.Payload)),
	)
}

// String describes in English when the schedule creates its jobs: the text of its recurrence, and ", and once when created" if it has a run at
// creation, or " (and once when created, unless closed)" if a calendar may prevent that run.
func (s Schedule) String() string {
	spec := schedule.Spec{Recurrence: s.Recurrence}
	spec.Recurrence.NoImmediateRun = s.NoImmediateRun || s.Recurrence.NoImmediateRun
	return spec.Text()
}

// Format prints what String returns, for every verb.
func (s Schedule) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), s.String())
}

// MarshalJSON encodes the schedule for display: durations in milliseconds, the size of its payload instead of the payload.
func (s Schedule) MarshalJSON() ([]byte, error) {
	type fields Schedule // without methods
	s.Created, s.Next, s.Owed = s.Created.UTC(), s.Next.UTC(), s.Owed.UTC()
	s.Last.Planned, s.Last.Ended = s.Last.Planned.UTC(), s.Last.Ended.UTC()
	return json.Marshal(struct {
		fields
		GraceMS      int64 `json:"grace_ms"`
		SpreadMS     int64 `json:"spread_ms,omitempty"`
		OffsetMS     int64 `json:"offset_ms,omitempty"`
		TimeoutMS    int64 `json:"timeout_ms,omitempty"`
		KeepMS       int64 `json:"keep_ms,omitempty"`
		PayloadBytes int   `json:"payload_bytes"`
	}{fields(s), s.Grace.Milliseconds(), s.Spread.Milliseconds(), s.Offset.Milliseconds(), s.Timeout.Milliseconds(), s.Keep.Milliseconds(), len(s.Payload)})
}

// A Note records why something is paused, who paused it, and until when. It is an option of [Schedules.Pause] and of [Paused]. It is shown until the pause
// ends.
type Note struct {
	Text string    `json:"text,omitempty"` // the text, at most 500 bytes of UTF-8
	By   string    `json:"by,omitempty"`   // who paused it, at most 100 bytes of UTF-8
	At   time.Time `json:"at,omitzero"`    // when, by the store's clock, in milliseconds; in an option it is ignored

	// Until is when the pause ends by itself, in milliseconds: what was paused then continues as after Resume. Zero: it lasts until it is resumed. A running
	// scheduler ends it within a second, or within ten seconds if it was set less than ten seconds before; where no scheduler runs, a worker does so within
	// about half a minute. Versions of chime that do not know Until do not end pauses.
	Until time.Time `json:"until,omitzero"`
}

const (
	maxNoteText = 500
	maxNoteBy   = 100
)

// validate returns the problem of a note that is to be stored.
func (n Note) validate() error {
	for _, part := range []struct {
		field, text string
		max         int
	}{{"Note.Text", n.Text, maxNoteText}, {"Note.By", n.By, maxNoteBy}} {
		bad := protocol.Invalid(part.field, part.text, fmt.Sprintf("at most %d bytes of UTF-8", part.max))
		switch {
		case len(part.text) > part.max:
			return protocol.Because(bad, fmt.Sprintf("has %d bytes", len(part.text)))
		case !utf8.ValidString(part.text):
			return protocol.Because(bad, "is no UTF-8")
		}
	}
	if !n.Until.IsZero() && (n.Until.Year() < 2000 || n.Until.Year() > 2199) {
		return protocol.Invalid("Note.Until", n.Until.Format(time.RFC3339), "an instant from 2000 to 2199")
	}
	return nil
}

func (n Note) stored() *protocol.Note { return &protocol.Note{Text: n.Text, By: n.By, Until: n.Until} }

// utc returns the note with its instants in UTC.
func (n Note) utc() Note {
	n.At, n.Until = n.At.UTC(), n.Until.UTC()
	return n
}

func (n Note) change(s *changeSettings) {
	s.note, s.has["Note"] = n.stored(), true
	if err := n.validate(); err != nil {
		s.refuse(err)
	}
}

// An OverlapPolicy sets what happens if an occurrence is taken while the last one of its schedule still runs. The store decides that in
// the step that takes the new one. An occurrence that waits for a retry is not running.
type OverlapPolicy string

const (
	OverlapSkip   OverlapPolicy = "skip"   // default: the new one is dropped and counted; one that waits for a retry prevents nothing
	OverlapWait   OverlapPolicy = "wait"   // the new one runs when the last one has ended; at most one waits, others are dropped
	OverlapCancel OverlapPolicy = "cancel" // as wait, and the ctx of the running one ends with ErrReplaced; its retries end too
	OverlapAllow  OverlapPolicy = "allow"  // both run
)

// A MisfirePolicy sets what happens to an occurrence that is taken later than the grace after its instant, and to the instants that were
// missed since.
type MisfirePolicy string

const (
	MisfireRunOnce MisfirePolicy = "run_once" // default: it runs; the missed instants are counted
	MisfireSkip    MisfirePolicy = "skip"     // it does not run; it and the missed instants are counted
	MisfireCatchUp MisfirePolicy = "catch_up" // those of the last 24 hours run, at most the newest 100, oldest first, one after the other; the others are counted
)

// A ScheduleState shows whether a schedule creates jobs.
type ScheduleState string

const (
	StateLive      ScheduleState = "live"      // its next occurrence is placed, or will be in a moment
	StatePaused    ScheduleState = "paused"    // nothing is placed until it is resumed
	StateCompleted ScheduleState = "completed" // its count is used up or its end has passed
)
