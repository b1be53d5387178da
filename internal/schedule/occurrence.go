package schedule

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// SplitOccurrence splits an occurrence's ID, "<schedule>@<planned>". For an ID of another form schedule is empty.
func SplitOccurrence(id string) (schedule string, planned time.Time, err error) {
	schedule, instant, ok := protocol.CutOccurrence(id)
	if !ok {
		return "", time.Time{}, nil
	}
	if planned, err = time.Parse(time.RFC3339, instant); err != nil {
		return schedule, time.Time{}, fmt.Errorf("the occurrence's ID %q has no instant", id)
	}
	return schedule, planned, nil
}

// OccurrenceID returns the ID of the occurrence of a schedule at a planned instant.
func OccurrenceID(schedule string, planned time.Time) string {
	return schedule + "@" + planned.UTC().Format(time.RFC3339)
}

// Job returns the job of an occurrence that has no body of its own yet.
func (d *Definition) Job(schedule string, planned time.Time) wire.Envelope {
	details := d.Details
	if d.Offset > 0 || d.Group != "" {
		details = new(wire.Details)
		if d.Details != nil {
			*details = *d.Details
		}
		details.Offset, details.Group = d.Offset, d.Group
	}
	return wire.Envelope{
		Name:        d.JobName,
		Payload:     d.Payload,
		Planned:     planned,
		MaxAttempts: d.MaxAttempts,
		Timeout:     d.Timeout,
		Schedule:    schedule,
		Details:     details,
	}
}

// RevisionOf reads the revision of a definition, which definitions of every version have; 0: it is missing.
func RevisionOf(definition []byte) int64 {
	var d struct {
		Revision int64 `json:"revision"`
	}
	if json.Unmarshal(definition, &d) != nil {
		return 0
	}
	return d.Revision
}

// JobNameOf reads the name of a definition's job, which definitions of every version have. It returns wire.NoName if it is missing.
func JobNameOf(definition []byte) string {
	var d struct {
		Job string `json:"job"`
	}
	if json.Unmarshal(definition, &d) != nil || protocol.CheckName("job name", d.Job) != nil {
		return wire.NoName
	}
	return d.Job
}
