// Package definition reads and writes the definition of a schedule in the form for people: for chime schedules export and put, and for the
// dashboard's editor.
package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/rules"
	"github.com/chimejobs/chime/recurrence"
)

// A Definition defines a schedule. A change keeps the values of all fields that the Definition does not set.
type Definition struct {
	Name           string            `json:"name,omitempty"`
	JobName        string            `json:"job_name,omitempty"`
	Queue          string            `json:"queue,omitempty"`
	Group          *string           `json:"group,omitempty"` // empty: none
	Rule           json.RawMessage   `json:"rule,omitempty"`  // JSON of a rule, or cron text as a string
	NoImmediateRun bool              `json:"no_immediate_run,omitempty"`
	Overlap        string            `json:"overlap,omitempty"`
	Misfire        string            `json:"misfire,omitempty"`
	GraceMS        int64             `json:"grace_ms,omitempty"`
	SpreadMS       *int64            `json:"spread_ms,omitempty"`
	PauseAfter     *int              `json:"pause_after,omitempty"`
	MaxUnfinished  *int              `json:"max_unfinished,omitempty"`
	KeepRuns       *int              `json:"keep_runs,omitempty"`
	MaxAttempts    int               `json:"max_attempts,omitempty"`
	TimeoutMS      int64             `json:"timeout_ms,omitempty"`
	Retry          *Retry            `json:"retry,omitempty"`
	KeepMS         int64             `json:"keep_ms,omitempty"`
	Header         map[string]string `json:"header,omitempty"`
	Meta           json.RawMessage   `json:"meta,omitempty"`
	Args           json.RawMessage   `json:"args,omitempty"`    // arguments as JSON
	Payload        []byte            `json:"payload,omitempty"` // arguments as they are stored, in base64; instead of Args
}

// A Retry sets how long the waits between attempts are.
type Retry struct {
	FirstMS int64 `json:"first_ms"`
	MaxMS   int64 `json:"max_ms"`
}

// Of returns the definition of a schedule, with its arguments if that is wanted.
func Of(of *chime.Schedule, payload bool) (*Definition, error) {
	alone := of.Recurrence
	alone.NoImmediateRun = false // it has its own field
	rule, err := json.Marshal(alone)
	if err != nil {
		return nil, err
	}
	spread := of.Spread.Milliseconds()
	d := &Definition{
		Name: of.Name, JobName: of.JobName, Queue: of.Queue, Rule: rule, NoImmediateRun: of.NoImmediateRun, Overlap: string(of.Overlap), Misfire: string(of.Misfire),
		GraceMS: of.Grace.Milliseconds(), SpreadMS: &spread, PauseAfter: &of.PauseAfter, KeepRuns: &of.KeepRuns, MaxAttempts: of.MaxAttempts,
		TimeoutMS: of.Timeout.Milliseconds(), KeepMS: of.Keep.Milliseconds(), Header: of.Header, Meta: of.Meta,
	}
	if of.Group != "" {
		d.Group = &of.Group
	}
	if of.MaxUnfinished != 0 {
		d.MaxUnfinished = &of.MaxUnfinished
	}
	if (of.Retry != chime.RetryPolicy{}) {
		text, err := json.Marshal(of.Retry)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &d.Retry); err != nil {
			return nil, err
		}
	}
	if payload {
		d.Payload = of.Payload
	}
	return d, nil
}

// Read reads a definition, or a rule alone. zone is for a rule that names no zone. NoImmediateRun of the rule becomes that of the definition.
func Read(text, zone string) (*Definition, recurrence.Recurrence, error) {
	d := &Definition{}
	if IsWhole(text) {
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		if err := in.Decode(d); err != nil {
			return nil, recurrence.Recurrence{}, fmt.Errorf("the definition: %w", err)
		}
		if _, err := in.Token(); !errors.Is(err, io.EOF) {
			return nil, recurrence.Recurrence{}, errors.New("the definition: want one JSON object, and nothing after it")
		}
		if d.Args != nil && d.Payload != nil {
			return nil, recurrence.Recurrence{}, errors.New("the definition: args and payload: want one of them")
		}
		text = string(d.Rule)
		var cron string
		if json.Unmarshal(d.Rule, &cron) == nil {
			text = cron
		}
	}
	rule, err := rules.Read(text, zone)
	if err != nil {
		return nil, rule, err
	}
	d.NoImmediateRun, rule.NoImmediateRun = d.NoImmediateRun || rule.NoImmediateRun, false
	d.Rule, err = json.Marshal(rule)
	return d, rule, err
}

