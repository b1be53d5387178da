package chime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// A JobState is the state of a job. A job that is done or was cancelled has no state any more, unless its result is kept.
type JobState string

const (
	JobWaiting  JobState = "waiting"  // it runs as soon as a worker is free; an occurrence may also wait for an earlier one to end
	JobDelayed  JobState = "delayed"  // it is due later and has not begun yet: enqueued with In or At, placed by a schedule, or snoozed
	JobRetrying JobState = "retrying" // it is due later, because an attempt has failed or a worker that ran it has vanished
	JobRunning  JobState = "running"  // a worker runs it
	JobTaken    JobState = "taken"    // a worker has taken it ahead and has not begun it: for at most about 20 ms
	JobParked   JobState = "parked"   // it waits for a worker that has a handler for it, or can read it
	JobDead     JobState = "dead"     // it has failed for good, and is kept
	JobDone     JobState = "done"     // it has ended, and its result is kept
)

// A JobInfo is a job as it is stored, in any state.
//
// Its payload and progress are left out wherever a JobInfo is printed, logged or encoded as JSON: only their sizes are shown.
type JobInfo struct {
	ID       string   `json:"id"`                 // unique within its queue; for an occurrence it is "<schedule>@<planned instant>"
	Name     string   `json:"name"`               // the job name; "?": it cannot be read
	Queue    string   `json:"queue"`              // the queue it is on
	State    JobState `json:"state"`              // its state
	Schedule string   `json:"schedule,omitempty"` // the schedule that created it, also for a manual run; empty: it was enqueued
	Group    string   `json:"group,omitempty"`    // the group that it belongs to, see [Group]; empty: none. A done job has none
	Batch    string   `json:"batch,omitempty"`    // the batch of which it is a member, see [Batch]; empty: none. A done job has none

	Enqueued time.Time `json:"enqueued,omitzero"` // about when the job was enqueued, by the enqueuer's clock; zero: a schedule created the job
	Planned  time.Time `json:"planned,omitzero"`  // when it was planned to run first; see [Job]
	Due      time.Time `json:"due,omitzero"`      // delayed and retrying: when it may be taken
	Expires  time.Time `json:"expires,omitzero"`  // if it has not begun by then, it ends; see [Expire]; zero: it does not expire, or has begun
	Started  time.Time `json:"started,omitzero"`  // running and taken: about when it was taken; done: when its last attempt began
	Ended    time.Time `json:"ended,omitzero"`    // dead: when it became dead; done: when it ended

	Attempt     int           `json:"attempt"`                // the number of the attempt that runs, or runs next; for a dead job the last one
	MaxAttempts int           `json:"max_attempts,omitempty"` // 0: the default of the handler or the worker
	Crashes     int           `json:"crashes"`                // how many workers have vanished while they ran the job
	Fence       int64         `json:"fence,omitempty"`        // running and taken; see [Job]
	Timeout     time.Duration `json:"-"`                      // the timeout of an attempt; 0: the default of the handler or the worker. In JSON: timeout_ms

	Header  map[string]string `json:"header,omitempty"`   // data that travels with the job, see [Header]; nil: none
	Keep    time.Duration     `json:"-"`                  // how long its result is kept, see [Keep]; 0: not at all. In JSON: keep_ms
	Retry   RetryPolicy       `json:"retry,omitzero"`     // zero: the default of the handler or the worker
	OnDone  string            `json:"on_done,omitempty"`  // the name of the job that is added when it is done; empty: none
	OnDeath string            `json:"on_death,omitempty"` // the name of the job that is added when it becomes dead; empty: none
	// Followers is how many jobs its OnDone and its OnDeath describe, with those that follow them; 0: none.
	Followers int `json:"followers,omitempty"`

	// The job or the batch whose end has added this one, see [OnDone], [OnDeath] and [Batch]. It may no longer be stored. A done job has none of these fields.
	FollowsID    string `json:"follows_id,omitempty"`    // the ID of that job; empty: this one follows no job
	FollowsQueue string `json:"follows_queue,omitempty"` // its queue
	FollowsBatch string `json:"follows_batch,omitempty"` // the batch, of which this is the Done or the Ended; empty: none

	Failures  []Failure `json:"failures,omitempty"`   // the last five attempts that failed, oldest first
	LastError string    `json:"last_error,omitempty"` // the error of the last one, at most 1 KiB; it may have several lines
	Stack     string    `json:"stack,omitempty"`      // the last one panicked: its stack, at most 4 KiB, cut at its end; empty: it did not panic
	Worker    string    `json:"worker,omitempty"`     // running and taken: the worker that holds it, a [WorkerInfo]'s name; empty: unknown
	Cancelled bool      `json:"cancelled,omitempty"`  // the worker was asked to stop the job

	// Vanished is the last sign of life of the worker that holds the job, if its session has lapsed since: the job does not run any more, and runs
	// again as soon as a role of any program returns it. Only running and taken jobs have it; zero: the worker lives.
	Vanished time.Time `json:"vanished,omitzero"`

	Outcome   RunOutcome `json:"outcome,omitempty"`   // done: how it ended, as done, cancelled, superseded or expired
	Note      string     `json:"note,omitempty"`      // done: the handler's note, see [Job.Note]
	KeptUntil time.Time  `json:"kept_until,omitzero"` // done: until when its result is kept

	// Sealed is the name of the key that has sealed the job's data, if this program cannot open them: then Payload, Progress and Result are nil, and the
	// texts of errors and the note say so. "?": the name is not known. Empty: nothing is sealed, or it was opened. See [WithCodec].
	Sealed string `json:"sealed,omitempty"`

	// Err is the reason why this program cannot read the job. Then only ID, Queue, State and the store's own data are set. In JSON: error.
	Err error `json:"-"`

	Progress []byte `json:"-"` // running: the handler's last report; see [Decode]. In JSON: progress_bytes
	Result   []byte `json:"-"` // done: the handler's result; see [Decode]. In JSON: result_bytes
	Payload  []byte `json:"-"` // the encoded arguments; see Decode. In JSON: payload_bytes
}

