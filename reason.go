package chime

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

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
	ReasonInLine   ReasonKind = "in line"  // it waits for a free worker
)

// A Reason is why a job does not run at this moment. The zero value: it runs, it is not due yet and nothing will prevent it then, or it has ended.
type Reason struct {
	Kind  ReasonKind `json:"kind"`
	Queue string     `json:"queue"` // the job's queue

	Note   Note      `json:"note,omitzero"`    // paused: who paused the queue, and why
	Limit  Limit     `json:"limit,omitzero"`   // limited: the limit
	Behind string    `json:"behind,omitempty"` // behind: the ID of the occurrence that has not ended; empty: it is not known
	Since  time.Time `json:"since,omitzero"`   // vanished: the last sign of life of its worker
	Served bool      `json:"served"`           // a live worker serves the queue

	// Place is the job's place among the waiting jobs of its partition, from 1. 0: it is not known, or beyond the first 10,000, which Beyond reports.
	// Limited and in line.
	Place  int  `json:"place,omitempty"`
	Beyond bool `json:"beyond,omitempty"`
}

// Blocked returns why no job of the queue begins: ReasonPaused, ReasonUnserved, or nothing. served is whether a live worker takes from it.
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
		if waits(job, queue.Now) && queue.Blocked(served[job.Queue]) == "" {
			if place, err = j.store.PlaceOf(ctx, job.Queue, job.ID); err != nil {
				return nil, err
			}
		}
		reasons[i] = reasonOf(job, queue, served[job.Queue], place)
	}
	return reasons, nil
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

// mayNeedReason reports whether a job may have to run and does not.
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
func reasonOf(job *JobInfo, queue *QueueInfo, served bool, place protocol.JobPlace) Reason {
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
		r.Place, r.Beyond = place.Place, place.Beyond
		r.Kind = ReasonInLine
		if limit := queue.Limit; limit.Starts > 0 || limit.Running > 0 && queue.Running >= int64(limit.Running) {
			r.Kind, r.Limit = ReasonLimited, limit
		}
	}
	return r
}
