package pages

import (
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
)

// A Known is a problem that somebody has acknowledged.
type Known struct {
	chime.Acknowledgement
	Text   string
	Path   string // the page with details
	Filter string // of the list of jobs; empty: none
}

// Tick returns the value that identifies acknowledged failures in a form.
func (k Known) Tick() string { return k.Job + "\t" + k.Shape }

// coveredSchedule returns the acknowledgement that holds for a schedule; nil: none does.
func coveredSchedule(known []chime.Acknowledgement, s *chime.Schedule, now time.Time) *chime.Acknowledgement {
	for i := range known {
		if known[i].Covers(s, now) {
			return &known[i]
		}
	}
	return nil
}

// openFailures returns the groups of failures that nobody has acknowledged, and the acknowledged ones.
func (s *Site) openFailures(standing *Standing) (open []overview.Group, known []Known) {
	for _, g := range standing.Failures {
		of := standing.Acknowledged(&g)
		if of == nil {
			open = append(open, g)
			continue
		}
		row := s.failureRow(g)
		text := format.Plural(g.Count, "attempt", "attempts") + " of job " + g.Job + " failed in the last hour"
		if row.Error != "" {
			text += ": " + row.Error
		}
		known = append(known, Known{Acknowledgement: *of, Text: text, Path: "jobs", Filter: row.Filter})
	}
	return open, known
}