// newJobInfo decodes a stored job.
func newJobInfo(queue string, found *protocol.FoundJob) *JobInfo {
	name, planned, _ := schedule.SplitOccurrence(found.ID)
	info := &JobInfo{
		ID: found.ID, Name: wire.NoName, Queue: queue, State: JobState(found.State), Schedule: name, Planned: planned,
		Crashes: found.Crashes, Fence: found.Fence, Started: found.TakenAt, Worker: found.Worker, Cancelled: found.Cancelled, Vanished: found.Vanished,
	}
	switch info.State {
	case JobDelayed:
		info.Due = found.At
		if found.Crashes > 0 {
			info.State = JobRetrying
		}
	case JobDead:
		info.Ended = found.At
	case JobDone:
		info.fillResult(found)
		return info
	}
	info.Progress = found.Progress
	if sealed, ok := wire.CutSealedProgress(found.Progress); ok {
		info.Progress = nil
		info.seal(found, sealed)
	}
	message, err := messageOf(found, name, planned)
	if err != nil {
		if message.Name != "" {
			info.Name = message.Name
		}
		info.Err = fmt.Errorf("chime: job %q of queue %q: %w", found.ID, queue, err)
		return info
	}
	info.fill(&message)
	if message.Sealed != nil {
		info.seal(found, message.Sealed)
		info.hideErrors(message.Failures > 0 || message.Details != nil && message.Details.Sealed != nil)
	}
	return info
}

// messageOf decodes a job from its body, or from the definition of the schedule of which it is an occurrence.
func messageOf(found *protocol.FoundJob, name string, planned time.Time) (wire.Envelope, error) {
	switch {
	case len(found.Body) > 0:
		return wire.DecodeEnvelope(found.Readable())
	case len(found.Definition) > 0:
		d, err := schedule.Read(found.Definition)
		if err != nil {
			return wire.Envelope{Name: schedule.JobNameOf(found.Definition)}, err
		}
		plan := schedule.Plan{Definition: *d}
		message := plan.Job(name, planned)
		message.Sealed = d.Sealed
		if JobState(found.State) == JobDead {
			message.LastError = schedule.NoWorker // it has not run: a failed attempt leaves a body
		}
		return message, nil
	case name != "":
		return wire.Envelope{}, errors.New("its schedule is gone")
	}
	return wire.Envelope{}, errors.New("its body is gone from the store")
}

