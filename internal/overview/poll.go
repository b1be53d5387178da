// Package overview reads the state of a store at one moment: its queues and workers, running jobs, next occurrences and failures, with charts of its
// traffic. `chime top` and the dashboard show it.
package overview

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/rights"
)

const (
	maxNext        = 20   // each costs a command
	maxRunning     = 100  // number of shown jobs
	maxRunningRead = 500  // if workers hold more jobs, only some of them are read, and the jobs of each worker are counted
	maxSessions    = 2000 // maximum number of workers' sessions that are counted
	maxBusyQueues  = 8    // number of queues whose jobs are then read
)

// A Poller reads snapshots. The cost of a poll does not depend on the number of jobs and schedules. A poll reads the counters of all queues, the next
// schedules, at most 500 running jobs, new failures, and once a minute the samples of at most 20 queues. Rest leaves out the next schedules.
type Poller struct {
	store     chime.Store
	queues    *chime.Queues
	schedules *chime.Schedules
	jobs      *chime.Jobs
	known     *chime.Acknowledgements

	mu       sync.Mutex // only one poll at a time
	rates    rates
	recent   recent
	hour     trail   // by the minute
	long     trail   // by the hour
	archive  archive // for Charts
	before   before  // for Before
	failures failures
	full     map[string]time.Time // worker → since when all its slots are busy

	keeping sync.Mutex
	kept    []string // paused schedules that remain visible
}

// Forbidden is the note for data that the store's user has no permission to read.
const Forbidden = "this Redis user has no permission to read them"

// NewPoller returns a poller of a store. It does no I/O.
func NewPoller(store chime.Store) *Poller {
	return &Poller{
		store: store, queues: chime.NewQueues(store), schedules: chime.NewSchedules(store), jobs: chime.NewJobs(store), known: chime.NewAcknowledgements(store),
		full: map[string]time.Time{}, hour: trail{step: time.Minute, back: time.Hour},
	}
}

// Poll reads a snapshot with charts of a window. It leaves out data for which the store's user has no permission, and notes that in Notes.
func (p *Poller) Poll(ctx context.Context, w Window) (*Snapshot, error) {
	return p.poll(ctx, w, p.readNext)
}

// Rest is Poll without the next schedules: Snapshot.Next is empty.
func (p *Poller) Rest(ctx context.Context, w Window) (*Snapshot, error) {
	return p.poll(ctx, w, func(context.Context, *Snapshot, []*chime.QueueInfo) error { return nil })
}

func (p *Poller) poll(ctx context.Context, w Window, readNext func(context.Context, *Snapshot, []*chime.QueueInfo) error) (*Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queues, err := p.queues.List(ctx)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Window: w, Notes: map[Panel]string{}}
	for _, q := range queues {
		if q.Now.After(s.At) {
			s.At = q.Now
		}
		s.Held += q.Running
	}
	if s.At.IsZero() {
		s.At = time.Now() // there are no queues yet
	}
	p.rates.add(s.At, queues)
	p.recent.add(s.At, queues)

	var group sync.WaitGroup
	var errs [Panels]error
	var leads chime.Leader
	var ledErr, knownErr error
	group.Go(func() { errs[Queues] = p.readTrails(ctx, s, queues) })
	group.Go(func() { errs[Next] = readNext(ctx, s, queues) })
	group.Go(func() { errs[Failures] = p.failures.read(ctx, p.store, p.jobs, queues, s.At) })
	group.Go(func() { errs[Workers] = p.readWorkers(ctx, s, queues) })
	group.Go(func() { leads, ledErr = p.schedules.Leader(ctx) })
	group.Go(func() { s.Known, knownErr = p.known.List(ctx) })
	group.Wait()
	for panel, err := range errs {
		switch {
		case rights.Missing(err):
			s.Notes[Panel(panel)] = Forbidden
		case err != nil:
			return nil, err
		}
	}
	if knownErr != nil && !rights.Missing(knownErr) {
		return nil, knownErr
	}
	switch {
	case ledErr == nil:
		s.Leader = &leads
	case !rights.Missing(ledErr):
		return nil, ledErr
	}
	p.fill(s, queues)
	return s, nil
}

