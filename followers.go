package chime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// OnDone adds a job when this one is done. The new job is added in the step that ends this one, exactly once, to the front of the same queue, or with
// the item's option [In] that long after the end. It has the item's own arguments, and the job that is done in [Job.Prior], with what that job
// returned. Nothing follows a job that was cancelled, superseded or dropped, or that [Replace] has replaced while it ran. A dead job that was requeued
// and is then done is done.
//
// The item may have an OnDone and an [OnDeath] of its own: a chain. The jobs of a chain that one job starts are described in the first one; there are
// at most 16, one after the other, and at most 64 KiB with both options together. Each has an ID of the same length: that of the first one up to
// its first "#", then "#done-" or "#dead-", the fence under which the job before it ended, a dot, and its place in the chain. If a schedule created
// the first job, the others belong to the schedule too: they have its name in [Job.Schedule], and count as unfinished.
//
// With a [Queue], also the default queue of the item's kind, the new job runs on that queue. The step that ends the job before it stores it, and a worker brings
// it to its queue at once, in steps that add it exactly once; [In] counts from that end. Until then no call finds it, and [QueueInfo] counts it in Outbox. If its
// queue is on another node of a cluster, and that node cannot be reached, the job waits for it. Queue is refused if a schedule creates the job before it,
// unless it is the queue of the schedule.
//
// Create the item with [Kind.Item], or use an [Item] with a job name. It may have the options of an attempt, Header, Keep, Queue, In, Group, SameBatch, OnDone
// and OnDeath. At, Expire, ID, ArgsID, Once and Replace are refused; if the item's kind has them as defaults, they are ignored. With a [Group], also one of [GroupBy], the new job
// comes before the others of its group that wait, also if as many wait as the group's rule allows; with In too, it joins their end when it is due. In a group
// whose jobs run in order ([GroupRule.Ordered]) it is the next one. The queue must have one partition.
func OnDone(item Item) JobOption {
	body, err := followerBody(item)
	return jobOption(func(s *jobSettings) {
		s.onDone = body
		if err != nil {
			s.refuse(fmt.Errorf("OnDone: %w", err))
		}
	})
}

// OnDeath adds a job when this one becomes dead, or expires ([Expire]). A job becomes dead after its last attempt, by [Discard], because its
// workers kept vanishing, or because it was parked for longer than redisstore.Options.ParkedRetention and no worker came that can run it. The new
// job is added in the same step, exactly once, to the front of the same queue, or with the item's option [In] that long after the death. It has the
// item's own arguments, and the dead job in [Job.Death]. Its ID is the dead job's ID, "#dead-" and a fence: the fence under which the job died, or a
// fresh one if it died parked. If the dead job has followed another one, its ID is as described at [OnDone].
//
// The item's options are those of OnDone, also its Queue and the default queue of its kind, and the same limits apply.
func OnDeath(item Item) JobOption {
	body, err := followerBody(item)
	return jobOption(func(s *jobSettings) {
		s.onDeath = body
		if err != nil {
			s.refuse(fmt.Errorf("OnDeath: %w", err))
		}
	})
}

const maxFollowers = 64 << 10 // bytes of all jobs that may follow a job: they are stored with it

// nameOfBody is the name of the job that is added at an end. It is empty if none is added.
func nameOfBody(body []byte) string {
	if body == nil {
		return ""
	}
	job, _ := wire.DecodeEnvelope(body) // the name is returned even if the rest cannot be read
	return job.Name
}

// followerInfo returns the job that is added when one of a schedule's jobs ends; option is OnDone or OnDeath.
func (s *Schedule) followerInfo(option, name string, body []byte) (*JobInfo, error) {
	if body == nil {
		return nil, nil
	}
	job := &JobInfo{Name: name, Queue: s.Queue}
	message, err := wire.DecodeEnvelope(body)
	if err != nil {
		job.Err = fmt.Errorf("chime: %s of schedule %q: %w", option, s.Name, err)
		return job, job.Err
	}
	details := cmp.Or(message.Details, &wire.Details{})
	if message.Sealed != nil {
		job.Sealed = shownKey(protocol.SealedBy(message.Sealed))
	}
	job.Payload, job.MaxAttempts, job.Timeout = message.Payload, message.MaxAttempts, message.Timeout
	job.Header, job.Keep, job.Retry = details.Header, details.Keep, RetryPolicy{details.Retry}
	job.fillFollowers(details)
	return job, nil
}

