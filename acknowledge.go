package chime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/shape"
)

// Acknowledgements are the problems that people know: schedules that are failing, and failures of jobs that are alike. The dashboard, the command and the
// metrics list them apart from the other problems. An acknowledgement changes no schedule and no job. Create one with NewAcknowledgements; the zero value
// has no store.
type Acknowledgements struct {
	store     protocol.Store
	schedules *Schedules
}

// NewAcknowledgements returns the acknowledgements of a store. It does no I/O.
func NewAcknowledgements(store Store) *Acknowledgements {
	return &Acknowledgements{store: protocolOf(store), schedules: NewSchedules(store)}
}

// An Acknowledgement records that somebody knows a problem: that a schedule is failing, or that jobs of one name fail with similar errors. Its Note has who,
// when, why, and until when. It no longer holds when the problem has changed, see Covers and CoversFailures.
type Acknowledgement struct {
	Schedule string `json:"schedule,omitempty"` // the schedule; empty: it is about failures
	Job      string `json:"job,omitempty"`      // the job name of the failures

	// Shape identifies the errors of the failures: it is a hash of the first line without numbers and texts in quotes. The error itself is not stored.
	Shape string `json:"shape,omitempty"`

	Queues []string `json:"queues,omitempty"` // on which the jobs failed until then
	Note   Note     `json:"note,omitzero"`    // who knows it, why, since when and until when

	revision, done int64
}

// over reports whether the end of the acknowledgement has come.
func (a *Acknowledgement) over(now time.Time) bool {
	return !a.Note.Until.IsZero() && !now.Before(a.Note.Until) || now.Sub(a.Note.At) > protocol.AcknowledgementRetention
}

// Covers reports whether the acknowledgement holds for a schedule that is failing. It does not hold any more if its end has come, if a run of the schedule was
// done since, or if the schedule was changed, paused or resumed since.
func (a *Acknowledgement) Covers(s *Schedule, now time.Time) bool {
	return a.Schedule == s.Name && a.Schedule != "" && s.State == StateLive && s.Last.failing() && s.Revision == a.revision && s.Counters.Done == a.done && !a.over(now)
}

// CoversFailures reports whether the acknowledgement holds for failures of a job name with this error on these queues. It does not hold any more if its end
// has come, or if jobs fail with it on another queue.
func (a *Acknowledgement) CoversFailures(job, err string, queues []string, now time.Time) bool {
	if a.Job != job || a.Job == "" || a.Shape != hashOf(err) || a.over(now) {
		return false
	}
	return !slices.ContainsFunc(queues, func(queue string) bool { return len(a.Queues) > 0 && !slices.Contains(a.Queues, queue) })
}

// hashOf returns the hash of the shape of an error.
func hashOf(err string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(shape.Of(err)))
	return strconv.FormatUint(hash.Sum64(), 16)
}

// MarshalJSON encodes the acknowledgement with its instants in UTC.
func (a Acknowledgement) MarshalJSON() ([]byte, error) {
	type fields Acknowledgement // without methods
	a.Note = a.Note.utc()
	return json.Marshal(fields(a))
}

// AcknowledgeSchedule records that it is known that a schedule is failing. The Note has who knows it and why; with Until, the acknowledgement ends then.
// Without it, it ends when the schedule has changed, or after a year. ErrNotFound: there is no such schedule; ErrConflict: it is not failing. A further
// acknowledgement of the same schedule replaces the earlier one. A store keeps at most 500 acknowledgements.
func (a *Acknowledgements) AcknowledgeSchedule(ctx context.Context, name string, note Note) error {
	s, err := a.schedules.Get(ctx, name)
	if err == nil && !(s.State == StateLive && s.Last.failing()) {
		err = fmt.Errorf("it is not failing: %w", ErrConflict)
	}
	if err == nil {
		err = a.acknowledge(ctx, protocol.Acknowledgement{Schedule: name, Revision: s.Revision, Done: s.Counters.Done}, note)
	}
	if err != nil {
		return fmt.Errorf("chime: acknowledge schedule %.60q: %w", name, err)
	}
	return nil
}

// AcknowledgeFailures records that it is known that jobs of a name fail with an error, and with those that differ from it only in numbers and in texts in
// quotes. queues are those on which they fail until now; if there are none, failures on all queues are acknowledged. See AcknowledgeSchedule for the Note.
func (a *Acknowledgements) AcknowledgeFailures(ctx context.Context, job, err string, queues []string, note Note) error {
	bad := protocol.CheckName("job", job)
	for _, queue := range queues {
		bad = errors.Join(bad, protocol.CheckName("queue", queue))
	}
	if bad == nil {
		bad = a.acknowledge(ctx, protocol.Acknowledgement{Job: job, Shape: hashOf(err), Queues: queues}, note)
	}
	if bad != nil {
		return fmt.Errorf("chime: acknowledge failures of job %.40q: %w", job, bad)
	}
	return nil
}

func (a *Acknowledgements) acknowledge(ctx context.Context, of protocol.Acknowledgement, note Note) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	if err := note.validate(); err != nil {
		return err
	}
	of.Note = *note.stored()
	return a.store.Acknowledge(ctx, of)
}

// AcknowledgementOf returns the acknowledgement that AcknowledgeFailures would add for a job name and an error, for End.
func AcknowledgementOf(job, err string) Acknowledgement {
	return Acknowledgement{Job: job, Shape: hashOf(err)}
}

// End removes an acknowledgement, which it finds by Schedule, or by Job and Shape. ErrNotFound: there is none.
func (a *Acknowledgements) End(ctx context.Context, of Acknowledgement) error {
	err := a.ready(ctx)
	found := false
	if err == nil {
		found, err = a.store.Unacknowledge(ctx, protocol.Acknowledgement{Schedule: of.Schedule, Job: of.Job, Shape: of.Shape})
	}
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("chime: end an acknowledgement: %w", err)
	}
	return nil
}

// List returns all acknowledgements, those of schedules first, also those that no longer hold.
func (a *Acknowledgements) List(ctx context.Context) ([]Acknowledgement, error) {
	err := a.ready(ctx)
	var found []protocol.Acknowledgement
	if err == nil {
		found, err = a.store.Acknowledgements(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("chime: list acknowledgements: %w", err)
	}
	all := make([]Acknowledgement, 0, len(found))
	for _, of := range found {
		all = append(all, Acknowledgement{
			Schedule: of.Schedule, Job: of.Job, Shape: of.Shape, Queues: of.Queues, Note: Note(of.Note), revision: of.Revision, done: of.Done,
		})
	}
	slices.SortStableFunc(all, func(p, q Acknowledgement) int { // schedules first
		switch {
		case p.Schedule != "" && q.Schedule == "":
			return -1
		case p.Schedule == "" && q.Schedule != "":
			return 1
		}
		return 0
	})
	return all, nil
}

func (a *Acknowledgements) ready(ctx context.Context) error {
	switch {
	case a.store == nil:
		return errNilStore
	case ctx == nil:
		return errNilContext
	}
	return nil
}
