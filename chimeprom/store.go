package chimeprom

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chimejobs/chime"
)

const (
	readEvery   = 5 * time.Second // the minimum time between two reads of the store, for any number of scrapes
	readTimeout = 2 * time.Second
)

// Store returns a collector of the store-wide metrics. Register it beside Metrics, in one process, or in each one if queries use the maximum.
//
// It reads the store during a scrape, at most once in 5 s. A read takes at most 2 s. If it fails, or takes longer, all store-wide metrics
// are absent until the next read, and chime_scrape_errors_total counts it. It reads counters, and the schedules with their own
// labels. The values of other schedules, and the number of schedules, come from the last read of all schedules. If there are more than 1,000,
// that read continues between scrapes, 1,000 in each half second.
//
// A user of Redis with read-only access (docs/access.md) has enough permissions.
func (m *Metrics) Store(store chime.Store) prometheus.Collector {
	errors := prometheus.NewCounter(counterOf("chime_scrape_errors_total"))
	return &storeCollector{reader: newReader(store, m.schedules, errors.Inc), queues: learning(), errors: errors, free: make(chan struct{}, 1)}
}

// A storeCollector reads the store for all scrapes.
type storeCollector struct {
	reader *reader
	queues *names
	errors prometheus.Counter
	free   chan struct{} // capacity 1: a read is running, possibly one that no scrape waits for any more

	mu   sync.Mutex
	at   time.Time // of the last read
	last *snapshot // nil: it failed
}

// descs are the descriptions of the store-wide metrics.
var descs = func() map[string]*prometheus.Desc {
	all := make(map[string]*prometheus.Desc)
	for _, d := range definitions {
		if d.storeWide && d.name != "chime_scrape_errors_total" {
			all[d.name] = prometheus.NewDesc(d.name, d.help, d.labels, nil)
		}
	}
	return all
}()

func (c *storeCollector) Describe(to chan<- *prometheus.Desc) {
	c.errors.Describe(to)
	for _, d := range descs {
		to <- d
	}
}

func (c *storeCollector) Collect(to chan<- prometheus.Metric) {
	if read := c.current(); read != nil {
		c.send(read, to)
	}
	c.errors.Collect(to)
}

// current is the result of a read within the last five seconds, or of a new one; nil: that failed.
func (c *storeCollector) current() *snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.at.IsZero() || now.Sub(c.at) >= readEvery || now.Before(c.at) {
		c.last = c.read()
		if c.at = now; c.last == nil {
			c.errors.Inc()
		}
	}
	return c.last
}

// read reads the store, for at most two seconds. If a read ignores its ctx, it is not waited for, and no other one begins before it has ended.
func (c *storeCollector) read() *snapshot {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	done := make(chan *snapshot, 1)
	select {
	case c.free <- struct{}{}:
	default:
		cancel()
		return nil
	}
	go func() {
		defer cancel()
		read, err := c.reader.read(ctx)
		if err != nil || ctx.Err() != nil {
			read = nil
		}
		<-c.free
		done <- read
	}()
	select {
	case read := <-done:
		return read
	case <-ctx.Done():
	}
	select {
	case read := <-done: // both at once
		return read
	default:
		return nil
	}
}

