package pages

import (
	"fmt"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/blocked"
	"github.com/chimejobs/chime/internal/format"
)

// Banners returns the problems of the whole store. Every page shows them, except the overview, which has its own sentences for them.
func (s *Standing) Banners() []render.Banner {
	var banners []render.Banner
	if s.leaderless() {
		banners = append(banners, render.Banner{Kind: "late", Text: noLeader + " Start a program that runs a chime.Scheduler."})
	}
	unserved, parked := s.blockedQueues()
	if len(unserved) > 0 {
		banners = append(banners, render.Banner{Kind: "late", Text: unservedText(unserved), Path: "queues", Do: "Show the queues"})
	}
	if len(parked) > 0 {
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

// unservedText describes queues on which jobs wait and that no live worker serves.
func unservedText(queues []string) string {
	return fmt.Sprintf("Jobs wait on %s, but no live worker serves %s.", firstOf(queues), format.Agree(len(queues), "it", "them"))
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

// blockedQueues returns the queues whose jobs no worker runs: queues with waiting jobs from which no worker takes, and queues with parked jobs.
func (s *Standing) blockedQueues() (unserved, parked []string) {
	served := s.Served()
	for _, q := range s.Queues {
		overdue := !q.Next.IsZero() && q.Next.Before(s.At)
		if q.Blocked(served(q.Name)) == chime.ReasonUnserved && (q.Waiting > 0 || overdue) {
			unserved = append(unserved, q.Name)
		}
		if q.Parked > 0 {
			parked = append(parked, q.Name)
		}
	}
	return unserved, parked
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
