package pages

import (
	"fmt"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// Banners returns the problems of the whole store. Every page shows them, except the overview, which has its own sentences for them.
func (s *Standing) Banners() []render.Banner {
	var banners []render.Banner
	if s.Leader != nil && s.Leader.Name == "" && s.schedules() > 0 {
		banners = append(banners, render.Banner{Kind: "late", Text: "No scheduler is the leader, so occurrences may start minutes late. Start a program that runs a chime.Scheduler."})
	}
	unserved, parked := s.blockedQueues()
	add := func(queues []string, b render.Banner) {
		if len(queues) > 0 {
			b.Kind, b.Text = "late", fmt.Sprintf(b.Text, firstOf(queues))
			banners = append(banners, b)
		}
	}
	add(unserved, render.Banner{Text: "Jobs wait on %s, but no live worker serves it.", Path: "queues", Do: "Show the queues"})
	add(parked, render.Banner{Text: "Jobs are parked on %s: no worker there has a handler for them.", Path: "jobs", Name: "state", Is: "parked", Do: "Show them"})
	return banners
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
		name = fmt.Sprintf("%s and %d others", name, more)
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