// OnDoneJob is the job that is added when one of the schedule's jobs is done, as set by [OnDone]: Name, Queue, Payload, MaxAttempts, Timeout, Header,
// Keep, Retry, OnDone, OnDeath and Followers. It is nil if no job is added. If a newer version of chime wrote this job, only its Name is set, and the
// error is also its Err.
func (s *Schedule) OnDoneJob() (*JobInfo, error) { return s.followerInfo("OnDone", s.OnDone, s.onDone) }

// OnDeathJob is the job that is added when one of the schedule's jobs becomes dead, as set by [OnDeath]. It has the fields of OnDoneJob.
func (s *Schedule) OnDeathJob() (*JobInfo, error) {
	return s.followerInfo("OnDeath", s.OnDeath, s.onDeath)
}

// fillFollowers sets the fields about the jobs that may follow.
func (j *JobInfo) fillFollowers(details *wire.Details) {
	if details.OnDone == nil && details.OnDeath == nil {
		return
	}
	j.OnDone, j.OnDeath = nameOfBody(details.OnDone), nameOfBody(details.OnDeath)
	chain, _ := details.Followers() // those that cannot be read are counted
	j.Followers = chain.Jobs
}

// fillFollowed sets the fields about what the job follows.
func (j *JobInfo) fillFollowed(details *wire.Details) {
	if prior := details.Prior; prior != nil {
		j.FollowsID, j.FollowsQueue = prior.ID, prior.Queue
	}
	if dead := details.Death; dead != nil {
		j.FollowsID, j.FollowsQueue = dead.ID, dead.Queue
	}
	if end := details.BatchEnd; end != nil {
		j.FollowsBatch = end.ID
	}
}

// newPrior returns the job that a job has followed.
func newPrior(prior *wire.Prior) *JobInfo {
	// cloned: the handler may change it
	info := newJobInfo(prior.Queue, &protocol.FoundJob{ID: prior.ID, State: protocol.JobRunning, Body: bytes.Clone(prior.Body), Crashes: prior.Crashes})
	keep, lastError := info.Keep, info.LastError
	info.State = JobDone
	info.fillResult(&protocol.FoundJob{Ended: protocol.ResultDone, Result: bytes.Clone(prior.Result)})
	info.Keep, info.LastError = keep, lastError
	return info
}

// followerBody returns the body of the job that an item describes.
func followerBody(item Item) ([]byte, error) {
	var of, own enqueueSettings // of the kind, and of the item itself
	for _, option := range item.Options {
		switch option := option.(type) {
		case nil:
			own.refuse(errNilOption)
		case *kindDefaults:
			option.enqueue(&of)
		default:
			option.enqueue(&own)
		}
	}
	for name, given := range map[string]bool{
		"At": !own.at.IsZero(), "ID": own.own && !own.argsID, "ArgsID": own.argsID, "Once": own.once != 0, "Replace": own.replace,
		"Expire": own.expire != 0, "InBatch": own.inBatch != "",
	} {
		if given {
			own.refuse(protocol.Invalid("option", name, "an option of an attempt, Header, Keep, Queue, In, Group, SameBatch, OnDone or OnDeath"))
		}
	}
	if err := protocol.CheckName("job name", item.Name); err != nil {
		own.refuse(err)
	}
	payload, err := wire.EncodeStable(item.Args)
	if err == nil && len(payload) > maxFollowers {
		err = wire.TooLarge(len(payload), maxFollowers)
	}
	job := own.jobSettings.or(of.jobSettings)
	if err := checkHeaderSize(job.header); err != nil && checkHeaderSize(own.header) == nil { // else the option has reported it
		own.refuse(err)
	}
	if err := errors.Join(append(own.problems, err)...); err != nil {
		return nil, err
	}
	details := cmp.Or(job.details(), &wire.Details{})
	if details.In = of.in; own.timed {
		details.In = own.in
	}
	details.Queue = job.queue
	details.Group, details.SameBatch = cmp.Or(own.group, of.group), own.sameBatch
	e := wire.Envelope{Name: item.Name, Payload: payload, MaxAttempts: job.maxAttempts, Timeout: job.timeout}
	if details.In > 0 || details.Queue != "" || details.Group != "" || details.SameBatch || job.details() != nil {
		e.Details = details
	}
	body := e.Encode()
	return body, checkChain(&wire.Details{OnDone: body})
}

