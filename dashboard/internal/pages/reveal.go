package pages

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chimejobs/chime"
)

const (
	maxRevealed = 64 << 10 // bytes of a text that are shown
	maxDecoded  = 4 << 20  // bytes that are decoded to be shown
)

// Revealed is what a job holds, for a viewer who has asked for it.
type Revealed struct {
	Queue, ID, Name string
	Parts           []RevealedPart
}

// A RevealedPart is one of what a job holds.
type RevealedPart struct {
	Name string // payload, result or progress
	Size int    // as it is stored
	Form string // JSON or hexadecimal; empty: Text is left out
	Text string
	Note string // what is cut, or why it is left out; empty: this is all
}

// A holding is one of what a job holds, as it is stored.
type holding struct {
	name string
	data []byte
}

// holdings are what a job holds.
func holdings(job *chime.JobInfo) (all []holding) {
	for _, h := range []holding{{"Payload", job.Payload}, {"Progress", job.Progress}, {"Result", job.Result}} {
		if len(h.data) > 0 {
			all = append(all, h)
		}
	}
	return all
}

// Reveal reads what a job holds. Hooks.Redact decides what is shown of it; what it cannot be asked about is not shown.
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

// shown is what is shown of data that a job holds.
func (h Hooks) shown(job *chime.JobInfo, data []byte) (form, text, note string) {
	value, decoded := decode(data)
	if h.Redact != nil {
		if !decoded {
			return "", "", "It cannot be decoded, so what is secret in it cannot be left out: it is not shown."
		}
		redacted, err := json.Marshal(h.Redact(job, value))
		if err != nil {
			return "", "", "What Options.Redact has made of it is not JSON: it is not shown."
		}
		return shownJSON(redacted)
	}
	if !decoded {
		from := data[:min(len(data), maxRevealed/2)]
		if len(from) < len(data) {
			note = fmt.Sprintf("These are the first %d of %d bytes.", len(from), len(data))
		}
		return "hexadecimal", hex.EncodeToString(from), note
	}
	written, err := json.Marshal(value)
	if err != nil { // decode has made it of JSON
		return "", "", "It is not JSON: it is not shown."
	}
	return shownJSON(written)
}

// decode is data as encoding/json decodes them, but with each number as it is written. Data may be JSON, or what chime encodes.
func decode(data []byte) (value any, ok bool) {
	if len(data) > maxDecoded {
		return nil, false
	}
	if !json.Valid(data) {
		var found any
		if chime.Decode(data, &found) != nil {
			return nil, false
		}
		var err error
		if data, err = json.Marshal(found); err != nil {
			return nil, false
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return value, decoder.Decode(&value) == nil
}

// shownJSON is JSON in lines, cut to what a page has room for.
func shownJSON(text []byte) (form, shown, note string) {
	var lines bytes.Buffer
	if json.Indent(&lines, text, "", "  ") != nil {
		return "", "", "It is not JSON: it is not shown."
	}
	if lines.Len() > maxRevealed {
		return "JSON", strings.ToValidUTF8(string(lines.Bytes()[:maxRevealed]), "") + "…", fmt.Sprintf("These are the first %d of %d bytes of its JSON.", maxRevealed, lines.Len())
	}
	return "JSON", lines.String(), ""
}
