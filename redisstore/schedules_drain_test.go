package redisstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// settlement ends the flight of a job in a random way.
func (w *scheduleWalk) settlement(job protocol.TakenJob, draining bool) protocol.Settlement {
	s := protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone}
	outcome, body := "done", []byte("\x01again "+job.ID)
	if !draining {
		switch w.random.IntN(10) {
		case 0, 1:
			s.Kind, s.Delay, s.Failed, s.Body, outcome = protocol.SettleLater, time.Duration(w.random.IntN(3000))*time.Microsecond, true, body, "failed"
		case 2:
			s.Kind, s.Delay, s.Body, outcome = protocol.SettleLater, time.Hour, body, "snoozed"
		case 3:
			s.Kind, outcome = protocol.SettleBack, ""
		case 4:
			s.Kind, s.Name, outcome = protocol.SettlePark, storesuite.WalkParks[w.random.IntN(2)], ""
		case 5:
			s.Kind, s.Failed, s.Body, outcome = protocol.SettleDead, true, body, "dead"
		case 6:
			if job.New {
				s.Kind, outcome = protocol.SettleMissed, "missed"
			}
		}
	}
	if strings.Contains(job.ID, "@") && outcome != "" {
		s.Run = &protocol.RunRecord{Started: time.Now(), Ended: time.Now(), Outcome: outcome}
		if outcome != "missed" {
			s.Run.Attempt, s.Run.Fence, s.Run.Worker, s.Run.Note = 1, job.Fence, "w", "1\t\n2,3:"
		}
		if s.Failed {
			s.Run.Error = "no"
		}
	}
	return s
}

// drain ends everything and checks that nothing is left: first it pauses the schedules that have an occurrence in the future.
func (w *scheduleWalk) drain() {
	for _, group := range walkGroups[1:] {
		if err := w.store.PauseGroup(w.Context(), "default", group, false, protocol.Note{}); err != nil {
			w.Fatal(err)
		}
	}
	for _, name := range w.names() {
		if s := w.schedules[name]; s.exists && s.state == protocol.StateLive && s.cursor != "" && w.occurrences[s.cursor].future {
			w.pause(s, true)
		}
	}
	for round := 0; w.unfinished() != ""; round++ {
		if round == 400 {
			w.fatal("not drained: %s; open %v, behind %v", w.unfinished(), w.now.open, w.now.behind)
		}
		w.hurry()
		for _, worker := range []string{"w0", "w1", "w2"} {
			w.call(worker, true, 0)
		}
	}
	for _, name := range w.names() { // a completed schedule is owed nothing
		if s := w.schedules[name]; s.exists && s.state == protocol.StateLive {
			p := w.placement(s)
			p.Missed = w.random.IntN(3) // of a rule that has ended
			before := storesuite.Ago(0)
			if answer := w.store.Place(w.Context(), []protocol.Placement{p})[0]; !answer.Completed {
				w.fatal("%s: placed %+v with nothing to come, want completed", name, answer)
			}
			s.state = protocol.StateCompleted
			s.counts[1] += int64(p.Missed)
			if p.Missed > 0 { // they are before its cursor, so that they count once
				s.cursor, s.withdrawn = "", time.Time{}
				if c := w.look().found[name].Cursor; c.At.Before(before) || c.At.After(storesuite.Ago(0)) {
					w.fatal("%s has completed, and its cursor is %+v, want it now", name, c)
				}
			}
		}
	}
	w.seen(event{})
	if p := w.now; len(p.open)+len(p.behind)+len(p.owed) > 0 {
		w.fatal("left: open %v, behind %v, owed %v", p.open, p.behind, p.owed)
	}
	for id := range w.now.bodies {
		if w.now.where[id] != "dead" {
			w.fatal("the body of %s is left", id)
		}
	}
	if crashes := w.client.HKeys(w.Context(), w.keys().crashes).Val(); len(crashes) > 0 {
		w.fatal("crashes of %v are left", crashes)
	}
	w.compareRuns()
}

// unfinished lists what has not ended.
func (w *scheduleWalk) unfinished() string {
	for id := range w.jobs {
		if w.now.where[id] != "dead" {
			return fmt.Sprintf("%s is in %q", id, w.now.where[id])
		}
	}
	for _, id := range w.ids() {
		if o := w.occurrences[id]; o.end == "" || o.marked {
			return fmt.Sprintf("%s is in %q", id, w.now.where[id])
		}
	}
	return ""
}

// compareRuns compares the record of runs with the end of each occurrence.
func (w *scheduleWalk) compareRuns() {
	recorded := map[string][]string{}
	for _, entry := range w.client.XRange(w.Context(), w.keys().runs, "-", "+").Val() {
		if outcome := fmt.Sprint(entry.Values["outcome"]); outcome != "failed" && outcome != "snoozed" {
			id := fmt.Sprint(entry.Values["schedule"], "@", entry.Values["planned"])
			recorded[id] = append(recorded[id], outcome)
		}
	}
	for _, id := range w.ids() {
		o := w.occurrences[id]
		want := o.end
		switch o.end {
		case "withdrawn", "dropped":
			want = ""
		case "dead":
			if o.crashes >= 3 {
				continue // the crash that ended it may have no record
			}
		}
		if got := strings.Join(recorded[id], " "); got != want {
			w.fatal("%s ended as %s, and the record of runs has %q", id, o.end, got)
		}
	}
}
