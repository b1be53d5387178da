// Package story is a fixed snapshot of a busy store, for the picture in the docs and for tests of the screen.
package story

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/recurrence"
)

// At is the instant of the story, by the store's clock and the machine's.
var At = time.Date(2026, 11, 20, 13, 26, 48, 0, time.UTC)

// Address is the address of its store.
const Address = "billing @ redis:6379"

// Zone is the first zone of the screen: CET, the zone of Berlin in winter.
var Zone = time.FixedZone("CET", 3600)

// Snapshot returns a new copy of the story.
func Snapshot() *overview.Snapshot {
	return &overview.Snapshot{
		At: At, Leader: &chime.Leader{Name: "app-2:812:JBSWY3DPEHPK3PXP", Host: "app-2", PID: 812, Term: 14}, Notes: map[overview.Panel]string{}, Held: 40,
		Flow: overview.Flow{
			In: 1204, Out: 1198, Failed: 0.4, Ins: wave(71_000, 9_000, 3), Outs: wave(70_500, 8_000, 5), Faileds: wave(24, 20, 7),
			Late: wave(3, 2, 11), P50: time.Millisecond, P99: 3 * time.Millisecond, Timed: true,
		},
		Queues: []overview.Queue{
			queue("default", 312, 10_204, 36, 3, 0, 200*time.Millisecond, 71_880, 71_790, 24),
			queue("mail", 0, 1_288, 3, 21, 0, 0, 312, 309, 0),
			paused(queue("media", 48, 17, 1, 0, 0, 42*time.Minute, 12, 0, 0)),
			queue("reports", 0, 4, 0, 0, 2, 0, 1, 1, 0),
		},
		Next: []*chime.Schedule{
			schedule("heartbeat", 3200*time.Millisecond, "* * * * *", chime.RunDone),
			schedule("report", 3*time.Minute+12*time.Second, "*/15 * * * *", chime.RunDone),
			schedule("sync-crm", 33*time.Minute+12*time.Second, "0 * * * *", chime.RunFailed),
			schedule("cleanup", 11*time.Hour+33*time.Minute+12*time.Second, "0 2 * * *", ""),
			schedule("invoices", 10*24*time.Hour+3*time.Hour, "0 18 28 * *", chime.RunDead),
		},
		Running: append([]*chime.JobInfo{
			running("resize", "01kbq3m8d2w7", "media", 242*time.Second, "w1", 0.62),
			running("transcode", "01kbq3p4x9yz", "default", 65*time.Second, "w1", 0.18),
			running("report", "report@2026-11-20T13:15:00Z", "default", 12*time.Second, "w2", -1),
			running("send", "01kbq4aa7c10", "mail", 400*time.Millisecond, "w2", -1),
			running("send", "01kbq4aa7c11", "mail", 310*time.Millisecond, "w3", -1),
		}, resizes(35)...),
		Failures: []overview.Group{
			group("default", "resize", "dial tcp #.#.#.#:#: connection refused", 24, time.Minute, 3),
			group("mail", "send", "#: mailbox unavailable", 21, 4*time.Minute, 21),
			group("default", "sync-crm", "timeout after # s", 2, 26*time.Minute, 1),
			group("mail", "send", "", 7, 0, 0),
		},
		Workers: []overview.Worker{
			worker("w1", "app-1", 4711, 20, 20, 2*time.Minute),
			worker("w2", "app-2", 812, 14, 20, 0),
			worker("w3", "app-3", 90, 6, 20, 0),
		},
	}
}

// Model returns a screen of a size that shows the story.
func Model(width, height int, o top.Options) *top.Model {
	o.Address, o.Now = Address, At
	if o.Every == 0 {
		o.Every = top.DefaultEvery
	}
	if o.Zones == nil {
		o.Zones = []*time.Location{Zone, time.UTC}
	}
	return top.NewShowing(o, width, height, Snapshot())
}

