package top

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/connect"
)

const (
	maxNext        = 20  // each costs a command to find
	maxRunning     = 100 // jobs that are shown
	maxRunningRead = 500 // if more jobs run than these, only some of them are read, and not how busy each worker is
	maxBusyQueues  = 8   // whose jobs are then read
)

// A Poller reads snapshots. What a poll costs does not grow with the jobs and schedules that there are: it reads the counters of all queues,
// the schedules that are due first, at most 500 jobs that run, what failed since the last poll, and once a minute the samples of at most 20 queues.
type Poller struct {
	store     chime.Store
	queues    *chime.Queues
	schedules *chime.Schedules
	jobs      *chime.Jobs
	workers   *chime.Workers

	mu       sync.Mutex // one poll at a time
	rates    rates
	hours    hours
	failures failures
	full     map[string]time.Time // worker → since when all its slots are busy
	leads    lease
}

// NewPoller returns a poller of a store. It does no I/O.
func NewPoller(store chime.Store) *Poller {
	return &Poller{
		store: store, queues: chime.NewQueues(store), schedules: chime.NewSchedules(store), jobs: chime.NewJobs(store),
		workers: chime.NewWorkers(store), full: map[string]time.Time{},
	}
}

// Poll reads a snapshot. What the user of the store has no right to read is left out, and Notes says so.
func (p *Poller) Poll(ctx context.Context) (*Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queues, err := p.queues.List(ctx)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Notes: map[Panel]string{}}
	for _, q := range queues {
		if q.Now.After(s.At) {
			s.At = q.Now
		}
		s.Held += q.Running
	}
	if s.At.IsZero() {
		s.At = time.Now() // there is no queue yet
	}
	p.rates.add(s.At, queues)

	var group sync.WaitGroup
	var errs [panels]error
	group.Go(func() { errs[Queues] = p.hours.read(ctx, p.queues, queues, s.At) })
	group.Go(func() { s.Next, errs[Next] = p.schedules.Soonest(ctx, maxNext) })
	group.Go(func() { errs[Failures] = p.failures.read(ctx, p.jobs, queues, s.At) })
	group.Go(func() { errs[Workers] = p.readWorkers(ctx, s, queues) })
	group.Go(func() { s.Leads, errs[Running] = p.leads.read(ctx, p.store, s.At) })
	group.Wait()
	for panel, err := range errs {
		switch {
		case connect.Denied(err):
			s.Notes[Panel(panel)] = "this user may not read them"
		case err != nil:
			return nil, err
		}
	}
	p.fill(s, queues)
	return s, nil
}

// readWorkers reads the workers, and jobs that run.
func (p *Poller) readWorkers(ctx context.Context, s *Snapshot, queues []*chime.QueueInfo) error {
	if s.Held > maxRunningRead {
		return p.readSomeWorkers(ctx, s, queues)
	}
	workers, err := p.workers.List(ctx)
	for _, w := range workers {
		s.Running = append(s.Running, light(w.Running)...)
		s.Workers = append(s.Workers, Worker{WorkerInfo: w, Counted: true})
	}
	s.Running = longest(s.Running)
	return err
}

// readSomeWorkers reads the workers without what they run, and some of the jobs that run.
func (p *Poller) readSomeWorkers(ctx context.Context, s *Snapshot, queues []*chime.QueueInfo) error {
	entries, err := p.store.Protocol().Workers(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		s.Workers = append(s.Workers, Worker{WorkerInfo: &chime.WorkerInfo{
			Name: e.Name, Host: e.Host, PID: e.PID, Version: e.Version, Queues: e.Queues, Slots: e.Slots, Since: e.Since, Seen: e.Seen,
		}})
	}
	busy := slices.DeleteFunc(slices.Clone(queues), func(q *chime.QueueInfo) bool { return q.Running == 0 })
	slices.SortStableFunc(busy, func(a, b *chime.QueueInfo) int { return cmp.Compare(b.Running, a.Running) })
	busy = busy[:min(len(busy), maxBusyQueues)]
	for _, q := range busy {
		page, err := p.jobs.Page(ctx, chime.JobFilter{Queue: q.Name, State: chime.JobRunning, Limit: maxRunning / len(busy)})
		if err != nil {
			return err
		}
		s.Running = append(s.Running, light(page.Jobs)...)
	}
	s.Running = longest(s.Running)
	s.Notes[Running] = "more than " + number(maxRunningRead) + " jobs run: these are some of them"
	return nil
}