// fill sets the fields that an envelope has.
func (j *JobInfo) fill(message *wire.Envelope) {
	j.Name, j.Planned, j.Payload = message.Name, message.Planned, message.Payload
	j.MaxAttempts, j.Timeout, j.LastError, j.Stack = message.MaxAttempts, message.Timeout, message.LastError, message.Stack
	j.Attempt = message.Failures + 1
	if j.Crashes == 0 && j.State != JobRunning && j.State != JobDead {
		j.Expires = message.Expires
	}
	if j.State == JobDead {
		j.Attempt = max(message.Failures, 1)
	}
	if j.State == JobDelayed && message.Failures > 0 {
		j.State = JobRetrying
	}
	if j.Schedule = cmp.Or(message.Schedule, j.Schedule); j.Schedule == "" {
		j.Enqueued = message.Planned
	}
	details := message.Details
	if details == nil {
		return
	}
	j.Header, j.Keep, j.Retry = details.Header, details.Keep, RetryPolicy{details.Retry}
	j.fillFollowers(details)
	j.fillFollowed(details)
	j.Group, j.Batch = details.Group, details.Batch
	if !details.Enqueued.IsZero() {
		j.Enqueued = details.Enqueued
	}
	for _, f := range details.Failures {
		j.Failures = append(j.Failures, Failure{At: f.At, Worker: f.Worker, Error: f.Error})
	}
}

// fillResult sets the fields that are kept of a job that has ended.
func (j *JobInfo) fillResult(found *protocol.FoundJob) {
	switch found.Ended {
	case protocol.ResultDone:
		j.Outcome = RunDone
	case protocol.ResultCancelled:
		j.Outcome = RunCancelled
	case protocol.ResultSuperseded:
		j.Outcome = RunSuperseded
	case protocol.ResultExpired:
		j.Outcome = RunExpired
	}
	r, err := wire.DecodeResult(found.Result)
	if err != nil {
		j.Err = fmt.Errorf("chime: job %q of queue %q: %w", j.ID, j.Queue, err)
		return
	}
	j.Name, j.Planned, j.Started, j.Ended, j.Attempt = r.Name, r.Planned, r.Started, r.Ended, r.Attempt
	j.Worker, j.Note, j.LastError, j.Result = r.Worker, r.Note, r.Error, r.Value
	j.Schedule = cmp.Or(r.Schedule, j.Schedule)
	if r.Sealed != nil {
		j.seal(found, r.Sealed)
		j.Note = (&protocol.SealedError{Key: keyName(j.Sealed)}).Text()
	}
	j.KeptUntil, j.Keep = found.At, r.Keep
	if j.Ended.IsZero() {
		j.Ended = found.At.Add(-r.Keep)
	}
}

// Decode reads the arguments into v, a pointer, as [Job.Decode] does in a handler.
func (j *JobInfo) Decode(v any) error { return decodeOpened(j.Sealed, j.Payload, v) }

// LogValue is what a slog.Logger prints of the job: its identity, its state, and the size of its payload.
func (j JobInfo) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("id", j.ID), slog.String("name", j.Name), slog.String("queue", j.Queue), slog.String("state", string(j.State)),
		slog.Int("attempt", j.Attempt), slog.Int("payload_bytes", len(j.Payload)),
	}
	if j.Schedule != "" {
		attrs = append(attrs, slog.String("schedule", j.Schedule), slog.Time("planned", j.Planned))
	}
	return slog.GroupValue(attrs...)
}

// String identifies the job, without its payload.
func (j JobInfo) String() string {
	return fmt.Sprintf("job %q (ID %q, queue %s, %s, attempt %d)", j.Name, j.ID, j.Queue, j.State, j.Attempt)
}

// Format prints what String returns, for every verb.
func (j JobInfo) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), j.String())
}