// send sends a snapshot as metrics.
func (c *storeCollector) send(read *snapshot, to chan<- prometheus.Metric) {
	gauge := func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(descs[name], prometheus.GaugeValue, value, labels...)
	}
	for label, q := range c.byLabel(read.queues) {
		running := "running"
		if q.Ahead < 0 { // it is not known which of them have begun
			running = "in_flight"
		}
		for _, of := range []struct {
			state string
			jobs  int64
		}{{"waiting", q.Waiting}, {"delayed", q.Delayed}, {running, q.Running}, {"taken", q.Ahead}, {"vanished", q.Vanished}, {"dead", q.Dead}, {"parked", q.Parked}} {
			if of.jobs >= 0 {
				gauge("chime_queue_jobs", float64(of.jobs), label, of.state)
			}
		}
		oldest := 0.0
		if !q.Oldest.IsZero() {
			oldest = max(q.Now.Sub(q.Oldest), 0).Seconds()
		}
		gauge("chime_queue_oldest_seconds", oldest, label)
		late := 0.0
		if !q.Outbox.Oldest.IsZero() {
			late = max(q.Now.Sub(q.Outbox.Oldest), 0).Seconds()
		}
		gauge("chime_queue_outbox", float64(q.Outbox.Waiting), label)
		gauge("chime_queue_outbox_oldest_seconds", late, label)
		gauge("chime_queue_paused", one(q.Paused), label)
		gauge("chime_queue_sessions", float64(q.Sessions), label)
		for _, of := range []struct {
			outcome string
			ended   int64
		}{{"done", q.Done}, {"failed", q.Failed}, {"dead", q.Died}, {"expired", q.Expired}} {
			to <- prometheus.MustNewConstMetric(descs["chime_queue_ended_total"], prometheus.CounterValue, float64(of.ended), label, of.outcome)
		}
	}
	c.sendGroups(read, gauge)
	c.sendBatches(read, gauge)
	gauge("chime_leader_term", float64(read.term))
	if s := read.sums; s != nil {
		for _, state := range []chime.ScheduleState{chime.StateLive, chime.StatePaused, chime.StateCompleted} {
			gauge("chime_schedules", float64(s.states[state]), string(state))
		}
		gauge("chime_schedules_owed", float64(s.owed))
	}
	for label, t := range read.times {
		for _, of := range []struct {
			name string
			at   time.Time
		}{{"chime_schedule_next_timestamp_seconds", t.next}, {"chime_schedule_last_success_timestamp_seconds", t.success}} {
			if !of.at.IsZero() {
				gauge(of.name, float64(of.at.UnixMilli())/1000, label)
			}
		}
		if t.period > 0 {
			gauge("chime_schedule_period_seconds", t.period.Seconds(), label)
		}
		if t.acknowledged {
			gauge("chime_schedule_acknowledged", 1, label)
		}
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// byLabel groups the queues by their labels. The group other has the oldest job of its queues, and is paused if one of them is.
func (c *storeCollector) byLabel(queues []*chime.QueueInfo) map[string]chime.QueueInfo {
	all := make(map[string]chime.QueueInfo, len(queues))
	for _, q := range queues {
		label := c.queues.label(q.Name)
		sum, ok := all[label]
		if !ok {
			all[label] = *q
			continue
		}
		sum.Waiting, sum.Delayed, sum.Running = sum.Waiting+q.Waiting, sum.Delayed+q.Delayed, sum.Running+q.Running
		if sum.Ahead >= 0 && q.Ahead >= 0 {
			sum.Ahead += q.Ahead
		} else {
			sum.Ahead = -1
		}
		sum.Vanished += q.Vanished
		sum.Dead, sum.Parked, sum.Sessions = sum.Dead+q.Dead, sum.Parked+q.Parked, sum.Sessions+q.Sessions
		sum.Done, sum.Failed, sum.Died, sum.Expired = sum.Done+q.Done, sum.Failed+q.Failed, sum.Died+q.Died, sum.Expired+q.Expired
		sum.Paused = sum.Paused || q.Paused
		sum.Outbox.Waiting += q.Outbox.Waiting
		if at := q.Outbox.Oldest; !at.IsZero() && (sum.Outbox.Oldest.IsZero() || at.Before(sum.Outbox.Oldest)) {
			sum.Outbox.Oldest = at
		}
		if !q.Oldest.IsZero() && (sum.Oldest.IsZero() || q.Oldest.Before(sum.Oldest)) {
			sum.Oldest = q.Oldest
		}
		all[label] = sum
	}
	return all
}
