//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

// Figures are the published numbers of a run, in one line.
type Figures struct {
	Seed   uint64 `json:"seed"`
	Date   string `json:"date"`
	Length string `json:"length"`

	Jobs        int `json:"jobs"`        // accepted
	Occurrences int `json:"occurrences"` // that began
	Wiped       int `json:"wiped"`       // accepted jobs that the emptied server lost
	Reruns      int `json:"reruns"`      // repeated runs with a cause
	Dead        int `json:"dead"`        // jobs dead with a reason
	Grouped     int `json:"grouped"`     // accepted jobs of groups
	Ordered     int `json:"ordered"`     // those of them whose groups run in order

	Lost        int `json:"lost"`
	Doubled     int `json:"doubled"`
	Stuck       int `json:"stuck"`
	Unaccounted int `json:"unaccounted"` // schedules with an instant that was neither run nor counted
	Others      int `json:"others"`      // findings of other rules

	RepliesLost   int64 `json:"replies_lost"`
	RedisKills    int   `json:"redis_kills"`
	Emptied       int   `json:"emptied"`
	Flushes       int   `json:"flushes"`
	Outages       int   `json:"outages"`
	WorkerKills   int   `json:"worker_kills"`
	Zombies       int   `json:"zombies"` // workers stopped or cut off
	Drains        int   `json:"drains"`
	LeaderFaults  int   `json:"leader_faults"` // killed or stopped
	OtherKills    int   `json:"other_kills"`   // of enqueuers and of the changer
	ReapedRefused int64 `json:"reaped_refused"`

	Rollbacks int `json:"rollbacks"` // returns of one slot to an earlier state
	Forgotten int `json:"forgotten"` // accepted jobs that were lost by them
	Again     int `json:"again"`     // repeated runs that they caused
	TwoHomes  int `json:"two_homes"` // repeated runs of schedules that lived in two queues until the next sweep

	Recovery float64 `json:"recovery_s"` // longest time from a worker's death until a job that it ran begins again
	Service  float64 `json:"service_s"`  // longest time from the kill of the server until a job begins
}

// NewFigures computes the figures that come from the history of a run.
func NewFigures(o Options, h *History, s *Snapshot, found Findings, reruns map[string]int) Figures {
	f := Figures{Seed: o.Seed, Date: time.Now().UTC().Format(time.DateOnly), Length: o.Length.String(), Dead: len(s.Dead)}
	for _, b := range h.Batches {
		if b.Accepted.IsZero() {
			continue
		}
		f.Jobs += b.Jobs
		if b.Group != "" {
			f.Grouped += b.Jobs
		}
		if strings.HasPrefix(b.Group, "ordered") {
			f.Ordered += b.Jobs
		}
		for i := range b.Jobs {
			if j := h.Jobs[jobKey(b.Key, i)]; b.Offered.Before(h.Emptied.To) && (j == nil || !j.done(0)) {
				f.Wiped++
			} else if h.mayLose(b) && (j == nil || !j.done(0)) {
				f.Forgotten++
			}
		}
	}
	for _, j := range h.Jobs {
		if j.Batch == nil {
			f.Occurrences++
		}
	}
	for _, n := range reruns {
		f.Reruns += n
	}
	f.Rollbacks, f.Again, f.TwoHomes = len(h.Rollbacks), reruns[backCause], reruns[twoHomesCause]
	f.Lost = found.count(Lost) + found.count(Vanished)
	f.Doubled = found.count(Doubled) + found.count(Refenced)
	f.Stuck = found.count(Stuck) + found.count(Orphaned)
	f.Unaccounted = found.count(Unaccounted)
	f.Others = len(found) - f.Lost - f.Doubled - f.Stuck - f.Unaccounted
	f.Recovery, f.Service = longestRecovery(h).Seconds(), longestService(h).Seconds()
	return f
}

// count adds the numbers of faults.
func (f *Figures) count(did map[Kind]int) {
	f.RedisKills, f.Emptied, f.Flushes, f.Outages = did[KillRedis], did[EmptyRedis], did[Flush], did[Outage]
	f.WorkerKills, f.Zombies, f.Drains = did[KillWorker], did[StopWorker]+did[CutWorker], did[EndWorker]
	f.LeaderFaults, f.OtherKills = did[KillLeader]+did[StopLeader], did[KillEnqueuer]+did[KillChanger]
}