// readWorkers reads the workers and running jobs. It reads only queues on which the poll has found running jobs. chime.Workers would count all queues
// again.
func (p *Poller) readWorkers(ctx context.Context, s *Snapshot, queues []*chime.QueueInfo) error {
	busy := slices.DeleteFunc(slices.Clone(queues), func(q *chime.QueueInfo) bool { return q.Running == 0 })
	read := int64(0) // the lists of running jobs read those that were taken ahead and those of vanished workers too
	for _, q := range busy {
		read += q.InFlight()
	}
	if read > maxRunningRead {
		return p.readSomeWorkers(ctx, s, busy)
	}
	entries, err := p.store.Protocol().Workers(ctx)
	if err != nil {
		return err
	}
	byName := map[string]*chime.WorkerInfo{}
	for _, e := range entries {
		byName[e.Name] = workerOf(e)
	}
	for _, q := range busy {
		for job, err := range p.jobs.List(ctx, chime.JobFilter{Queue: q.Name, State: chime.JobRunning, Limit: maxRunningRead}) {
			switch {
			case errors.Is(err, chime.ErrNotFound): // the queue was deleted meanwhile
				continue
			case job == nil:
				return err
			case !job.Vanished.IsZero() || job.Worker == "":
				continue // its worker is gone, or an older version has taken it, which does not store its worker
			}
			light([]*chime.JobInfo{job})
			if byName[job.Worker] == nil { // its record is lost
				byName[job.Worker] = &chime.WorkerInfo{Name: job.Worker}
			}
			info := byName[job.Worker]
			if info.Running = append(info.Running, job); !info.Many || info.Busy < info.Slots {
				info.Busy++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s.Running = append(s.Running, byName[name].Running...)
		s.Workers = append(s.Workers, Worker{WorkerInfo: byName[name], Counted: true})
	}
	s.Running = longest(s.Running)
	return nil
}

// workerOf returns a worker from its own record.
func workerOf(e protocol.WorkerEntry) *chime.WorkerInfo {
	return &chime.WorkerInfo{Name: e.Name, Host: e.Host, PID: e.PID, Version: e.Version, Queues: e.Queues, Slots: e.Slots, Many: e.Many, Since: e.Since, Seen: e.Seen, SessionTTL: e.Lives}
}

// readSomeWorkers reads the workers, the number of jobs of each, and some of the running jobs. A worker takes jobs ahead only when all its slots are
// busy, so jobs beyond its slots are not running yet, unless they share slots.
func (p *Poller) readSomeWorkers(ctx context.Context, s *Snapshot, busy []*chime.QueueInfo) error {
	entries, err := p.store.Protocol().Workers(ctx)
	if err != nil {
		return err
	}
	held, counted, err := p.held(ctx, busy)
	if err != nil {
		return err
	}
	for _, e := range entries {
		w := Worker{WorkerInfo: workerOf(e), Counted: counted}
		w.Busy = min(held[e.Name], e.Slots)
		s.Workers = append(s.Workers, w)
	}
	slices.SortStableFunc(busy, func(a, b *chime.QueueInfo) int { return cmp.Compare(b.Running, a.Running) })
	busy = busy[:min(len(busy), maxBusyQueues)]
	for _, q := range busy {
		page, err := p.jobs.Page(ctx, chime.JobFilter{Queue: q.Name, State: chime.JobRunning, Limit: maxRunning / len(busy)})
		if err != nil {
			return err
		}
		s.Running = append(s.Running, slices.DeleteFunc(light(page.Jobs), func(j *chime.JobInfo) bool { return !j.Vanished.IsZero() })...)
	}
	s.Running = longest(s.Running)
	s.Notes[Running] = "workers hold more than " + strconv.Itoa(maxRunningRead) + " jobs; these are some of those that run"
	return nil
}

// held returns the number of jobs of each worker. It returns false if there are too many sessions to count.
func (p *Poller) held(ctx context.Context, busy []*chime.QueueInfo) (held map[string]int, counted bool, err error) {
	var names []string
	sessions := int64(0)
	for _, q := range busy {
		names = append(names, q.Name)
		sessions += q.Sessions
	}
	if sessions > maxSessions {
		return nil, false, nil
	}
	held, err = p.store.Protocol().Held(ctx, names)
	return held, true, err
}

// longest returns the longest running jobs.
func longest(jobs []*chime.JobInfo) []*chime.JobInfo {
	slices.SortFunc(jobs, func(a, b *chime.JobInfo) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.ID, b.ID))
	})
	return jobs[:min(len(jobs), maxRunning)]
}