// MarshalJSON encodes the job for display: durations in milliseconds, sizes instead of payload and progress.
func (j JobInfo) MarshalJSON() ([]byte, error) {
	type fields JobInfo // without methods
	for _, at := range []*time.Time{&j.Enqueued, &j.Planned, &j.Due, &j.Expires, &j.Started, &j.Ended, &j.KeptUntil, &j.Vanished} {
		*at = at.UTC()
	}
	problem := ""
	if j.Err != nil {
		problem = j.Err.Error()
	}
	return json.Marshal(struct {
		fields
		TimeoutMS     int64  `json:"timeout_ms,omitempty"`
		KeepMS        int64  `json:"keep_ms,omitempty"`
		PayloadBytes  int    `json:"payload_bytes"`
		ProgressBytes int    `json:"progress_bytes,omitempty"`
		ResultBytes   int    `json:"result_bytes,omitempty"`
		Error         string `json:"error,omitempty"`
	}{fields(j), j.Timeout.Milliseconds(), j.Keep.Milliseconds(), len(j.Payload), len(j.Progress), len(j.Result), problem})
}

// A ReasonKind is the kind of a reason why a job does not run.
type ReasonKind string

// The kinds. If several apply, the reason is the first of them in this order.
const (
	ReasonVanished ReasonKind = "vanished" // its worker has vanished, and no role has returned the job yet
	ReasonPaused   ReasonKind = "paused"   // its queue is paused
	ReasonUnserved ReasonKind = "unserved" // no live worker serves its queue
	ReasonParked   ReasonKind = "parked"   // no live worker has a handler for it, or can read it
	ReasonBehind   ReasonKind = "behind"   // it is an occurrence, and an earlier one of its schedule has not ended
	ReasonLimited  ReasonKind = "limited"  // its queue has a limit, which may be reached
	ReasonGroup    ReasonKind = "group"    // its group may start no job at this moment
	ReasonInLine   ReasonKind = "in line"  // it waits for a free worker
)

// A Reason is why a job does not run at this moment. The zero value: it runs, it is not due yet and nothing will prevent it then, or it has ended.
type Reason struct {
	Kind  ReasonKind `json:"kind"`  // the kind of the reason; empty: none
	Queue string     `json:"queue"` // the job's queue

	Note   Note      `json:"note,omitzero"`    // paused: who paused the queue, and why
	Limit  Limit     `json:"limit,omitzero"`   // limited: the limit
	Behind string    `json:"behind,omitempty"` // behind: the ID of the occurrence that has not ended; empty: it is not known
	Since  time.Time `json:"since,omitzero"`   // vanished: the last sign of life of its worker
	Served bool      `json:"served"`           // a live worker serves the queue

	// Place is the job's place among the waiting jobs of its partition, from 1; for a job of a group, among those of its group. 0: it is not
	// known, or Beyond is true. Only limited jobs, those of groups and those in line have it.
	Place  int  `json:"place,omitempty"`
	Beyond bool `json:"beyond,omitempty"` // the place is beyond the first 10,000

	Group   string     `json:"group,omitempty"`   // group, limited and in line: the job's group; empty: it has none
	Blocked GroupBlock `json:"blocked,omitempty"` // group: why the group starts nothing
	Until   time.Time  `json:"until,omitzero"`    // group, if its starts are used: when its next job may start
	By      string     `json:"by,omitempty"`      // group, if it is ordered: the ID of the job that has not ended; empty: it is not known
}

// Blocked returns why no job of the queue begins: ReasonPaused, ReasonUnserved, or nothing. served: a live worker serves the queue.
func (q *QueueInfo) Blocked(served bool) ReasonKind {
	switch {
	case q.Paused:
		return ReasonPaused
	case !served:
		return ReasonUnserved
	}
	return ""
}

// Reasons returns for each of the jobs why it does not run now. The jobs are read before, with Get, List or Page. It reads the workers once, the
// queues of the jobs once, and the place of each job that waits, which takes the store up to 0.2 ms. It writes nothing.
func (j *Jobs) Reasons(ctx context.Context, jobs ...*JobInfo) ([]Reason, error) {
	if err := j.ready(ctx); err != nil {
		return nil, fmt.Errorf("chime: reasons of jobs: %w", err)
	}
	reasons, err := j.reasons(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("chime: reasons of jobs: %w", err)
	}
	return reasons, nil
}