// IsWhole reports whether a text is a JSON object that contains a rule, and not a rule alone.
func IsWhole(text string) bool {
	var fields map[string]json.RawMessage
	// what follows the object is checked later
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&fields); err != nil {
		return false
	}
	_, ok := fields["rule"]
	return ok
}

// Options returns the options of Put that the definition sets.
func (d *Definition) Options() []chime.PutOption {
	var options []chime.PutOption
	add := func(said bool, option func() chime.PutOption) {
		if said {
			options = append(options, option())
		}
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	add(d.JobName != "", func() chime.PutOption { return chime.JobName(d.JobName) })
	add(d.Queue != "", func() chime.PutOption { return chime.Queue(d.Queue) })
	add(d.Group != nil && *d.Group != "", func() chime.PutOption { return chime.Group(*d.Group) })
	add(d.NoImmediateRun, func() chime.PutOption { return chime.NoImmediateRun() })
	add(d.Overlap != "", func() chime.PutOption { return chime.Overlap(chime.OverlapPolicy(d.Overlap)) })
	add(d.Misfire != "", func() chime.PutOption { return chime.Misfire(chime.MisfirePolicy(d.Misfire)) })
	add(d.GraceMS != 0, func() chime.PutOption { return chime.Grace(ms(d.GraceMS)) })
	add(d.SpreadMS != nil, func() chime.PutOption { return chime.Spread(ms(*d.SpreadMS)) })
	add(d.PauseAfter != nil, func() chime.PutOption { return chime.PauseAfter(*d.PauseAfter) })
	add(d.MaxUnfinished != nil, func() chime.PutOption { return chime.MaxUnfinished(*d.MaxUnfinished) })
	add(d.KeepRuns != nil, func() chime.PutOption { return chime.KeepRuns(*d.KeepRuns) })
	add(d.MaxAttempts != 0, func() chime.PutOption { return chime.MaxAttempts(d.MaxAttempts) })
	add(d.TimeoutMS != 0, func() chime.PutOption { return chime.Timeout(ms(d.TimeoutMS)) })
	add(d.Retry != nil, func() chime.PutOption { return chime.Retry(chime.Exponential(ms(d.Retry.FirstMS), ms(d.Retry.MaxMS))) })
	add(d.KeepMS != 0, func() chime.PutOption { return chime.Keep(ms(d.KeepMS)) })
	add(d.Meta != nil, func() chime.PutOption { return chime.Meta(d.Meta) })
	add(d.Args != nil, func() chime.PutOption { return chime.Args(d.Args) })
	add(d.Payload != nil, func() chime.PutOption { return chime.Args(d.Payload) })
	for key, value := range d.Header {
		options = append(options, chime.Header(key, value))
	}
	return options
}

// With returns the definition, changed by the fields that another one sets.
func (d *Definition) With(other *Definition) (*Definition, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	over, err := json.Marshal(other)
	if err != nil {
		return nil, err
	}
	both := &Definition{}
	err = errors.Join(json.Unmarshal(text, both), json.Unmarshal(over, both)) // headers are merged
	if other.Args != nil {
		both.Payload = nil
	}
	return both, err
}

// A Difference is a field that has different values in two definitions.
type Difference struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// allFields are the fields in the order in which a difference shows them.
var allFields = []string{
	"rule", "job_name", "queue", "group", "no_immediate_run", "overlap", "misfire", "grace_ms", "spread_ms", "pause_after", "max_unfinished", "keep_runs", "max_attempts", "timeout_ms",
	"retry", "keep_ms", "header", "meta", "args", "payload",
}

// Differences returns what is different in the second of two definitions. For arguments they show only the size.
func Differences(before, after *Definition) ([]Difference, error) {
	old, err := before.fields()
	if err != nil {
		return nil, err
	}
	now, err := after.fields()
	if err != nil {
		return nil, err
	}
	var all []Difference
	for _, field := range allFields {
		if !bytes.Equal(old[field], now[field]) {
			all = append(all, Difference{field, shownField(field, old[field]), shownField(field, now[field])})
		}
	}
	return all, nil
}

// fields returns what the definition sets, as JSON in its shortest form.
func (d *Definition) fields() (map[string]json.RawMessage, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	return fields, json.Unmarshal(text, &fields)
}

// shownField formats the value of a field for people.
func shownField(field string, value json.RawMessage) string {
	switch {
	case len(value) == 0:
		return ""
	case field == "args" || field == "payload":
		return strconv.Itoa(len(value)) + " bytes"
	case field == "rule":
		if rule, err := recurrence.Parse(value); err == nil {
			return rule.String() + "  " + string(value)
		}
	}
	return string(value)
}
