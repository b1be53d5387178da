package change

import (
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/times"
)

// pauseFields are the fields of a pause: its reason and its end. why is what is wrong with the reason, whyUntil what is wrong with the end; empty: nothing.
func (f *Form) pauseFields(why, whyUntil string) []render.Field {
	return []render.Field{
		{Name: "note", Label: "Reason, for others who see the pause", Value: f.Fields.Get("note"), Hint: "Optional; at most 500 bytes.", Error: why},
		{
			Name: "until", Label: "Until", Value: f.Fields.Get("until"), Error: whyUntil,
			Hint: "Optional: when the pause ends by itself, such as +3h or 2026-11-30 08:00, in " + f.pauseZone().String() + ".",
		},
	}
}

// zoneField is the hidden field with the zone that the question has named: the viewer's zone may be another one when the form is sent again.
const zoneField = "in"

func (f *Form) pauseZone() *time.Location {
	if name := f.Fields.Get(zoneField); name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	if f.Frame.Zone == nil {
		return time.UTC
	}
	return f.Frame.Zone
}

// asksPause adds the fields of a pause to a question.
func (f *Form) asksPause(ask *render.Ask, why, whyUntil string) {
	ask.Fields = append(ask.Fields, f.pauseFields(why, whyUntil)...)
	ask.Hidden = append(ask.Hidden, render.Pair{Name: zoneField, Value: f.pauseZone().String()})
}

// pauseNote returns the note of a pause. why is what is wrong with its end; empty: nothing.
func (f *Form) pauseNote() (note chime.Note, why string) {
	note = f.note()
	text := strings.TrimSpace(f.Fields.Get("until"))
	if text == "" {
		return note, ""
	}
	until, err := times.ParseOnce(text, f.Frame.Now, f.pauseZone())
	switch {
	case err != nil:
		return note, fmt.Sprintf("%.40q is not an instant: %v", text, err)
	case !until.After(f.Frame.Now):
		return note, "This instant is over."
	}
	note.Until = until
	return note, ""
}

// pause asks for a reason and an end, and then pauses. ask has the title, the text and the addresses of the question; said is what was done.
func (f *Form) pause(answer Answer, ask *render.Ask, said string, pause func(chime.Note) error) (Answer, error) {
	note, whyUntil := f.pauseNote()
	answer.Note, ask.Do = note.Text, "Pause"
	if !f.sure() || whyUntil != "" {
		f.asksPause(ask, "", whyUntil)
		answer.Ask = ask
		return answer, nil
	}
	err := pause(note)
	if why := wrong(err); why != "" {
		f.asksPause(ask, why, "")
		answer.Ask = ask
		return answer, nil
	}
	answer.Said = said
	if !note.Until.IsZero() {
		answer.Detail = "until " + note.Until.UTC().Format(time.RFC3339Nano)
		answer.Said = strings.TrimSuffix(said, ".") + " until " + note.Until.In(f.pauseZone()).Format(shownInstant) + "."
	}
	return answer.one(err)
}