// wave returns an hour of values around a mean that look like traffic.
func wave(mean, swing float64, step int) []float64 {
	values := make([]float64, 60)
	for i := range values {
		values[i] = max(0, mean+swing*float64((i*step)%13-6)/6+swing*float64(i)/60)
	}
	return values
}

func queue(name string, waiting, delayed, running, dead, parked int64, oldest time.Duration, in, out, failed float64) overview.Queue {
	q := overview.Queue{
		QueueInfo: &chime.QueueInfo{
			Name: name, Partitions: 1, Waiting: waiting, Delayed: delayed, Running: running, Dead: dead, Parked: parked,
			Enqueued: int64(in) * 5000, Done: int64(out) * 5000, Failed: int64(failed) * 300, Retried: int64(failed) * 290, Died: dead, Now: At,
		},
		In: in, Out: out, Failed: failed, Known: true, Outs: wave(out, out/4, len(name)),
	}
	if oldest > 0 {
		q.Oldest = At.Add(-oldest)
	}
	return q
}

func paused(q overview.Queue) overview.Queue {
	q.Paused, q.Note = true, chime.Note{Text: "the disk is being moved", By: "anna", At: At.Add(-42 * time.Minute)}
	return q
}

func schedule(name string, in time.Duration, rule string, last chime.RunOutcome) *chime.Schedule {
	rec, err := recurrence.Cron(rule)
	if err != nil {
		panic(err)
	}
	s := &chime.Schedule{
		Name: name, JobName: name, Queue: "default", Recurrence: rec, State: chime.StateLive, Created: At.AddDate(0, -3, 0),
		Overlap: chime.OverlapSkip, Misfire: chime.MisfireRunOnce, Next: At.Add(in),
	}
	if last != "" {
		s.Last = chime.LastRun{Outcome: last, Planned: At.Add(-15 * time.Minute), Ended: At.Add(-14 * time.Minute)}
	}
	return s
}

// resizes returns short jobs.
func resizes(n int) (jobs []*chime.JobInfo) {
	for i := range n {
		jobs = append(jobs, running("resize", fmt.Sprintf("01kbq5%06x", i*7919), "default", time.Duration(290-i*7)*time.Millisecond, []string{"w1", "w2", "w1", "w3"}[i%4], -1))
	}
	return jobs
}

// running returns a running job. Below 0 it has no progress.
func running(job, id, queue string, since time.Duration, worker string, part float64) *chime.JobInfo {
	j := &chime.JobInfo{
		ID: id, Name: job, Queue: queue, State: chime.JobRunning, Started: At.Add(-since), Enqueued: At.Add(-since - time.Second), Attempt: 1, Worker: worker,
	}
	if part >= 0 {
		j.Progress, _ = chime.Encode(part)
	}
	return j
}

func group(queue, job, text string, times int64, last time.Duration, jobs int) overview.Group {
	g := overview.Group{Queues: []string{queue}, Job: job, Error: text, Count: times}
	if last > 0 {
		g.Last, g.First = At.Add(-last), At.Add(-last-20*time.Minute)
	}
	for i := range jobs {
		j := &chime.JobInfo{
			ID: fmt.Sprintf("01kbq2%s%02d", job[:2], i), Name: job, Queue: queue, State: chime.JobDead, Attempt: 5, LastError: text,
			Ended: At.Add(-last - time.Duration(i)*time.Second),
		}
		if i%3 == 2 {
			j.State, j.Due = chime.JobRetrying, At.Add(time.Minute)
		}
		g.Jobs = append(g.Jobs, j)
	}
	return g
}

func worker(name, host string, pid, busy, slots int, full time.Duration) overview.Worker {
	w := overview.Worker{Counted: true, WorkerInfo: &chime.WorkerInfo{
		Name: name, Host: host, PID: pid, Version: "v1.4.0", Queues: map[string]int{"default": 3, "mail": 1}, Slots: slots, Busy: busy,
		Since: At.Add(-26 * time.Hour), Seen: At.Add(-3 * time.Second),
	}}
	if full > 0 {
		w.Full = At.Add(-full)
	}
	return w
}
