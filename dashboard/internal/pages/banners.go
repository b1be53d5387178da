package pages

import (
	"fmt"
	"slices"

	"github.com/chimejobs/chime/dashboard/internal/render"
)

// Banners are what is wrong with the whole. Every page shows it but the overview, whose sentences say it.
func (s *Standing) Banners() []render.Banner {
	var banners []render.Banner
	if s.Leader != nil && s.Leader.Name == "" && s.schedules() > 0 {
		banners = append(banners, render.Banner{Kind: "late", Text: "No scheduler leads: occurrences may start late by minutes. Start a program that runs a chime.Scheduler."})
	}
	unserved, parked := s.hindered()
	add := func(queues []string, b render.Banner) {
		if len(queues) > 0 {
			b.Kind, b.Text = "late", fmt.Sprintf(b.Text, firstOf(queues))
			banners = append(banners, b)
		}
	}
	add(unserved, render.Banner{Text: "Jobs wait on %s, and no worker that lives takes from it.", Path: "queues", Do: "Look at the queues"})
	add(parked, render.Banner{Text: "Jobs are parked on %s: no worker there has a handler for them.", Path: "jobs", Name: "state", Is: "parked", Do: "Look at them"})
	return banners
}

// hindered are the queues whose jobs no worker runs: those on which jobs wait and from which none takes, and those on which jobs are parked.
func (s *Standing) hindered() (unserved, parked []string) {
	served := map[string]bool{}
	for _, w := range s.Workers {
		for queue := range w.Queues {
			served[queue] = true
		}
	}
	for _, q := range s.Queues {
		if !served[q.Name] && q.Waiting > 0 {
			unserved = append(unserved, q.Name)
		}
		if q.Parked > 0 {
			parked = append(parked, q.Name)
		}
	}
	return unserved, parked
}

// firstOf names the first of some queues, and says how many others there are.
func firstOf(queues []string) string {
	slices.Sort(queues)
	name := "queue " + queues[0]
	if more := len(queues) - 1; more > 0 {
		name = fmt.Sprintf("%s and %d others", name, more)
	}
	return name
}

// schedules is how many schedules there are on all queues.
func (s *Standing) schedules() int64 {
	n := int64(0)
	for _, q := range s.Queues {
		n += q.Schedules
	}
	return n
}
