package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// checkHistory checks the stored attempts of a schedule: each ended occurrence of this creation is in the history once, as long as
// the history has room; unfinished ones are counted; and the last outcome is that of the newest attempts. Nothing is kept of a removed
// schedule.
func (w *scheduleWalk) checkHistory(p *picture, s *modelSchedule) {
	runs, last := p.runs[s.name], p.found[s.name].Last
	if !s.exists {
		if len(runs) > 0 {
			w.fatal("%s was removed, and its history has %+v", s.name, runs)
		}
		return
	}
	unfinished, ended, done, dead, crashed := 0, map[string]string{}, int64(0), int64(0), map[string]int{}
	for _, id := range s.ids {
		if o := w.occurrences[id]; o.created == s.created && o.crashes > 0 {
			crashed[id] = o.crashes
		}
		switch o := w.occurrences[id]; {
		case o.created != s.created:
		case o.end == "" && o.taken:
			unfinished++
		case o.end == "done":
			done++
			ended[id] = o.end
		case o.end == "dead":
			dead++
			ended[id] = o.end
		case slices.Contains([]string{"missed", "skipped", "superseded", "cancelled"}, o.end):
			ended[id] = o.end
		}
	}
	found := p.found[s.name]
	if last.Unfinished != unfinished || found.Done != done || found.Dead != dead {
		w.fatal("%s: %d unfinished, %d done, %d dead; want %d, %d, %d", s.name, last.Unfinished, found.Done, found.Dead, unfinished, done, dead)
	}
	if len(runs) > s.keep || len(runs) < min(s.keep, len(ended)) {
		w.fatal("%s: a history of %d attempts, want %d or as many as have ended, %d of them final", s.name, len(runs), s.keep, len(ended))
	}
	final, failures, newest, failed, cut := map[string]string{}, 0, "", int64(0), map[string]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		id := storesuite.OccurrenceID(s.name, r.Planned)
		if r.Outcome == "failed" || r.Outcome == "dead" {
			failures++
			failed++
		}
		if r.Outcome == "done" {
			failures = 0
		}
		if r.Attempt > 0 {
			newest = fmt.Sprint(r.Outcome, r.Planned, r.Ended)
		}
		if r.Outcome == "crashed" {
			if cut[id]++; r.Attempt < 1 || r.Fence == 0 || !strings.HasPrefix(r.Worker, "w-") || r.Error == "" || r.Ended.Before(r.Started) || cut[id] > crashed[id] {
				w.fatal("%s: the history has %+v, want %d attempts of it that were cut off, each with its worker and its fence", s.name, r, crashed[id])
			}
			continue
		}
		if r.Attempt > 0 {
			if r.Worker != "w" || r.Note != "1\t\n2,3:" || r.Fence == 0 || (r.Error == "no") != (strings.Contains("failed dead", r.Outcome)) && r.Outcome != "cancelled" && r.Outcome != "superseded" {
				w.fatal("%s: the history has %+v, want the text of the attempt", s.name, r)
			}
		}
		if r.Outcome == "failed" || r.Outcome == "snoozed" {
			continue
		}
		if final[id] != "" || ended[id] != r.Outcome {
			w.fatal("%s: the history has %s as %s, want %q once", s.name, id, r.Outcome, ended[id])
		}
		final[id] = r.Outcome
	}
	if s.keep < 1000 {
		return
	}
	want := dayCounts{}
	for _, r := range runs {
		day := r.Planned.Unix() / 86400
		if want[day] == nil {
			want[day] = &protocol.DayRecord{Day: time.Unix(day*86400, 0).UTC()}
		}
		switch r.Outcome {
		case "done":
			want[day].Done++
		case "failed", "dead":
			want[day].Failed++
		case "skipped":
			want[day].Skipped++
		case "missed":
			want[day].Missed++
		default:
			if *want[day] == (protocol.DayRecord{Day: want[day].Day}) {
				delete(want, day) // a day is known from the first of these on
			}
		}
	}
	if got := p.days[s.name].records(); !slices.Equal(got, want.records()) {
		w.fatal("%s: days %v, want those of its history, %v", s.name, got, want.records())
	}
	if !maps.Equal(cut, crashed) {
		w.fatal("%s: the history has %v attempts that were cut off, want %v", s.name, cut, crashed)
	}
	if len(final) != len(ended) {
		w.fatal("%s: the history has %v, want %v", s.name, final, ended)
	}
	if got := fmt.Sprint(last.Outcome, last.Planned, last.Ended); newest != "" && got != newest || last.Failures != failures || found.Failed != failed {
		w.fatal("%s: last %+v, %d failed; the history has %s, %d consecutive failures, %d failed", s.name, last, found.Failed, newest, failures, failed)
	}
}
