package recurrence

import (
	"cmp"
	"path"
	"sort"
	"sync"
	"time"
)

// A zone holds the UTC offsets of one time zone from 1900 to the horizon. It never changes once made.
// Instants before 1900 get its first offset, instants after the horizon its last.
type zone struct {
	location *time.Location
	periods  []offsetPeriod // in order; at least one
}

// An offsetPeriod is a stretch of time in which local clocks keep one UTC offset.
//
// A wall second is what a local clock shows, written as the Unix second at which a UTC clock shows the same.
//
// If the clocks jump forward when the period begins, wallAfter is larger than wallBefore and the wall seconds between them
// are skipped: a gap. If the clocks fall back, wallAfter is smaller and the wall seconds between them come twice: an overlap.
type offsetPeriod struct {
	begin      int64 // its first instant
	offset     int64 // local time minus UTC, in seconds
	wallAfter  int64 // what the clocks show at begin: begin + offset
	wallBefore int64 // what they would show without the change: begin + the offset before
}

// horizon is where every search ends: 2200-01-01T00:00:00Z. Instants from it on are not searched.
const horizon = 7258118400

// zones caches each zone by its name. It saves time and changes no result.
var zones sync.Map

// loadZone returns the zone of that name. An empty name means UTC.
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
	if path.Clean(name) == name { // a file has many paths; only one of them is cached
		zones.Store(name, z)
	}
	return z, nil
}

// newZone collects the offset periods of a location. Neighbors that differ only in their abbreviation are joined.
func newZone(location *time.Location) *zone {
	z := &zone{location: location}
	for at := minTime.In(location); at.Before(horizonTime); {
		_, seconds := at.Zone()
		z.add(at.Unix(), int64(seconds))
		end, ends := offsetEnd(at)
		if !ends {
			break
		}
		at = end
	}
	return z
}

// offsetEnd returns an instant after at until which the offset at at lasts; ends is false if it lasts without end. The offset may last longer. A
// loop from one end to the next visits every change and advances by a second or more.
func offsetEnd(at time.Time) (end time.Time, ends bool) {
	_, end = at.ZoneBounds()
	if end.IsZero() || end.After(at) {
		return end, !end.IsZero()
	}
	// On the last day of a leap year ZoneBounds may return the beginning of that day. The next hour is searched instead.
	_, seconds := at.Zone()
	return at.Add(time.Second * time.Duration(1+sort.Search(3599, func(n int) bool {
		_, later := at.Add(time.Duration(n+1) * time.Second).Zone()
		return later != seconds
	}))), true
}

func (z *zone) add(begin, offset int64) {
	if len(z.periods) == 0 {
		z.periods = append(z.periods, offsetPeriod{begin: -never, offset: offset, wallAfter: -never, wallBefore: -never})
		return
	}
	before := z.periods[len(z.periods)-1].offset
	if before != offset {
		z.periods = append(z.periods, offsetPeriod{begin: begin, offset: offset, wallAfter: begin + offset, wallBefore: begin + before})
	}
}

// periodAt returns the index of the period that holds an instant.
func (z *zone) periodAt(instant int64) int {
	low, high := 0, len(z.periods) // period low begins at or before the instant, period high after it
	for low+1 < high {
		if middle := (low + high) / 2; z.periods[middle].begin <= instant {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// periodAtWall returns the index of the period in which the clocks first show a wall second. If no period shows it, that is
// the period that begins with the gap.
func (z *zone) periodAtWall(wall int64) int {
	low, high := 0, len(z.periods)
	for low+1 < high {
		if middle := (low + high) / 2; z.periods[middle].wallBefore <= wall {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// endWall returns the wall second at which period i ends, on its own clock.
func (z *zone) endWall(i int) int64 {
	if i+1 == len(z.periods) {
		return never
	}
	return z.periods[i+1].wallBefore
}

// offsetAt returns the offset at an instant.
func (z *zone) offsetAt(instant int64) int64 { return z.periods[z.periodAt(instant)].offset }