// fill fills in the data that comes from several polls or from samples.
func (p *Poller) fill(s *Snapshot, queues []*chime.QueueInfo) {
	failed := map[string]map[string]int64{}
	for _, info := range queues {
		q := Queue{QueueInfo: info}
		q.In, q.Out, q.Failed, q.Known = p.rates.of(info.Name)
		q.Growth, q.Watched = p.rates.growth(info.Name)
		if samples := p.hour.of(info.Name); len(samples) > 0 {
			if last, is := Average(samples[len(samples)-1:]); is && !q.Known {
				q.In, q.Out, q.Failed, q.Known = last.In, last.Out, last.Failed, true
			}
			failed[info.Name] = failedOf(samples)
		}
		s.Flow.In, s.Flow.Out, s.Flow.Failed = s.Flow.In+q.In/60, s.Flow.Out+q.Out/60, s.Flow.Failed+q.Failed/60
		s.Queues = append(s.Queues, q)
	}
	p.chart(s)
	s.Failures = p.failures.groups(s.At, failed)
	if !p.failures.complete() {
		s.Notes[Failures] = "dead jobs are still being read"
	}
	p.noteFull(s)
}

// chart fills in the charts of the snapshot's window. The charts of all queues are available when all samples have been read.
func (p *Poller) chart(s *Snapshot) {
	trail := p.trailOf(s.Window)
	late := newLateness(s.Window, s.At)
	for i := range s.Queues {
		q := &s.Queues[i]
		samples := trail.of(q.Name)
		late.add(samples, trail.step)
		var through traffic
		switch {
		case s.Window == Quarter:
			through = p.recent.charts(q.Name, s.At)
		case len(samples) == 0:
			continue
		default:
			through = trail.charts(q.Name, s.Window, s.At)
		}
		q.Outs = through.outs.values
		if s.Window == Quarter || trail.complete() {
			through.addTo(&s.Flow)
		}
	}
	late.fill(&s.Flow)
}

// failedOf returns the number of failed attempts of a queue by job name.
func failedOf(samples []chime.Sample) map[string]int64 {
	failed := map[string]int64{}
	for _, sample := range samples {
		for _, job := range sample.Jobs {
			failed[job.Name] += job.Failed
		}
	}
	return failed
}

// trailOf returns the samples of a window. Hourly samples are kept for the widest window that was shown.
func (p *Poller) trailOf(w Window) *trail {
	if forms[w].step == time.Minute {
		return &p.hour
	}
	if p.long.back < w.back() {
		p.long = trail{step: time.Hour, back: w.back()}
	}
	return &p.long
}

// readTrails reads the new samples of the last hour, which the counts of failures need, and of the window.
func (p *Poller) readTrails(ctx context.Context, s *Snapshot, queues []*chime.QueueInfo) error {
	err := p.hour.read(ctx, p.queues, queues, s.At)
	if of := p.trailOf(s.Window); err == nil && of != &p.hour {
		err = of.read(ctx, p.queues, queues, s.At)
	}
	return err
}

// noteFull records since when workers have been full. That is not known of a worker whose jobs may share handlers.
func (p *Poller) noteFull(s *Snapshot) {
	full := map[string]time.Time{}
	for i := range s.Workers {
		if w := &s.Workers[i]; w.Counted && !w.Many && w.Slots > 0 && w.Busy >= w.Slots {
			since, was := p.full[w.Name]
			if !was {
				since = s.At
			}
			full[w.Name], w.Full = since, since
		}
	}
	p.full = full
}
