package service

import (
	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// The writers of a pause, from its note.
const (
	byClient     = "rest:client"
	byCollection = "rest:collection"
	byDeaths     = "chime" // chime.PauseAfter
)

func clientNote() chime.Note { return chime.Note{Text: "the job is disabled", By: byClient} }
func collectionNote() chime.Note {
	return chime.Note{Text: "the job's collection is disabled", By: byCollection}
}

// A step takes a schedule one step towards its target state.
type step int

const (
	stay              step = iota // it is in its target state
	remove                        // delete it
	pauseByClient                 // pause it, or replace another note of ours
	pauseByCollection             // the same for the collection
	resume                        // resume it
)

// nextStep is the next step of a schedule. The collection is nil if it is gone; it was read after the schedule.
func nextStep(s *chime.Schedule, m meta, c *collection.Record) step {
	if c == nil || c.State == collection.Deleted || c.Creation != m.Collection {
		return remove
	}
	held := s.State == chime.StatePaused
	if s.State == chime.StateCompleted || held && s.Note.By != byClient && s.Note.By != byCollection {
		return stay
	}
	switch {
	case m.State == resource.Disabled:
		if !held || s.Note.By != byClient {
			return pauseByClient
		}
	case c.State == collection.Disabled:
		if !held || s.Note.By != byCollection {
			return pauseByCollection
		}
	case held:
		return resume
	}
	return stay
}

// pausedAtCreation is the option of a Put that creates a schedule in its target state; nil: live.
func pausedAtCreation(m meta, c *collection.Record) chime.PutOption {
	switch {
	case m.State == resource.Disabled:
		return chime.Paused(clientNote())
	case c.State == collection.Disabled:
		return chime.Paused(collectionNote())
	}
	return nil
}

// waitsForItsOnlyRun reports whether a schedule runs once and has not run yet: that run is not part of a gap.
func waitsForItsOnlyRun(s *chime.Schedule) bool {
	r := s.Recurrence
	return r.Frequency == 0 && r.Cron == "" && len(r.Also) == 0 && s.Used == 0
}
