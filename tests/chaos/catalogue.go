//go:build unix

package chaos

import (
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// The queues of a run without groups. The last one has two partitions.
const (
	queueDefault = "default"
	queueJobs    = "jobs"
	queueWide    = "wide"
)

var (
	queueNames      = []string{queueDefault, queueJobs, queueWide}
	queueWeights    = map[string]int{queueDefault: 2, queueJobs: 3, queueWide: 1, queueGroups: 2}
	queuePartitions = map[string]int{queueWide: 2}
)

// The names of the jobs.
const (
	jobName        = "job"
	occurrenceName = "occurrence"
)

// maxCrashes is the workers' default: a job is dead when that many workers have vanished while they ran it.
const maxCrashes = 3

// A declaration is a schedule of the catalogue.
type declaration struct {
	name       string
	recurrence recurrence.Recurrence
	options    []chime.ScheduleOption
}

// changedPrefix begins the names of the schedules that the changer changes, pauses and moves.
const changedPrefix = "changed."

func isChanged(schedule string) bool { return strings.HasPrefix(schedule, changedPrefix) }

// declared are the schedules of the schedulers: every overlap policy with every misfire policy, every second and every two seconds until end, and
// one with a count.
func declared(end time.Time) []declaration {
	var all []declaration
	for _, overlap := range []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel, chime.OverlapAllow} {
		for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
			for _, seconds := range []int{1, 2} {
				name := string(overlap) + "." + string(misfire) + "." + string(rune('0'+seconds))
				all = append(all, declaration{name, every(seconds, end), options(overlap, misfire, queueNames[seconds])})
			}
		}
	}
	counted := recurrence.Recurrence{Frequency: recurrence.Second, Count: 20}
	return append(all, declaration{"counted", counted, options(chime.OverlapAllow, chime.MisfireRunOnce, queueDefault)})
}

// changed are the schedules of the changer.
func changed(end time.Time) []declaration {
	return []declaration{
		{changedPrefix + "skip", every(1, end), options(chime.OverlapSkip, chime.MisfireRunOnce, queueDefault)},
		{changedPrefix + "wait", every(1, end), options(chime.OverlapWait, chime.MisfireSkip, queueDefault)},
		{changedPrefix + "cancel", every(1, end), options(chime.OverlapCancel, chime.MisfireRunOnce, queueDefault)},
		{changedPrefix + "allow", every(1, end), options(chime.OverlapAllow, chime.MisfireCatchUp, queueDefault)},
	}
}

func every(seconds int, end time.Time) recurrence.Recurrence {
	return recurrence.Recurrence{Frequency: recurrence.Second, Interval: seconds, EndTime: end}
}

func options(overlap chime.OverlapPolicy, misfire chime.MisfirePolicy, queue string) []chime.ScheduleOption {
	return []chime.ScheduleOption{
		chime.JobName(occurrenceName), chime.Queue(queue), chime.Overlap(overlap), chime.Misfire(misfire), chime.Grace(time.Second),
		chime.MaxAttempts(maxAttempts),
	}
}
