package chimeprom

import (
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

// Observer returns an observer for a role's options. Each role needs its own one, because the observer remembers whether the role leads, and
// which calls of the store fail.
func (m *Metrics) Observer() *chime.Observer {
	role := &observedRole{metrics: m}
	return &chime.Observer{
		Enqueued: m.enqueuedAre, Begun: m.begun, Ended: m.endedAre, Returned: m.returnedAre, Parked: m.parkedAre,
		Refused:     func(queue string, results int) { m.refused.at(queue, m.queues.label).Add(float64(results)) },
		SessionLost: func(queue string, _ int) { m.lost.at(queue, m.queues.label).Inc() },
		Slots: func(size, busy, stuck int) {
			m.slots.Add(float64(size))
			m.busy.Add(float64(busy))
			m.stuck.Add(float64(stuck))
		},
		Placed: m.placed, Elected: role.elected, Trouble: role.trouble, Called: m.called,
	}
}

// An observedRole is the remembered state of one role.
type observedRole struct {
	metrics *Metrics

	mu    sync.Mutex
	leads bool
	fails map[string]bool // by the call that was tried
}

func (r *observedRole) elected(leading bool, _ int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case leading && !r.leads:
		r.metrics.leader.Inc()
	case !leading && r.leads:
		r.metrics.leader.Dec()
	}
	if leading { // also with another term
		r.metrics.leaderChanges.Inc()
	}
	r.leads = leading
}

// trouble: an outage of a role ends when all calls succeed again; the event has the call that failed last.
func (r *observedRole) trouble(op string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		for op := range r.fails {
			r.metrics.troubles.WithLabelValues(op).Dec()
		}
		r.fails = nil
		return
	}
	if r.fails == nil {
		r.fails = make(map[string]bool)
	}
	if !r.fails[op] {
		r.fails[op] = true
		r.metrics.troubles.WithLabelValues(op).Inc()
	}
}

func (m *Metrics) jobLabels(k jobKey) jobKey {
	return m.pairs.label(jobKey{m.queues.label(k.queue), m.jobs.label(k.job)})
}

func (m *Metrics) endLabels(k endKey) endKey {
	of := m.jobLabels(jobKey{k.queue, k.job})
	return endKey{of.queue, of.job, k.outcome}
}

func (m *Metrics) occurrenceLabels(k occurrenceKey) occurrenceKey {
	return occurrenceKey{m.schedules.label(k.schedule), k.event}
}

// A tally counts a run of equal keys in a batch, so that the run needs only one search.
type tally[K comparable] struct {
	key   K
	count int
}

// countJobs counts jobs by queue and name.
func (m *Metrics) countJobs(in *table[jobKey, counter], jobs []chime.JobEvent) {
	var equal tally[jobKey]
	for i := range jobs {
		if key := (jobKey{jobs[i].Queue, jobs[i].Name}); key != equal.key {
			if equal.count > 0 {
				in.at(equal.key, m.jobLabels).Add(float64(equal.count))
			}
			equal = tally[jobKey]{key: key}
		}
		equal.count++
	}
	if equal.count > 0 {
		in.at(equal.key, m.jobLabels).Add(float64(equal.count))
	}
}

func (m *Metrics) enqueuedAre(jobs []chime.JobEvent) { m.countJobs(m.enqueued, jobs) }
func (m *Metrics) returnedAre(jobs []chime.JobEvent) { m.countJobs(m.returned, jobs) }
func (m *Metrics) parkedAre(jobs []chime.JobEvent)   { m.countJobs(m.parked, jobs) }

// begun measures the waits of jobs, and the lateness of occurrences.
func (m *Metrics) begun(jobs []chime.JobEvent) {
	var queue string
	var wait *histogram // of the queue; it is locked
	defer func() {
		if wait != nil {
			wait.mu.Unlock()
		}
	}()
	for i := range jobs {
		j := &jobs[i]
		if !j.Waited.IsZero() {
			if wait == nil || j.Queue != queue {
				if wait != nil {
					wait.mu.Unlock()
				}
				queue, wait = j.Queue, m.waits.at(j.Queue, m.queues.label)
				wait.mu.Lock()
			}
			wait.add(j.Started.Sub(j.Waited))
		}
		if !j.First || j.Schedule == "" {
			continue
		}
		switch j.Origin {
		case "occurrence":
			m.late.at(j.Schedule, m.schedules.label).observe(j.Started.Sub(j.Due))
			m.occurred(j.Schedule, "started", 1)
		case "manual":
			m.occurred(j.Schedule, "triggered", 1)
		case "backfill":
			m.occurred(j.Schedule, "backfilled", 1)
		}
	}
}

func (m *Metrics) occurred(schedule, event string, times int) {
	if times > 0 {
		m.occurrences.at(occurrenceKey{schedule, event}, m.occurrenceLabels).Add(float64(times))
	}
}

// endedAre counts and measures attempts that have ended. A skipped occurrence was not an attempt.
func (m *Metrics) endedAre(jobs []chime.JobEvent) {
	var equal tally[endKey]
	var how *attempts // of these; its histogram is locked
	defer func() {
		if how != nil {
			how.run.mu.Unlock()
		}
	}()
	for i := range jobs {
		j := &jobs[i]
		switch j.Outcome {
		case chime.RunSkipped:
			m.occurred(j.Schedule, "skipped", 1)
			continue
		case chime.RunMissed:
			m.occurred(j.Schedule, "missed", 1)
		case chime.RunSuperseded:
			m.occurred(j.Schedule, "superseded", 1)
		}
		if key := (endKey{j.Queue, j.Name, string(j.Outcome)}); key != equal.key {
			m.countEnds(equal)
			equal = tally[endKey]{key: key}
			if how != nil {
				how.run.mu.Unlock()
				how = nil
			}
		}
		equal.count++
		if j.Started.IsZero() {
			continue
		}
		if how == nil {
			how = m.runs.at(jobKey{j.Queue, j.Name}, m.jobLabels)
			how.run.mu.Lock()
		}
		how.run.add(j.Ended.Sub(j.Started))
		if j.TimedOut {
			how.timeouts.Inc()
		}
		if j.Err != nil {
			if _, panicked := errors.AsType[*chime.PanicError](j.Err); panicked {
				how.panics.Inc()
			}
		}
	}
	m.countEnds(equal)
}

func (m *Metrics) countEnds(equal tally[endKey]) {
	if equal.count > 0 {
		m.ended.at(equal.key, m.endLabels).Add(float64(equal.count))
	}
}

func (m *Metrics) placed(places []chime.PlaceEvent) {
	for i := range places {
		p := &places[i]
		m.lag.observe(p.Owed)
		m.occurred(p.Schedule, "placed", 1)
		m.occurred(p.Schedule, "missed", p.Missed)
		if p.CaughtUp {
			m.occurred(p.Schedule, "caught_up", 1)
		}
	}
}

func (m *Metrics) called(op string, took time.Duration, err error) {
	of := m.calls.at(op, func(op string) string { return op })
	of.took.observe(took)
	if err != nil {
		of.errors.Inc()
	}
}
