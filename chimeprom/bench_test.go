package chimeprom

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// batch is roughly the number of jobs in one call of an observer, when a worker is busy.
const batch = 64

// events are jobs of three kinds; some of them are occurrences.
func events() []chime.JobEvent {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	all := make([]chime.JobEvent, batch)
	for i := range all {
		due := begin.Add(time.Duration(i) * time.Second)
		all[i] = chime.JobEvent{
			Queue: "default", Name: []string{"mail", "report", "index"}[i/20%3], ID: "x", Attempt: 1, Due: due, Waited: due, Started: due.Add(time.Duration(i+1) * time.Millisecond),
			Ended: due.Add(time.Duration(3*i+7) * time.Millisecond), Outcome: chime.RunDone, First: true,
		}
		if i%8 == 0 {
			all[i].Schedule, all[i].Origin = "s", "occurrence"
		}
	}
	return all
}

// One operation is all events of one job: enqueued, begun and ended.
func BenchmarkJob(b *testing.B) {
	o := New(Options{Jobs: []string{"mail", "report", "index"}, Schedules: []string{"s"}}).Observer()
	jobs := events()
	b.ReportAllocs()
	for done := 0; done < b.N; done += batch {
		o.Enqueued(jobs)
		o.Begun(jobs)
		o.Ended(jobs)
	}
}