// longest returns the jobs that have run longest.
func longest(jobs []*chime.JobInfo) []*chime.JobInfo {
	slices.SortFunc(jobs, func(a, b *chime.JobInfo) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.ID, b.ID))
	})
	return jobs[:min(len(jobs), maxRunning)]
}

// fill fills in what follows from several polls.
func (p *Poller) fill(s *Snapshot, queues []*chime.QueueInfo) {
	sampled := map[string]map[string]int64{}
	var late chime.Histogram
	lates := make([]chime.Histogram, sampledMinutes)
	for _, info := range queues {
		q := Queue{QueueInfo: info}
		q.In, q.Out, q.Failed, q.Known = p.rates.of(info.Name)
		if h := p.hours.queues[info.Name]; h != nil && len(h.samples) > 0 {
			q.Outs = minutes(h.samples, s.At, func(s *chime.Sample) float64 { return float64(s.Done) })
			ins := minutes(h.samples, s.At, func(s *chime.Sample) float64 { return float64(s.Enqueued) })
			faileds := minutes(h.samples, s.At, func(s *chime.Sample) float64 { return float64(s.Failed) })
			if last := sampledMinutes - 1; !q.Known {
				q.In, q.Out, q.Failed, q.Known = ins[last], q.Outs[last], faileds[last], true
			}
			s.Flow.Ins, s.Flow.Outs, s.Flow.Faileds = sum(s.Flow.Ins, ins), sum(s.Flow.Outs, q.Outs), sum(s.Flow.Faileds, faileds)
			sampled[info.Name] = addSamples(h.samples, s.At, &late, lates)
		}
		s.Flow.In, s.Flow.Out, s.Flow.Failed = s.Flow.In+q.In/60, s.Flow.Out+q.Out/60, s.Flow.Failed+q.Failed/60
		s.Queues = append(s.Queues, q)
	}
	if s.Flow.Timed = late.Count() > 0; s.Flow.Timed {
		s.Flow.P50, s.Flow.P99 = late.Quantile(0.5), late.Quantile(0.99)
		for _, h := range lates {
			s.Flow.Late = append(s.Flow.Late, h.Quantile(0.99).Seconds())
		}
	}
	s.Failures = p.failures.groups(s.At, sampled)
	if !p.failures.complete() {
		s.Notes[Failures] = "dead jobs are still being read"
	}
	p.noteFull(s)
}

// addSamples adds up the lateness of a queue's samples, all and by the minute, and returns how many attempts failed, by the name of the job.
func addSamples(samples []chime.Sample, now time.Time, late *chime.Histogram, lates []chime.Histogram) map[string]int64 {
	failed := map[string]int64{}
	for _, sample := range samples {
		*late = late.Add(sample.Lateness)
		if at := len(lates) - int(now.Truncate(time.Minute).Sub(sample.At)/time.Minute); at >= 0 && at < len(lates) {
			lates[at] = lates[at].Add(sample.Lateness)
		}
		for _, job := range sample.Jobs {
			failed[job.Name] += job.Failed
		}
	}
	return failed
}

// noteFull notes since when workers are full.
func (p *Poller) noteFull(s *Snapshot) {
	full := map[string]time.Time{}
	for i := range s.Workers {
		if w := &s.Workers[i]; w.Counted && w.Slots > 0 && w.Busy >= w.Slots {
			since, was := p.full[w.Name]
			if !was {
				since = s.At
			}
			full[w.Name], w.Full = since, since
		}
	}
	p.full = full
}

// leaseLapses is after what time without renewal nobody leads: a leader renews its lease every few seconds.
const leaseLapses = 30 * time.Second

// A lease is what was last seen of the leader's.
type lease struct {
	text string
	at   time.Time // when the text was first seen
}

// read reports whether a scheduler leads.
func (l *lease) read(ctx context.Context, store chime.Store, now time.Time) (bool, error) {
	text, err := store.Protocol().Lease(ctx)
	if err != nil {
		return false, err
	}
	if text != l.text {
		l.text, l.at = text, now
	}
	return text != "" && now.Sub(l.at) < leaseLapses, nil
}
