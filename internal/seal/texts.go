package seal

import (
	"encoding/base64"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// The history of a schedule keeps short texts. A sealed one is protocol.SealedTextMark and base64: no text that wire.PrintableLines returns has the mark.

var encoding = base64.RawURLEncoding

// sealText seals a text so that its stored form has at most limit bytes: a longer text is cut before it is sealed.
func (s *sealer) sealText(k kind, at place, text string, limit int) (string, error) {
	if text == "" || protocol.IsSealedText(text) {
		return text, nil
	}
	room := encoding.DecodedLen(limit - len(protocol.SealedTextMark))
	sealed, err := s.seal(k, at, []byte(text))
	if err == nil && len(sealed) > room {
		left := len(text) - (len(sealed) - room)
		if left <= 0 {
			return "", nil
		}
		sealed, err = s.seal(k, at, []byte(wire.PrintableLines(text, left)))
	}
	if err != nil || len(sealed) > room {
		return "", err
	}
	return protocol.SealedTextMark + encoding.EncodeToString(sealed), nil
}

// openText opens a text of sealText. What cannot be opened becomes a text that says so.
func (s *sealer) openText(k kind, at place, text string) string {
	if !protocol.IsSealedText(text) {
		return text
	}
	sealed, err := encoding.DecodeString(text[len(protocol.SealedTextMark):])
	if err != nil {
		return (&protocol.SealedError{}).Text()
	}
	plain, err := s.open(k, at, sealed)
	if err != nil {
		return s.refused(err).Text()
	}
	return string(plain)
}

// runPlace is the place of the texts of an attempt. They belong to no queue, because a history moves with its schedule.
func runPlace(run *protocol.RunRecord, id string) place {
	if id == "" {
		id = schedule.OccurrenceID(run.Schedule, run.Planned)
	}
	return place{id: id}
}

// sealRun returns a copy of the record of an attempt of a job with its texts sealed.
func (s *sealer) sealRun(run *protocol.RunRecord, id string) (*protocol.RunRecord, error) {
	if run == nil || run.Error == "" && run.Note == "" {
		return run, nil
	}
	sealed, at := *run, runPlace(run, id)
	var err error
	if sealed.Error, err = s.sealText(kindError, at, run.Error, protocol.MaxRunError); err == nil {
		sealed.Note, err = s.sealText(kindNote, at, run.Note, wire.MaxNote)
	}
	return &sealed, err
}

// openRuns opens the texts of attempts.
func (s *sealer) openRuns(runs []protocol.RunRecord) {
	for i := range runs {
		run := &runs[i]
		at := runPlace(run, run.ID)
		run.Error, run.Note = s.openText(kindError, at, run.Error), s.openText(kindNote, at, run.Note)
	}
}
