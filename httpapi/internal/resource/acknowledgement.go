package resource

import (
	"strconv"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// An Acknowledgement is what a client sends to acknowledge that a job is failing.
type Acknowledgement struct {
	Note  string
	Until time.Time // zero: until it changes
}

const maxNote = 500 // bytes

// ReadAcknowledgement reads an acknowledgement.
func ReadAcknowledgement(text []byte) (a Acknowledgement, mistakes []problem.Mistake) {
	v, mistakes := parse(text)
	if mistakes != nil {
		return a, mistakes
	}
	r := &body.Reader{}
	in := r.Object(v, "")
	if v.Kind == body.Null {
		r.Add(v, problem.Mistake{Code: "type", Field: "body", Detail: "want an object"})
	}
	if a.Note = in.Text("note"); len(a.Note) > maxNote {
		in.Wrong("note", "note_size", "want at most 500 bytes; got "+strconv.Itoa(len(a.Note)))
	}
	if until := in.Text("until"); until != "" {
		at, err := time.Parse(time.RFC3339, until)
		switch {
		case err != nil:
			in.Wrong("until", "time_syntax", "want a date and a time with an offset, such as 2027-03-01T10:00:00Z")
		case at.Year() < 2000 || at.Year() > 2199 || !at.After(time.Now()):
			in.Wrong("until", "time_range", "want an instant in the future, before 2200")
		}
		a.Until = at
	}
	in.Done()
	return a, r.Mistakes()
}

// An AcknowledgementView is an acknowledgement in an answer.
type AcknowledgementView struct {
	Job, By, Note string
	Since, Until  time.Time // Until zero: until it changes
}

type acknowledgementJSON struct {
	Job   string `json:"job"`
	By    string `json:"by,omitempty"`
	Note  string `json:"note,omitempty"`
	Since string `json:"since"`
	Until string `json:"until,omitempty"`
}

// Append appends the answer's JSON, without a newline.
func (v *AcknowledgementView) Append(to []byte) []byte {
	return appendJSON(to, acknowledgementJSON{Job: v.Job, By: v.By, Note: v.Note, Since: Time(v.Since), Until: Time(v.Until)})
}
