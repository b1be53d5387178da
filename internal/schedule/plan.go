package schedule

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// A Plan is a definition with its rule compiled.
type Plan struct {
	Definition
	text   string
	series *recurrence.Series
	zone   *time.Location // nil: see recurrence.Series.LocalTimes
}

// Compile reads a stored definition and compiles its rule. It returns the errors of Read, and an error for a rule that has no instant after the
// schedule's creation.
func Compile(text []byte) (*Plan, error) {
	d, err := Read(text)
	if err != nil {
		return nil, err
	}
	series, err := d.Recurrence.Series(d.Created)
	if err != nil {
		return nil, notHere(fmt.Errorf("the definition's recurrence: %w", err))
	}
	zone, _ := series.LocalTimes()
	return &Plan{Definition: *d, text: string(text), series: series, zone: zone}, nil
}

// Plans caches compiled definitions by schedule, so that the rule of a busy schedule is compiled once and not at each occurrence. It keeps at
// most maxPlans of them and maxPlanBytes of their text. It belongs to one goroutine.
type Plans struct {
	byName map[string]*Plan
	bytes  int
}

const (
	maxPlans     = 4096
	maxPlanBytes = 32 << 20
)

// Of returns the plan of a stored definition. It returns the same plan as long as the text is the same.
func (c *Plans) Of(name string, text []byte) (*Plan, error) {
	if p := c.byName[name]; p != nil && p.text == string(text) {
		return p, nil
	}
	p, err := Compile(text)
	if err != nil {
		return nil, err
	}
	c.forget(name)
	for other := range c.byName { // a random one: a map has no order
		if len(c.byName) < maxPlans && c.bytes+len(text) <= maxPlanBytes {
			break
		}
		c.forget(other)
	}
	if c.byName == nil {
		c.byName = map[string]*Plan{}
	}
	c.byName[name] = p
	c.bytes += len(text)
	return p, nil
}

// Next computes the placement of each of the owed schedules. It calls failed for those that cannot be computed here.
func (c *Plans) Next(owed []protocol.Owed, failed func(o *protocol.Owed, err error)) []protocol.Placement {
	placements := make([]protocol.Placement, 0, len(owed))
	for i := range owed {
		o := &owed[i]
		p, err := c.Of(o.Name, o.Definition)
		if o.Unreadable {
			err = protocol.ErrUnreadable
		}
		if err != nil {
			failed(o, err)
			continue
		}
		placements = append(placements, p.Next(*o))
	}
	return placements
}

func (c *Plans) forget(name string) {
	if p := c.byName[name]; p != nil {
		delete(c.byName, name)
		c.bytes -= len(p.text)
	}
}
