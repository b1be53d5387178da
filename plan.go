package chime

import (
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// A plan is a definition with its rule compiled.
type plan struct {
	definition
	text    string
	series  *recurrence.Series
	grace   time.Duration
	timeout time.Duration
}

// newPlan compiles a stored definition. Its errors are those of parseDefinition, and that a rule never fires from its creation.
func newPlan(text []byte) (*plan, error) {
	d, err := parseDefinition(text)
	if err != nil {
		return nil, err
	}
	p := &plan{definition: *d, text: string(text)}
	if p.grace, err = duration("grace", d.Grace, time.Second); err != nil {
		return nil, err
	}
	if d.Timeout != "" {
		if p.timeout, err = duration("timeout", d.Timeout, time.Millisecond); err != nil {
			return nil, err
		}
	}
	if d.MaxAttempts < 0 || d.MaxAttempts > 1000 {
		return nil, fmt.Errorf("the definition's maxAttempts %d: want 1 to 1000", d.MaxAttempts)
	}
	if d.Created.IsZero() {
		return nil, errors.New("the definition has no creation")
	}
	if p.series, err = d.Recurrence.Series(d.Created); err != nil {
		return nil, notHere(fmt.Errorf("the definition's recurrence: %w", err))
	}
	return p, nil
}

// duration reads a field of a definition as the options would have written it.
func duration(field, text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > longestTimeout {
		return 0, fmt.Errorf("the definition's %s %.40q: want %v to %v", field, text, least, longestTimeout)
	}
	return d, nil
}

// plans remembers compiled definitions by schedule, so that a busy schedule is compiled once and not at each occurrence. It
// keeps at most plansKept of them and plansBytes of their text. It belongs to one goroutine.
type plans struct {
	byName map[string]*plan
	bytes  int
}

const (
	plansKept  = 4096
	plansBytes = 32 << 20
)

// of returns the plan of a stored definition, which is the same as long as its text is.
func (c *plans) of(name string, text []byte) (*plan, error) {
	if p := c.byName[name]; p != nil && p.text == string(text) {
		return p, nil
	}
	p, err := newPlan(text)
	if err != nil {
		return nil, err
	}
	c.forget(name)
	for other := range c.byName { // any: maps begin anywhere
		if len(c.byName) < plansKept && c.bytes+len(text) <= plansBytes {
			break
		}
		c.forget(other)
	}
	if c.byName == nil {
		c.byName = map[string]*plan{}
	}
	c.byName[name] = p
	c.bytes += len(text)
	return p, nil
}

func (c *plans) forget(name string) {
	if p := c.byName[name]; p != nil {
		delete(c.byName, name)
		c.bytes -= len(p.text)
	}
}
