package action

import (
	"encoding/json"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/pattern"
)

// A JobTarget is a job of the program: its handler gets the payload, and no request is sent.
type JobTarget struct {
	Name    string          `json:"name"`              // the job name, 1 to 100 of A-Z a-z 0-9 _ . : -
	Queue   string          `json:"queue,omitempty"`   // empty: the collection's
	Payload json.RawMessage `json:"payload,omitempty"` // JSON, stored without spaces; nil: Body
	Body    string          `json:"body,omitempty"`    // text; empty: Payload
}

// args are the job's arguments: JSON unchanged, or the bytes of a text, or nothing.
func (j *JobTarget) args() any {
	switch {
	case len(j.Payload) > 0:
		return j.Payload
	case j.Body != "":
		return []byte(j.Body)
	}
	return nil
}

// Permitted reports whether one of the entries matches the target. An entry is `name` or `name@queue`, and `*` matches any
// characters; an entry without a queue is for the given queue only. No entry permits names that begin with "chime.", because such a payload
// could be taken for an action that was checked.
func (j *JobTarget) Permitted(entries []string, queue string) bool {
	if strings.HasPrefix(j.Name, "chime.") {
		return false
	}
	target := queue
	if j.Queue != "" {
		target = j.Queue
	}
	for _, entry := range entries {
		name, on, named := strings.Cut(entry, "@")
		if !named && target != queue {
			continue
		}
		if pattern.Match(name, j.Name) && (!named || pattern.Match(on, target)) {
			return true
		}
	}
	return false
}
