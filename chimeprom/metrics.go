// Package chimeprom exports chime's metrics to Prometheus.
//
//	metrics := chimeprom.New(chimeprom.Options{})
//	worker := chime.NewWorker(store, chime.WorkerOptions{Observers: []*chime.Observer{metrics.Observer()}})
//	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Observers: []*chime.Observer{metrics.Observer()}})
//	// handlers and schedules
//	metrics.Know(worker, scheduler)
//	prometheus.MustRegister(metrics, metrics.Store(store))
//
// Metrics counts the work of this process. Store reads what all processes have in common: the number of jobs on each queue, and the state of the
// schedules. It is the same in each process, so register it in one of them, or use the maximum of all of them.
//
// No label contains an ID. Labels of jobs and schedules have the names that the program knows, at most 200, and "other" for all others. Labels of
// queues have the first 200 names that occur, and "other". If a metric has both labels, the first 200 pairs are shown, and the rest as "other" and
// "other". The metrics add about 250 ns to a job, 40 to 80 of them in this package, and allocate nothing; a role without the observer has no overhead.
// docs/monitoring.md describes what to watch.
package chimeprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/chimejobs/chime"
)

// Options are the options of New. The zero value is useful.
type Options struct {
	// Jobs and Schedules are names that labels may have, in addition to the names from Know: for example of jobs that the program only
	// enqueues.
	Jobs, Schedules []string
}

// Metrics is a prometheus.Collector for the work of this process. New returns one. It is safe for concurrent use.
type Metrics struct {
	queues, jobs, schedules *names
	pairs                   *pairs // of queues and jobs

	enqueued, returned, parked *table[jobKey, prometheus.Counter]
	ended                      *table[endKey, prometheus.Counter]
	runs                       *table[jobKey, *attempts]
	waits                      *table[string, *histogram]
	late                       *table[string, *histogram]
	occurrences                *table[occurrenceKey, prometheus.Counter]
	lost, refused              *table[string, prometheus.Counter]
	calls                      *table[string, *callsOf]
	troubles                   *prometheus.GaugeVec
	lag                        *histogram
	slots, busy, stuck, leader prometheus.Gauge
	leaderChanges              prometheus.Counter
	collectors                 []prometheus.Collector
}

type (
	counter = prometheus.Counter

	jobKey        struct{ queue, job string }
	endKey        struct{ queue, job, outcome string }
	occurrenceKey struct{ schedule, event string }
)

// attempts measures the attempts of a job.
type attempts struct {
	run              *histogram
	panics, timeouts prometheus.Counter
}

// callsOf measures the calls of one kind.
type callsOf struct {
	took   *histogram
	errors prometheus.Counter
}

// New returns metrics with the value zero. It registers nothing.
func New(options Options) *Metrics {
	m := &Metrics{queues: learning(), pairs: newPairs(), jobs: newNames(options.Jobs...), schedules: newNames(options.Schedules...)}
	return m.describe()
}

// Know adds the jobs that a worker handles and the schedules that a scheduler declares to the names that labels may have. Call it after the handlers
// and schedules are registered, and before the roles run. Only the first 200 names count. Other roles have no names.
func (m *Metrics) Know(roles ...chime.Role) {
	for _, role := range roles {
		switch role := role.(type) {
		case *chime.Worker:
			m.jobs.add(role.Handled()...)
		case *chime.Scheduler:
			m.schedules.add(role.Declared()...)
		}
	}
}

// Describe and Collect implement prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors {
		c.Describe(to)
	}
}

// Collect sends the metrics.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors {
		c.Collect(to)
	}
}

func counterOf(name string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: name, Help: helpOf(name)}
}

func gaugeOf(name string) prometheus.GaugeOpts {
	return prometheus.GaugeOpts{Name: name, Help: helpOf(name)}
}

// describe returns the descriptions of the metrics.
func (m *Metrics) describe() *Metrics {
	counters := func(name string) *prometheus.CounterVec {
		return register(m, prometheus.NewCounterVec(counterOf(name), labelsOf(name)))
	}
	histograms := func(name string) *histogramVec {
		return register(m, newHistogramVec(name))
	}
	byJob := func(name string) *table[jobKey, prometheus.Counter] {
		vec := counters(name)
		return newTable(func(k jobKey) prometheus.Counter { return vec.WithLabelValues(k.queue, k.job) })
	}
	byOne := func(name string) *table[string, prometheus.Counter] {
		vec := counters(name)
		return newTable(func(label string) prometheus.Counter { return vec.WithLabelValues(label) })
	}
	measured := func(name string) *table[string, *histogram] {
		vec := histograms(name)
		return newTable(func(label string) *histogram { return vec.with(label) })
	}
	m.enqueued, m.returned, m.parked = byJob("chime_jobs_enqueued_total"), byJob("chime_jobs_returned_total"), byJob("chime_jobs_parked_total")
	ended := counters("chime_jobs_ended_total")
	m.ended = newTable(func(k endKey) prometheus.Counter { return ended.WithLabelValues(k.queue, k.job, k.outcome) })
	run, panics, timeouts := histograms("chime_job_run_seconds"), counters("chime_job_panics_total"), counters("chime_job_timeouts_total")
	m.runs = newTable(func(k jobKey) *attempts {
		return &attempts{run.with(k.queue, k.job), panics.WithLabelValues(k.queue, k.job), timeouts.WithLabelValues(k.queue, k.job)}
	})
	m.waits, m.late = measured("chime_job_wait_seconds"), measured("chime_schedule_lateness_seconds")
	occurrences := counters("chime_schedule_occurrences_total")
	m.occurrences = newTable(func(k occurrenceKey) prometheus.Counter { return occurrences.WithLabelValues(k.schedule, k.event) })
	m.lost, m.refused = byOne("chime_sessions_lost_total"), byOne("chime_results_refused_total")
	took, errors := histograms("chime_store_call_seconds"), counters("chime_store_errors_total")
	m.calls = newTable(func(op string) *callsOf {
		return &callsOf{took.with(op), errors.WithLabelValues(op)}
	})
	m.troubles = register(m, prometheus.NewGaugeVec(gaugeOf("chime_store_trouble"), labelsOf("chime_store_trouble")))
	m.lag = histograms("chime_schedule_placing_lag_seconds").with()
	for name, to := range map[string]*prometheus.Gauge{
		"chime_worker_slots": &m.slots, "chime_worker_slots_busy": &m.busy, "chime_worker_handlers_stuck": &m.stuck, "chime_leader": &m.leader,
	} {
		*to = register(m, prometheus.NewGauge(gaugeOf(name)))
	}
	m.leaderChanges = register(m, prometheus.NewCounter(counterOf("chime_leader_changes_total")))
	return m
}

func register[C prometheus.Collector](m *Metrics, c C) C {
	m.collectors = append(m.collectors, c)
	return c
}
