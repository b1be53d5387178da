package command

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

// scheduleTable formats schedules as a table; now is the store's clock.
func (s *session) scheduleTable(found []*foundSchedule, now time.Time) output.List {
	list := output.List{Header: s.timesHeader(), Columns: []output.Column{
		{Title: "SCHEDULE", Most: 24}, {Title: "STATE"}, {Title: "QUEUE", Most: 12}, {Title: "RULE", Most: 44}, {Title: "NEXT", Most: 20}, {Title: "LAST"},
		{Title: "LATE p99", Right: true}, {Title: "FAILED 24h", Right: true},
	}}
	for _, f := range found {
		list.Items = append(list.Items, output.Item{Name: f.Name, Value: f.value(now), Cells: s.scheduleCells(f, now)})
	}
	return list
}

func (s *session) scheduleCells(f *foundSchedule, now time.Time) []string {
	if f.unread != nil {
		return []string{f.Name, plain.Warning + " unread", f.Queue, f.unread.Error(), "", "", "", ""}
	}
	late, failed := "", ""
	if f.Starts > 0 {
		late = format.Span(f.LateP99)
	}
	if f.Known {
		if failed = strconv.Itoa(f.Failed); f.AtLeast {
			failed += "+"
		}
	}
	return []string{f.Name, f.status(now).String(), f.Queue, f.Schedule.String(), s.nextOf(f.Schedule, now), s.lastOf(f.Schedule, now), late, failed}
}

// nextOf formats when a schedule runs next, or why it does not.
func (s *session) nextOf(of *chime.Schedule, now time.Time) string {
	switch {
	case of.State == chime.StatePaused:
		return notedOf(of.Note, now)
	case of.State == chime.StateCompleted:
		return ""
	case of.Next.IsZero():
		return "now"
	}
	due := of.Next.Add(of.Offset)
	return format.Away(due.Sub(now)) + " " + times.Short(due, now, s.location)
}

// notedOf formats briefly who paused something, when and why.
func notedOf(n chime.Note, now time.Time) string {
	text := "paused"
	if n.By != "" {
		text += " by " + n.By
	}
	if !n.At.IsZero() {
		text += " " + format.Away(n.At.Sub(now))
	}
	if !n.Until.IsZero() {
		text += ", ends " + format.Away(n.Until.Sub(now))
	}
	if n.Text != "" {
		text += ": " + n.Text
	}
	return text
}

// lastOf formats how and when a schedule's last run ended.
func (s *session) lastOf(of *chime.Schedule, now time.Time) string {
	if of.Last.Outcome == "" {
		return ""
	}
	return string(of.Last.Outcome) + " " + times.Short(of.Last.Ended, now, s.location)
}

// scheduleMore has the fields that the list adds to the JSON of a schedule.
type scheduleMore struct {
	Status     string `json:"stands"`          // its state, or failing or late
	Waits      string `json:"waits,omitempty"` // what blocks its jobs now
	Words      string `json:"words"`
	LateP99MS  *int64 `json:"late_p99_ms,omitempty"`
	Failed24h  *int   `json:"failed_24h,omitempty"`
	FailedMore bool   `json:"failed_24h_at_least,omitempty"`
}

// value returns the schedule as JSON.
func (f *foundSchedule) value(now time.Time) any {
	if f.unread != nil {
		return struct {
			Name     string `json:"name"`
			Queue    string `json:"queue"`
			Owner    string `json:"owner,omitempty"`
			Revision int64  `json:"revision"`
			Error    string `json:"error"`
		}{f.Name, f.Queue, f.Owner, f.Revision, f.unread.Error()}
	}
	more := scheduleMore{Status: plain.Schedule(f.Schedule, now).Word, Waits: f.waits.String(), Words: f.Schedule.String()}
	if f.Starts > 0 {
		ms := f.LateP99.Milliseconds()
		more.LateP99MS = &ms
	}
	if f.Known {
		more.Failed24h, more.FailedMore = &f.Failed, f.AtLeast
	}
	return joined{f.Schedule, more}
}

// joined is two values whose JSON objects are written as one.
type joined [2]any

// MarshalJSON writes the fields of the first value, then those of the second.
func (j joined) MarshalJSON() ([]byte, error) {
	first, err := json.Marshal(j[0])
	if err != nil {
		return nil, err
	}
	second, err := json.Marshal(j[1])
	if err != nil {
		return nil, err
	}
	if len(first) == 2 || len(second) == 2 { // {}
		return append(first[:len(first)-1], second[1:]...), nil
	}
	return append(append(first[:len(first)-1], ','), second[1:]...), nil
}
