package recurrence

import (
	"cmp"
	"path"
	"sort"
	"sync"
	"time"
)

// A zone is what the clocks of one place show from 1900 to the horizon. It never changes once made.
// Before 1900 it holds its first offset, after the horizon its last.
type zone struct {
	location *time.Location
	regimes  []regime // from the earliest; at least one
}

// A regime is a stretch of time in which the clocks keep one offset. Its wall seconds are the Unix seconds of UTC clocks that
// show the same.
//
// Where the clocks jump ahead, first is above wall, and what lies between is skipped. Where they fall back, first is
// below wall, and what lies between is shown again. Otherwise they would be the same.
type regime struct {
	from   int64 // its first instant
	offset int64 // local time minus UTC, in seconds
	first  int64 // the wall second it begins with: from + offset
	wall   int64 // the wall second that would have followed without the change: from + the offset before
}

// horizon is the first instant that is not searched: 2200-01-01T00:00:00Z.
const horizon = 7258118400

// zones remembers what was made of the zone data, by name. It saves the time of making it again and changes no result.
var zones sync.Map

// loadZone finds the zone of that name; without one it is UTC.
func loadZone(name string) (*zone, error) {
	name = cmp.Or(name, "UTC") // needs no zone data
	if known, ok := zones.Load(name); ok {
		return known.(*zone), nil
	}
	location, bad := findZone(name)
	if bad != nil {
		return nil, bad
	}
	z := newZone(location)
	if path.Clean(name) == name { // a file has many paths; one of them is enough to remember
		zones.Store(name, z)
	}
	return z, nil
}

// newZone lists the regimes of a location, joining those that differ in nothing but their name.
func newZone(location *time.Location) *zone {
	z := &zone{location: location}
	for at := earliest.In(location); at.Before(latest); {
		_, seconds := at.Zone()
		z.add(at.Unix(), int64(seconds))
		_, end := at.ZoneBounds()
		if end.IsZero() {
			break
		}
		if !end.After(at) {
			end = stepOver(at, seconds)
		}
		at = end
	}
	return z
}

// stepOver goes on from an instant by an hour, or to the second in it at which the offset changes. On the last day of a
// leap year ZoneBounds gives that day's beginning as the end.
func stepOver(at time.Time, seconds int) time.Time {
	return at.Add(time.Second * time.Duration(1+sort.Search(3599, func(n int) bool {
		_, later := at.Add(time.Duration(n+1) * time.Second).Zone()
		return later != seconds
	})))
}

func (z *zone) add(from, offset int64) {
	if len(z.regimes) == 0 {
		z.regimes = append(z.regimes, regime{from: -never, offset: offset, first: -never, wall: -never})
		return
	}
	before := z.regimes[len(z.regimes)-1].offset
	if before != offset {
		z.regimes = append(z.regimes, regime{from: from, offset: offset, first: from + offset, wall: from + before})
	}
}

// at is the index of the regime that holds an instant.
func (z *zone) at(instant int64) int {
	low, high := 0, len(z.regimes) // regime low begins by then, regime high does not
	for low+1 < high {
		if middle := (low + high) / 2; z.regimes[middle].from <= instant {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// atWall is the index of the regime that a wall second belongs to: the one that shows it first or, where
// none does, the one that skipped it.
func (z *zone) atWall(wall int64) int {
	low, high := 0, len(z.regimes)
	for low+1 < high {
		if middle := (low + high) / 2; z.regimes[middle].wall <= wall {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// end is the wall second at which regime i no longer holds.
func (z *zone) end(i int) int64 {
	if i+1 == len(z.regimes) {
		return never
	}
	return z.regimes[i+1].wall
}

// offsetAt is the offset at an instant.
func (z *zone) offsetAt(instant int64) int64 { return z.regimes[z.at(instant)].offset }
