package pages

import (
	"fmt"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/blocked"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
)

// Banners returns the problems of the whole store. Every page shows them, except the overview, which has its own sentences for them.
func (s *Standing) Banners() []render.Banner {
	var banners []render.Banner
	if s.leaderless() {
		banners = append(banners, render.Banner{Kind: "late", Text: noLeader + " Start a program that runs a chime.Scheduler."})
	}
	if text := s.unservedText(); text != "" {
		banners = append(banners, render.Banner{Kind: "late", Text: text, Path: "queues", Do: "Show the queues"})
	}
	if parked := s.parkedQueues(); len(parked) > 0 {
		text := fmt.Sprintf("Jobs are parked on %s: no worker there has a handler for them.", firstOf(parked))
		banners = append(banners, render.Banner{Kind: "late", Text: text, Path: "jobs", Name: "state", Is: "parked", Do: "Show them"})
	}
	return banners
}

// noLeader is the sentence about a store without a leader. Workers place most occurrences themselves.
const noLeader = "No scheduler is the leader, so occurrences may start minutes late."

// leaderless reports whether there are schedules, and no scheduler leads.
func (s *Standing) leaderless() bool {
	return s.Leader != nil && s.Leader.Name == "" && s.schedules() > 0
}

// unservedText describes the queues that no live worker serves although there are jobs for it: those with jobs to run now, else, if there are workers,
// those whose jobs are due later. It is empty if there are none.
func (s *Standing) unservedText() string {
	waiting, later := overview.Unserved(s.Snapshot)
	switch {
	case len(waiting) > 0:
		return fmt.Sprintf("Jobs wait on %s, but no live worker serves %s.", firstOf(waiting), format.Agree(len(waiting), "it", "them"))
	case len(later) > 0 && len(s.Workers) > 0:
		return fmt.Sprintf("Delayed jobs or schedules are on %s, but no live worker serves %s.", firstOf(later), format.Agree(len(later), "it", "them"))
	}
	return ""
}

// blocking returns a function that returns what blocks every job of a live schedule's queue, in few words. They are empty if nothing does.
func (s *Standing) blocking() func(of *chime.Schedule) string {
	served, queues := s.Served(), make(map[string]*chime.QueueInfo, len(s.Queues))
	for _, q := range s.Queues {
		queues[q.Name] = q.QueueInfo
	}
	return func(of *chime.Schedule) string {
		queue := queues[of.Queue]
		if of.State != chime.StateLive || queue == nil { // its state shows the reason; or the queue is new
			return ""
		}
		return blocked.KindOf(queue, served(of.Queue)).String()
	}
}

// parkedQueues returns the queues with parked jobs.
func (s *Standing) parkedQueues() (parked []string) {
	for _, q := range s.Queues {
		if q.Parked > 0 {
			parked = append(parked, q.Name)
		}
	}
	return parked
}

// firstOf returns the name of the first queue and the number of the others.
func firstOf(queues []string) string {
	slices.Sort(queues)
	name := "queue " + queues[0]
	if more := len(queues) - 1; more > 0 {
		name += " and " + format.Plural(more, "other", "others")
	}
	return name
}

// schedules returns the number of schedules on all queues.
func (s *Standing) schedules() int64 {
	n := int64(0)
	for _, q := range s.Queues {
		n += q.Schedules
	}
	return n
}
