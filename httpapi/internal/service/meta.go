package service

import (
	"encoding/json"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A meta is the content of a schedule's Meta for a job. It marks the schedule as a job, and has its wanted state, its collection, and the fields of its
// action that the schedule itself does not have.
type meta struct {
	Rest       int            `json:"rest"`                // metaForm
	State      resource.State `json:"state"`               // wanted: enabled or disabled
	StartTime  string         `json:"startTime,omitempty"` // startMade: the client gave neither startTime nor recurrence
	Collection int64          `json:"collection"`          // the creation of the collection
	Name       reservedName   `json:"name"`                // the job's name in the collection's quota
	Group      string         `json:"group,omitempty"`     // the job's own group; empty: its group is the collection's
	Job        *targetMeta    `json:"job,omitempty"`       // of job actions
	Error      *targetMeta    `json:"error,omitempty"`     // of error actions
}

// A targetMeta has the fields of an action that its job does not have.
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

// metaOf reads the Meta of a schedule; ok is false if the schedule is not a job, or its form is unknown to this program. Even then its name is counted.
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
