package pages

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
)

const maxRevealed = 64 << 10 // maximum length of a shown text, in bytes

// Revealed has the contents of a job, for a viewer who requested them.
type Revealed struct {
	Queue, ID, Name string
	Parts           []RevealedPart
}

// A RevealedPart is the payload, the result or the progress.
type RevealedPart struct {
	Name string // payload, result or progress
	Size int    // the stored size
	Form string // JSON or hexadecimal; empty: there is no Text
	Text string
	Note string // what was cut, or why there is no Text; empty: Text is complete
}

// A holding is the payload, the result or the progress in its stored form.
type holding struct {
	name string
	data []byte
}

// holdings returns the contents of a job.
func holdings(job *chime.JobInfo) (all []holding) {
	for _, h := range []holding{{"Payload", job.Payload}, {"Progress", job.Progress}, {"Result", job.Result}} {
		if len(h.data) > 0 {
			all = append(all, h)
		}
	}
	return all
}

// Reveal reads the contents of a job. Hooks.Redact decides what is shown of them. Contents that it cannot get are not shown.
func (s *Site) Reveal(ctx context.Context, queue, id string) (*Revealed, error) {
	job, err := s.jobs.Get(ctx, queue, id)
	if job == nil {
		return nil, err
	}
	revealed := &Revealed{Queue: queue, ID: id, Name: job.Name}
	for _, h := range holdings(job) {
		part := RevealedPart{Name: h.name, Size: len(h.data)}
		part.Form, part.Text, part.Note = s.hooks.shown(job, h.data)
		revealed.Parts = append(revealed.Parts, part)
	}
	return revealed, nil
}

// shown returns the text that is shown for a job's data.
func (h Hooks) shown(job *chime.JobInfo, data []byte) (form, text, note string) {
	value, decoded := decode(data)
	if h.Redact != nil {
		if !decoded {
			return "", "", "It is not shown: it cannot be decoded, so secrets in it cannot be removed."
		}
		redacted, err := h.redacted(job, value)
		if err != nil {
			return "", "", "It is not shown: Options.Redact panicked, or its result is not JSON."
		}
		return shownJSON(redacted)
	}
	if !decoded {
		from := data[:min(len(data), maxRevealed/2)]
		if len(from) < len(data) {
			note = fmt.Sprintf("These are the first %s of %s bytes.", format.Count(len(from)), format.Count(len(data)))
		}
		return "hexadecimal", hex.EncodeToString(from), note
	}
	written, err := json.Marshal(value)
	if err != nil { // decode created it from JSON
		return "", "", "It is not shown: it is not JSON."
	}
	return shownJSON(written)
}

// decode returns the values that a handler gets from data, as encoding/json decodes them, but keeps each number as it is written.
func decode(data []byte) (value any, ok bool) { return jobfind.Decoded(&chime.JobInfo{Payload: data}) }

// Arguments returns the part of a job's arguments that a viewer with the right to reveal it sees. ok is false if nothing is shown.
func (s *Site) Arguments(job *chime.JobInfo) (arguments any, ok bool) {
	value, ok := decode(job.Payload)
	if !ok || s.hooks.Redact == nil {
		return value, ok
	}
	text, err := s.hooks.redacted(job, value)
	if err != nil {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return arguments, decoder.Decode(&arguments) == nil
}

// shownJSON returns indented JSON, cut to the maximum length.
func shownJSON(text []byte) (form, shown, note string) {
	var lines bytes.Buffer
	if json.Indent(&lines, text, "", "  ") != nil {
		return "", "", "It is not shown: it is not JSON."
	}
	if lines.Len() > maxRevealed {
		return "JSON", strings.ToValidUTF8(string(lines.Bytes()[:maxRevealed]), "") + "…", fmt.Sprintf("These are the first %s of %s bytes of its JSON.", format.Count(maxRevealed), format.Count(lines.Len()))
	}
	return "JSON", lines.String(), ""
}
