package schedule

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Zones compares stored local times with the time zone data here, without reading definitions. It loads each zone once, unless there are more than
// maxZones. The zero value is ready; it belongs to one goroutine.
type Zones struct{ known map[string]*time.Location }

const maxZones = 1000 // zones in memory: the IANA database has about 600 names

// Differ reports whether the zone of an occurrence may have another offset here at its planned instant than the one with which it was placed.
func (c *Zones) Differ(z protocol.Zoned) bool {
	if z.Planned.IsZero() {
		return false
	}
	zone, known := c.known[z.Zone]
	if !known {
		zone, _ = time.LoadLocation(z.Zone)
		if c.known == nil || len(c.known) >= maxZones {
			c.known = map[string]*time.Location{}
		}
		c.known[z.Zone] = zone
	}
	if zone == nil {
		return true
	}
	_, offset := z.Planned.In(zone).Zone()
	return time.Duration(offset)*time.Second != z.Offset
}

// ReplanOf returns how an occurrence that waits is withdrawn, so that it is placed again at the instant that the rule has for its local time here. ok is
// false if that is the planned instant, or if the definition cannot be computed here. cursor and z are as the store has them.
func ReplanOf(at protocol.Address, definition []byte, cursor protocol.Cursor, z protocol.Zoned) (r protocol.Replan, ok bool) {
	if !cursor.Placed || cursor.CaughtUp {
		return r, false
	}
	p, err := Compile(definition)
	if err != nil || p.State != protocol.StateLive {
		return r, false
	}
	to, ok := p.Moved(z, cursor.At)
	return protocol.Replan{Address: at, Definition: definition, Revision: p.Revision, Cursor: cursor, Back: Back(cursor.At, to)}, ok
}