// String returns the line.
func (f Figures) String() string {
	return fmt.Sprintf("chaos: seed %d, %s, %s: %s jobs (%s of groups, %s in order) and %s occurrences; lost %d, doubled %d, stuck %d, unaccounted %d, other findings %d; "+
		"%s replies lost, %d kills of Redis, emptied %d (%s jobs gone), %d script flushes, %d outages, %d workers killed, %d zombies, "+
		"%d drains, %d leaders killed or stopped, %d other kills; %d slots went back (%d jobs gone, %d runs again, %d in two queues); %s reruns with a cause, %s calls of reaped sessions refused, %d jobs dead with a reason; "+
		"longest recovery %.1f s, longest service after a kill of Redis %.1f s",
		f.Seed, f.Date, f.Length, format.Count(f.Jobs), format.Count(f.Grouped), format.Count(f.Ordered), format.Count(f.Occurrences), f.Lost, f.Doubled, f.Stuck, f.Unaccounted, f.Others,
		format.Count(f.RepliesLost), f.RedisKills, f.Emptied, format.Count(f.Wiped), f.Flushes, f.Outages, f.WorkerKills, f.Zombies,
		f.Drains, f.LeaderFaults, f.OtherKills, f.Rollbacks, f.Forgotten, f.Again, f.TwoHomes, format.Count(f.Reruns), format.Count(f.ReapedRefused), f.Dead, f.Recovery, f.Service)
}

// Table returns the figures as rows of a Markdown table.
func (f Figures) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| seed %d, %s, %s | |\n| --- | ---: |\n", f.Seed, f.Date, f.Length)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	row("jobs accepted; occurrences begun", "%s; %s", format.Count(f.Jobs), format.Count(f.Occurrences))
	if f.Grouped > 0 {
		row("of these jobs: of groups; of groups that run in order", "%s; %s", format.Count(f.Grouped), format.Count(f.Ordered))
	}
	row("**jobs and occurrences that were lost; that ran or were counted twice; that never ended; schedules with an instant of unknown fate; other findings**", "%d; %d; %d; %d; %d",
		f.Lost, f.Doubled, f.Stuck, f.Unaccounted, f.Others)
	row("replies lost after the server had executed the call", "%s", format.Count(f.RepliesLost))
	row("Redis killed; emptied; made to forget its scripts; unreachable", "%d; %d; %d; %d", f.RedisKills, f.Emptied, f.Flushes, f.Outages)
	row("workers killed; stopped or disconnected, and continued later; shut down gracefully", "%d; %d; %d", f.WorkerKills, f.Zombies, f.Drains)
	if f.Rollbacks > 0 {
		row("returns of one slot alone to an earlier state; jobs that it forgot; runs again because of it; of these in two queues, until the next sweep", "%d; %s; %s; %d",
			f.Rollbacks, format.Count(f.Forgotten), format.Count(f.Again+f.TwoHomes), f.TwoHomes)
	}
	row("leaders killed or stopped; other processes killed", "%d; %d", f.LeaderFaults, f.OtherKills)
	row("jobs that ran again, each with a known cause; calls that were refused because their session had been reaped", "%s; %s", format.Count(f.Reruns), format.Count(f.ReapedRefused))
	row("jobs that the emptied server forgot; dead with a reason", "%s; %d", format.Count(f.Wiped), f.Dead)
	row("longest from a worker's death until its job runs again (session of 1 s)", "%.1f s", f.Recovery)
	row("longest from the kill of Redis until a job begins", "%.1f s", f.Service)
	return b.String()
}

// longestRecovery returns the longest time from the kill of a worker until a job that it ran began again. It considers only first crashes of a job,
// because the second is delayed on purpose, and only times without a fault of the server, of the queue or of the next worker. Jobs of groups wait for their
// turn, or until the group is resumed.
func longestRecovery(h *History) time.Duration {
	var longest time.Duration
	for _, j := range h.Jobs {
		if j.Batch != nil && j.Batch.Group != "" {
			continue
		}
		runs := j.byFence()
		for i := 1; i < len(runs); i++ {
			r, next := runs[i-1], runs[i]
			killed := r.Process.Killed
			crashedOnce := i == 1 || runs[0].Outcome == Failed && i == 2
			if r.Outcome != Unended || killed.IsZero() || killed.Before(r.Begun) || next.Begun.Before(killed) || !crashedOnce ||
				overlapping(h.Down, r.Begun, next.Begun) || overlapping(r.Process.Stops, r.Begun, next.Begun) || overlapping(next.Process.Stops, r.Begun, next.Begun) ||
				overlapping(r.Process.Cuts, r.Begun, next.Begun) || overlapping(next.Process.Cuts, r.Begun, next.Begun) ||
				h.lostOn(r.Queue, r.taken(), next.Begun) {
				continue
			}
			longest = max(longest, next.Begun.Sub(killed))
		}
	}
	return longest
}

// longestService returns the longest time from a kill of the server until the next job began.
func longestService(h *History) time.Duration {
	begins := make([]time.Time, 0, len(h.Jobs))
	for _, j := range h.Jobs {
		for _, r := range j.Runs {
			begins = append(begins, r.Begun)
		}
	}
	slices.SortFunc(begins, time.Time.Compare)
	var longest time.Duration
	for _, w := range h.Down {
		if !slices.ContainsFunc(h.Kills, w.From.Equal) {
			continue
		}
		if i, _ := slices.BinarySearchFunc(begins, w.To, time.Time.Compare); i < len(begins) {
			longest = max(longest, begins[i].Sub(w.From))
		}
	}
	return longest
}