// checkChain returns an *InvalidError if too many jobs, or jobs of too many bytes, may follow a job with these details.
func checkChain(d *wire.Details) error {
	if chain, _ := d.Followers(); chain.Depth > wire.MaxFollowerDepth {
		return protocol.Invalid("chain", strconv.Itoa(chain.Depth), strconv.Itoa(wire.MaxFollowerDepth)+" jobs at most, one after the other")
	}
	if size := len(d.OnDone) + len(d.OnDeath); size > maxFollowers {
		return protocol.Invalid("chain", strconv.Itoa(size)+" bytes", strconv.Itoa(maxFollowers)+" bytes at most, with all jobs that may follow")
	}
	return nil
}

// checkFollowers returns what is wrong with the jobs that may follow a job: each option was checked alone when it was created. queue is that of the
// schedule to which the job belongs, empty: it belongs to none. groups has the groups of these jobs.
func checkFollowers(details *wire.Details, queue string) (groups []protocol.QueueGroup, err error) {
	if details == nil || details.OnDone == nil && details.OnDeath == nil {
		return nil, nil
	}
	if details.OnDone != nil && details.OnDeath != nil {
		if err := checkChain(details); err != nil {
			return nil, err
		}
	}
	chain, _ := details.Followers()
	if at := slices.IndexFunc(chain.Queues, func(q string) bool { return queue != "" && q != queue }); at >= 0 {
		return nil, protocol.Because(protocol.Invalid("queue of a job that follows", chain.Queues[at], queue+", the queue of the schedule: set it with chime.Queue"), "is another queue")
	}
	return chain.Groups, nil
}

// OutboxCounts counts jobs that are on their way to other queues, because they follow others with [OnDone] or [OnDeath]. Usually a job is on its way for
// a moment only. If Oldest is long past, a queue cannot be reached: Blocked has the reason,
// [Queues.Outbox] returns it for each queue, and the log has it with the event outbox.blocked.
type OutboxCounts struct {
	Waiting int64     `json:"waiting"`         // the jobs
	Bytes   int64     `json:"bytes"`           // of these jobs
	Oldest  time.Time `json:"oldest,omitzero"` // when the job before the oldest of them ended; zero: no job is on its way
	Full    bool      `json:"full,omitempty"`  // 100,000 jobs or 256 MiB wait in a partition, so workers get no job of it

	// Blocked is a queue to which jobs could not be brought, and why, as the process that tried has noted it: "mail: dial tcp 10.0.0.7:6379: connect:
	// connection refused". Empty: no failure is known.
	Blocked      string    `json:"blocked,omitempty"`
	BlockedSince time.Time `json:"blocked_since,omitzero"` // when the first attempt failed
}

// An OutboxTarget is a queue to which jobs of another one are on their way.
type OutboxTarget struct {
	Queue   string    `json:"queue"`   // its name
	Waiting int64     `json:"waiting"` // the jobs
	Oldest  time.Time `json:"oldest"`  // when the job before the oldest of them ended

	// Blocked is why the jobs could not be brought there, as the process that tried has noted it. Empty: no failure is known.
	Blocked      string    `json:"blocked,omitempty"`
	BlockedSince time.Time `json:"blocked_since,omitzero"` // when the first attempt failed
}

// Outbox returns the queues to which jobs of a queue are on their way: the one whose oldest job has waited longest comes first. [QueueInfo] has their sum.
// ErrNotFound: no job, schedule or worker has ever used the queue.
func (q *Queues) Outbox(ctx context.Context, queue string) ([]OutboxTarget, error) {
	info, err := q.Get(ctx, queue)
	if err != nil {
		return nil, err
	}
	targets := map[string]OutboxTarget{}
	for index := range info.Partitions {
		source := protocol.Partition{Queue: queue, Index: index}
		for after, begun := "", false; after != "" || !begun; begun = true {
			lines, err := q.store.ReadOutbox(ctx, source, after)
			if err != nil {
				return nil, fmt.Errorf("chime: read the outbox of queue %q: %w", queue, err)
			}
			for _, line := range lines.Lines {
				name, _, _ := strings.Cut(line.Line, "/")
				t := targets[name]
				t.Queue, t.Waiting = name, t.Waiting+line.Entries
				if t.Oldest.IsZero() || line.Since.Before(t.Oldest) {
					t.Oldest = line.Since
				}
				if why, since := line.Blocked.Why, line.Blocked.Since; why != "" && (t.Blocked == "" || since.Before(t.BlockedSince)) {
					t.Blocked, t.BlockedSince = why, since
				}
				targets[name] = t
			}
			after = lines.Next
		}
	}
	var all []OutboxTarget
	for _, t := range targets {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b OutboxTarget) int {
		return cmp.Or(a.Oldest.Compare(b.Oldest), cmp.Compare(a.Queue, b.Queue))
	})
	return all, nil
}
