package chime

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Note says why something is paused, and who did it. It is an option of [Schedules.Pause] and of [Paused], and what is shown for as
// long as the pause lasts.
type Note struct {
	Text string    `json:"text,omitempty"` // at most 500 bytes of UTF-8
	By   string    `json:"by,omitempty"`   // at most 100 bytes of UTF-8
	At   time.Time `json:"at,omitzero"`    // when, by the store's clock, in milliseconds; in an option it is ignored
}

const (
	maxNoteText = 500
	maxNoteBy   = 100
)

// validate returns what is wrong with a note that is to be stored.
func (n Note) validate() error {
	for _, part := range []struct {
		field, text string
		max         int
	}{{"Note.Text", n.Text, maxNoteText}, {"Note.By", n.By, maxNoteBy}} {
		bad := protocol.Invalid(part.field, part.text, fmt.Sprintf("at most %d bytes of UTF-8", part.max))
		switch {
		case len(part.text) > part.max:
			return protocol.Because(bad, fmt.Sprintf("has %d bytes", len(part.text)))
		case !utf8.ValidString(part.text):
			return protocol.Because(bad, "is no UTF-8")
		}
	}
	return nil
}

func (n Note) stored() *protocol.Note { return &protocol.Note{Text: n.Text, By: n.By} }

func (n Note) change(s *changeSettings) {
	s.note, s.has["Note"] = n.stored(), true
	if err := n.validate(); err != nil {
		s.refuse(err)
	}
}