func (j *Jobs) reasons(ctx context.Context, jobs []*JobInfo) ([]Reason, error) {
	reasons := make([]Reason, len(jobs))
	var served map[string]bool
	queues := map[string]*QueueInfo{}
	for i, job := range jobs {
		if job == nil || !mayNeedReason(job) {
			continue
		}
		if served == nil {
			var err error
			if served, err = servedQueues(ctx, j.store); err != nil {
				return nil, err
			}
		}
		queue, err := j.queueOf(ctx, job.Queue, queues)
		if err != nil {
			return nil, err
		}
		if queue == nil {
			continue // it was deleted meanwhile
		}
		var place protocol.JobPlace
		var group *protocol.ListedGroup
		if waits(job, queue.Now) && queue.Blocked(served[job.Queue]) == "" {
			if place, err = j.store.PlaceOf(ctx, job.Queue, job.ID); err != nil {
				return nil, err
			}
			if group, err = j.group(ctx, job.Queue, place.Group); err != nil {
				return nil, err
			}
		}
		reasons[i] = reasonOf(job, queue, served[job.Queue], place, group)
	}
	return reasons, nil
}

// group returns a group with jobs that wait; nil: it has none, or key is empty.
func (j *Jobs) group(ctx context.Context, queue, key string) (*protocol.ListedGroup, error) {
	if key == "" {
		return nil, nil
	}
	page, err := j.store.PageGroups(ctx, protocol.GroupPageCall{Queue: queue, Prefix: key, Waiting: true, Limit: 1})
	if err != nil || len(page.Groups) == 0 || page.Groups[0].Key != key {
		return nil, err // of the groups with this prefix, the group itself is the first one
	}
	return &page.Groups[0], nil
}

// queueOf returns a queue, which it reads once; nil: there is no such queue.
func (j *Jobs) queueOf(ctx context.Context, name string, known map[string]*QueueInfo) (*QueueInfo, error) {
	if queue, ok := known[name]; ok {
		return queue, nil
	}
	infos, err := (&Queues{store: j.store}).infos(ctx, []string{name})
	if err != nil || len(infos) == 0 {
		return nil, err
	}
	known[name] = infos[0]
	return infos[0], nil
}

// servedQueues returns the queues that live workers serve.
func servedQueues(ctx context.Context, store protocol.Store) (map[string]bool, error) {
	workers, err := store.Workers(ctx)
	served := map[string]bool{}
	for _, w := range workers {
		for queue, weight := range w.Queues {
			served[queue] = served[queue] || weight > 0
		}
	}
	return served, err
}

// mayNeedReason reports whether there may be a reason why the job does not run.
func mayNeedReason(job *JobInfo) bool {
	switch job.State {
	case JobRunning, JobTaken:
		return !job.Vanished.IsZero()
	case JobWaiting, JobDelayed, JobRetrying, JobParked:
		return true
	}
	return false
}

// waits reports whether a job is to run now.
func waits(job *JobInfo, now time.Time) bool {
	return job.State == JobWaiting || (job.State == JobDelayed || job.State == JobRetrying) && !job.Due.After(now)
}

// reasonOf is the one place that decides why a job does not run. The sentences of the command and the dashboard are made from its result.
func reasonOf(job *JobInfo, queue *QueueInfo, served bool, place protocol.JobPlace, group *protocol.ListedGroup) Reason {
	r := Reason{Queue: queue.Name, Served: served}
	blocked := queue.Blocked(served)
	switch {
	case job.State == JobRunning || job.State == JobTaken:
		r.Kind, r.Since = ReasonVanished, job.Vanished
	case blocked == ReasonPaused:
		r.Kind, r.Note = ReasonPaused, queue.Note
	case blocked != "":
		r.Kind = blocked
	case job.State == JobParked:
		r.Kind = ReasonParked
	case !waits(job, queue.Now):
		return Reason{}
	case place.IsBehind:
		r.Kind, r.Behind = ReasonBehind, place.Behind
	default:
		r.Place, r.Beyond, r.Group = place.Place, place.Beyond, place.Group
		r.Kind = ReasonInLine
		if limit := queue.Limit; limit.Starts > 0 || limit.Running > 0 && queue.InFlight() >= int64(limit.Running) {
			r.Kind, r.Limit = ReasonLimited, limit
		} else if group != nil && group.Blocked != "" {
			r.Kind, r.Blocked, r.Until, r.By = ReasonGroup, GroupBlock(group.Blocked), group.Until.UTC(), group.By
		}
	}
	return r
}
