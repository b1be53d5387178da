package service

import (
	"encoding/json"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A meta is what a schedule's Meta says of a job: that it is one, what it is wanted to be, which collection it belongs to, and what its action has that
// the schedule itself does not show.
type meta struct {
	Rest       int            `json:"rest"`                // metaForm
	State      resource.State `json:"state"`               // wanted: enabled or disabled
	StartTime  string         `json:"startTime,omitempty"` // startMade: the client gave neither startTime nor recurrence
	Collection int64          `json:"collection"`          // the creation of the collection
	Name       reservedName   `json:"name"`                // by which the collection counts it
	Job        *targetMeta    `json:"job,omitempty"`       // of job actions
	Error      *targetMeta    `json:"error,omitempty"`     // of error actions
}

// A targetMeta is what a client has given of an action, and what its job does not show.
type targetMeta struct {
	Queue    string              `json:"queue,omitempty"`
	Text     bool                `json:"text,omitempty"`     // the payload was given as a text
	Excerpt  action.Excerpt      `json:"excerpt,omitempty"`  // of job actions
	Retry    *action.RetryPolicy `json:"retry,omitempty"`    // of job actions
	Inherits bool                `json:"inherits,omitempty"` // of error actions: its retries are those of the main action
}

const (
	metaForm  = 1
	startMade = "made"
)

// metaOf reads the Meta of a schedule; ok is false if it is none of ours, or has another form than this program reads. Its name counts then all the same.
func metaOf(s *chime.Schedule) (m meta, ok bool) {
	if len(s.Meta) == 0 || json.Unmarshal(s.Meta, &m) != nil {
		return meta{}, false
	}
	return m, m.Rest == metaForm && m.Collection != 0 && m.Name != "" && m.Name.job() == jobOf(s.Name).Job
}

func (m meta) encode() (json.RawMessage, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("httpapi: encode meta: %w", err)
	}
	return data, nil
}
