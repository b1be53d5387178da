package change

import (
	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// noteField is the field for the reason of a pause. why is what is wrong with the value; empty: nothing.
func noteField(value, why string) render.Field {
	return render.Field{Name: "note", Label: "Reason, for others who see the pause", Value: value, Hint: "Optional; at most 500 bytes.", Error: why}
}

// pause asks for a reason, and then pauses. ask has the title, the text and the addresses of the question; said is what was done.
func (f *Form) pause(answer Answer, ask *render.Ask, said string, pause func(chime.Note) error) (Answer, error) {
	note := f.note()
	answer.Note, ask.Do = note.Text, "Pause"
	if !f.sure() {
		ask.Fields, answer.Ask = []render.Field{noteField(note.Text, "")}, ask
		return answer, nil
	}
	err := pause(note)
	if why := wrong(err); why != "" {
		ask.Fields, answer.Ask = []render.Field{noteField(note.Text, why)}, ask
		return answer, nil
	}
	answer.Said = said
	return answer.one(err)
}
