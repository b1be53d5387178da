package wire

import (
	"errors"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
)

// FollowDone returns the job that follows a job that is done: its OnDone, with the data of that job. done is the job's envelope; p has the other
// data about it, without its Body; result is its result; schedule is its schedule, empty if it has none. Without an OnDone FollowDone returns nil.
// Its errors are those of DecodeEnvelope.
func FollowDone(done *Envelope, p Prior, result *Result, schedule string) (*protocol.Follower, error) {
	if done.Details == nil || len(done.Details.OnDone) == 0 {
		return nil, nil
	}
	follow, err := DecodeEnvelope(done.Details.OnDone)
	if err != nil {
		return nil, err
	}
	p.Body, p.Result = priorBody(done), result.Encode()
	own := follow.ownDetails()
	own.Prior, own.Enqueued = &p, result.Ended
	return follow.after(done, own, p.Queue, schedule), nil
}

// FollowDeath returns the job that follows a death, as FollowDone does for a job that is done: its OnDeath.
func FollowDeath(dead *Envelope, d Death, schedule string) (*protocol.Follower, error) {
	if dead.Details == nil || len(dead.Details.OnDeath) == 0 {
		return nil, nil
	}
	follow, err := DecodeEnvelope(dead.Details.OnDeath)
	if err != nil {
		return nil, err
	}
	d.Body = priorBody(dead)
	own := follow.ownDetails()
	own.Death, own.Enqueued = &d, d.Ended
	return follow.after(dead, own, d.Queue, schedule), nil
}

// priorBody returns the envelope of a job for the job that follows it: without the jobs before and after it, and without a long payload.
func priorBody(e *Envelope) []byte {
	prior, details := *e, *e.Details
	details.OnDone, details.OnDeath, details.Prior, details.Death = nil, nil, nil, nil
	prior.Details = &details
	if len(prior.Payload) > MaxPriorPayload {
		prior.Payload = nil
	}
	if len(prior.Sealed) > MaxPriorPayload+MaxSealing { // without the payload the error texts cannot be opened either: see Envelope.Sealed
		prior.Sealed, details.Sealed = nil, nil
	}
	return prior.Encode()
}

// ownDetails returns a copy of the details.
func (e *Envelope) ownDetails() Details {
	if e.Details == nil {
		return Details{}
	}
	return *e.Details
}

// after returns the job as it is added after another one of a queue has ended.
func (e *Envelope) after(ended *Envelope, own Details, queue, schedule string) *protocol.Follower {
	elsewhere := own.Queue
	if elsewhere == queue {
		elsewhere = ""
	}
	own.Queue = "" // it will be there
	own.Batch = ""
	if own.SameBatch && ended.Details != nil {
		own.Batch = ended.Details.Batch
	}
	e.Details, e.Planned, e.Schedule = &own, own.Enqueued.Add(own.In), schedule
	if schedule != "" {
		e.Planned = ended.Planned
	}
	return &protocol.Follower{Body: e.Encode(), In: own.In, Group: own.Group, Queue: elsewhere, Batch: own.Batch}
}

// MaxFollowerDepth is how many jobs may follow one after the other.
const MaxFollowerDepth = 16

var errDepth = fmt.Errorf("more than %d jobs follow one after the other", MaxFollowerDepth)

// A Chain is what may follow a job: its OnDone and its OnDeath, and the jobs that follow them.
type Chain struct {
	Jobs   int                   // all of them
	Depth  int                   // the number of jobs one after the other, at most one more than MaxFollowerDepth
	Queues []string              // in which they are to run; without those that are to run in the queue of the job before them
	Groups []protocol.QueueGroup // to which they belong; with an empty queue, that of the first job
}

// Followers returns what may follow a job with these details. An error means that one of these jobs cannot be read; if it wraps ErrNewerVersion, a
// newer program can read it. The others are in the chain.
func (d *Details) Followers() (c Chain, err error) { return d.followers("", MaxFollowerDepth) }

// followers is Followers for that many more jobs, one after the other; queue: that of the job before them, empty: that of the first one. Without a limit, a body of many levels would take too long: each level is read
// as a whole.
func (d *Details) followers(queue string, most int) (c Chain, err error) {
	if d == nil {
		return c, nil
	}
	for _, body := range [][]byte{d.OnDone, d.OnDeath} {
		switch {
		case len(body) == 0:
			continue
		case most == 0:
			return Chain{Jobs: 1, Depth: 1}, errDepth
		}
		follow, failed := DecodeEnvelope(body)
		at := queue
		if of := follow.Details; of != nil && of.Queue != "" {
			at = of.Queue
		}
		below, unread := follow.Details.followers(at, most-1)
		c.Jobs, c.Depth, err = c.Jobs+1+below.Jobs, max(c.Depth, 1+below.Depth), errors.Join(err, failed, unread)
		if of := follow.Details; of != nil && of.Queue != "" {
			c.Queues = append(c.Queues, of.Queue)
		}
		if of := follow.Details; of != nil && of.Group != "" {
			c.Groups = append(c.Groups, protocol.QueueGroup{Queue: at, Group: of.Group})
		}
		c.Queues, c.Groups = append(c.Queues, below.Queues...), append(c.Groups, below.Groups...)
	}
	return c, err
}
