package pages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/rights"
)

// Batch is the page of a batch.
type Batch struct {
	BatchRow
	Filter    string // finds its jobs in the list of jobs
	Queues    []BatchQueue
	Followers []BatchFollower
	Verbs     []render.Verb
}

// A BatchQueue is a row of its table: what its members on a queue do.
type BatchQueue struct {
	chime.BatchQueue
	State  *plain.State // of the queue; nil: it is not known
	Filter string       // finds these members
}

// A BatchFollower is a job that is added when the batch has ended.
type BatchFollower struct {
	What  string    // Done or Ended
	Name  string    // of the job
	ID    string    // of the job
	Added time.Time // zero: it is not added yet
	When  string    // when it is added, if it is not yet
}

// Batch reads one batch.
func (s *Site) Batch(ctx context.Context, r *Request) (View, error) {
	id := r.Values["id"]
	b, err := s.batches.Get(ctx, id)
	if unknownID(err) && !rights.Missing(err) {
		return View{}, &MissingError{
			Text:  fmt.Sprintf("There is no batch %.60q: it was not created, it was deleted, or it ended longer ago than it is kept. A batch is kept for 24 hours, unless Batch.Keep is set.", id),
			Links: []render.Lead{{Text: "All batches", Path: "batches"}},
		}
	}
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	b.Note = s.hooks.batchNote(b)
	m := &Batch{BatchRow: BatchRow{b, plain.Batch(b)}, Followers: followersOf(b), Verbs: batchVerbs(b, r.Can)}
	of := jobfind.Filter{Batch: id}
	m.Filter = of.String()
	states := queueStates(standing)
	for _, q := range b.Queues {
		of.Queue = q.Queue
		row := BatchQueue{BatchQueue: q, Filter: of.String()}
		if state, ok := states[q.Queue]; ok {
			row.State = &state
		}
		m.Queues = append(m.Queues, row)
	}
	return View{"Batch " + id, m}, nil
}

// unknownID reports whether an error means that nothing has an ID, as far as the user of Redis may know.
func unknownID(err error) bool {
	return errors.Is(err, chime.ErrNotFound) || errors.As(err, new(*chime.InvalidError)) || rights.Missing(err)
}

// queueStates returns the states of all queues.
func queueStates(standing *Standing) map[string]plain.State {
	states, served := map[string]plain.State{}, standing.Served()
	for _, q := range standing.Queues {
		states[q.Name] = plain.Queue(q.QueueInfo, served(q.Name))
	}
	return states
}

// followersOf returns the jobs that follow a batch.
func followersOf(b *chime.BatchInfo) (all []BatchFollower) {
	if b.DoneJob != "" {
		f := BatchFollower{What: "Done", Name: b.DoneJob, ID: protocol.BatchDoneID(b.ID), Added: b.DoneAdded, When: "when all members are done"}
		switch {
		case b.State == chime.BatchCancelled:
			f.When = "never: the batch was cancelled"
		case b.State == chime.BatchEnded && b.Dead > 0:
			f.When = "when its dead members are requeued and are done"
		case b.State == chime.BatchEnded:
			f.When = "never: members were cancelled or deleted"
		}
		all = append(all, f)
	}
	if b.EndedJob != "" {
		all = append(all, BatchFollower{What: "Ended", Name: b.EndedJob, ID: protocol.BatchEndedID(b.ID), Added: b.EndedAt, When: "when all members have ended"})
	}
	return all
}

// The actions for a batch.
var (
	sealBatch    = render.Verb{Name: "seal", Text: "Complete", Icon: "check"}
	recountBatch = render.Verb{Name: "recount", Text: "Count again", Icon: "rotate-ccw"}
	cancelBatch  = render.Verb{Name: "cancel", Text: "Cancel", Icon: "x", Destroys: true}
	deleteBatch  = render.Verb{Name: "delete", Text: "Delete", Icon: "trash-2", Destroys: true}
)

// batchVerbs returns the actions of a viewer that the state of a batch allows.
func batchVerbs(b *chime.BatchInfo, can Can) (verbs []render.Verb) {
	ended := !b.EndedAt.IsZero()
	if can.Operate && b.State == chime.BatchOpen {
		verbs = append(verbs, sealBatch)
	}
	if can.Operate && (!ended || b.Left > 0) {
		verbs = append(verbs, recountBatch)
	}
	if can.Operate && !ended && b.State != chime.BatchCancelled {
		verbs = append(verbs, cancelBatch)
	}
	if can.Delete && ended && b.Left == 0 {
		verbs = append(verbs, deleteBatch)
	}
	return verbs
}

// Took is the time from the creation of the batch to its end, or until now.
func (m *Batch) Took() time.Duration { return m.EndedAt.Sub(m.CreatedAt) }

// Kept says how long the batch is kept.
func (m *Batch) Kept() string { return plain.BatchKept(m.BatchInfo) }
