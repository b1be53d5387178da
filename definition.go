package chime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// definitionVersion is the newest form of a stored definition that this program knows.
const definitionVersion = 1

// errNewerDefinition: a newer program wrote the definition; one that knows it has to compute what follows.
var errNewerDefinition = errors.New("the definition was written by a newer version of chime")

// A definition is a schedule as the store keeps it: JSON that a person can read with HGET. The store writes the first four
// fields, the program the rest, in this order.
type definition struct {
	Revision int64         `json:"revision"`
	State    string        `json:"state"`
	Created  time.Time     `json:"created"`
	Overlap  OverlapPolicy `json:"overlap"`
	definitionBody
}

// definitionBody is what an application declares. Attempts and timeout are left out where the application said nothing:
// they are then the handler's or the worker's when the job runs. Misfire policy and grace are always written, so that a
// later version's defaults change no schedule.
type definitionBody struct {
	Version        int                   `json:"version"`
	Job            string                `json:"job"`
	Recurrence     recurrence.Recurrence `json:"recurrence"`
	Misfire        MisfirePolicy         `json:"misfire"`
	Grace          string                `json:"grace"`
	NoImmediateRun bool                  `json:"noImmediateRun,omitempty"`
	MaxAttempts    int                   `json:"maxAttempts,omitempty"`
	Timeout        string                `json:"timeout,omitempty"`
	Args           json.RawMessage       `json:"args,omitempty"`    // arguments that are JSON
	Payload        []byte                `json:"payload,omitempty"` // other arguments, as they are stored, in base64
}

// setPayload keeps arguments that are JSON as JSON, for those who read the definition.
func (b *definitionBody) setPayload(payload []byte) {
	if compact := new(bytes.Buffer); len(payload) > 0 && json.Compact(compact, payload) == nil && bytes.Equal(compact.Bytes(), payload) {
		if text, err := json.Marshal(json.RawMessage(payload)); err == nil && bytes.Equal(text, payload) {
			b.Args = payload
			return
		}
	}
	b.Payload = payload
}

// payload returns the arguments as they were given.
func (b *definitionBody) payload() []byte {
	if b.Args != nil {
		return b.Args
	}
	return b.Payload
}

// canonical spells a body so that equal declarations have equal text.
func (b *definitionBody) canonical() ([]byte, error) {
	text := new(bytes.Buffer)
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(true)
	if err := encoder.Encode(b); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// parseDefinition reads what the store holds. It refuses what it cannot compute with certainty.
func parseDefinition(text []byte) (*definition, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("the definition is no JSON: %w", err)
	}
	if version.Version > definitionVersion {
		return nil, fmt.Errorf("%w (form %d, known %d)", errNewerDefinition, version.Version, definitionVersion)
	}
	d := new(definition)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("the definition cannot be read: %w", err)
	}
	if d.Job == "" {
		return nil, errors.New("the definition names no job")
	}
	return d, nil
}

// A plan is a definition with its rule compiled.
type plan struct {
	definition
	text    string
	series  *recurrence.Series
	grace   time.Duration
	timeout time.Duration
}

func newPlan(text []byte) (*plan, error) {
	d, err := parseDefinition(text)
	if err != nil {
		return nil, err
	}
	p := &plan{definition: *d, text: string(text)}
	if p.grace, err = time.ParseDuration(d.Grace); err != nil {
		return nil, fmt.Errorf("the definition's grace: %w", err)
	}
	if d.Timeout != "" {
		if p.timeout, err = time.ParseDuration(d.Timeout); err != nil {
			return nil, fmt.Errorf("the definition's timeout: %w", err)
		}
	}
	if p.series, err = d.Recurrence.Series(d.Created); err != nil {
		return nil, fmt.Errorf("the definition's recurrence: %w", err)
	}
	return p, nil
}

// plans remembers compiled definitions by schedule, so that a busy schedule is compiled once and not at each occurrence.
// It belongs to one goroutine.
type plans struct {
	byName map[string]*plan
}

const plansKept = 4096

// of returns the plan of a stored definition.
func (c *plans) of(name string, text []byte) (*plan, error) {
	if p := c.byName[name]; p != nil && p.text == string(text) {
		return p, nil
	}
	p, err := newPlan(text)
	if err != nil {
		return nil, err
	}
	if c.byName == nil {
		c.byName = map[string]*plan{}
	}
	if len(c.byName) >= plansKept {
		for other := range c.byName { // any one: maps begin anywhere
			delete(c.byName, other)
			break
		}
	}
	c.byName[name] = p
	return p, nil
}
