package svg

import (
	"time"
)

const (
	hour = 3600 // seconds
	day  = 24 * hour
)

// A span is an interval in which a zone's clocks do not change. On a clock at UTC+offset, every hour and every day begins at a multiple of its length,
// so round instants can be counted. An hour that the clock shows twice is counted twice, and an hour that it skips is not counted.
type span struct {
	from, to int64 // Unix seconds, [from, to)
	offset   int64 // lead of the zone over UTC, in seconds
}

// spans splits [from, to) at the changes of a zone's clocks.
func spans(from, to int64, zone *time.Location) []span {
	var all []span
	for from < to {
		at := time.Unix(from, 0).In(zone)
		_, offset := at.Zone()
		next := to
		if _, end := at.ZoneBounds(); !end.IsZero() && end.Unix() > from {
			next = min(next, end.Unix())
		}
		all = append(all, span{from, next, int64(offset)})
		from = next
	}
	return all
}

// rounds returns the instants in [from, to] at which a zone's clock shows a multiple of step seconds since midnight. step divides a day.
func rounds(from, to, step int64, zone *time.Location) []time.Time {
	var all []time.Time
	for _, s := range spans(from, to+1, zone) {
		for shown := ceil(s.from+s.offset, step); shown < s.to+s.offset; shown += step {
			all = append(all, time.Unix(shown-s.offset, 0).In(zone))
		}
	}
	return all
}

// midnights returns the first instants of a zone's days in [from, to]. A day that the zone skipped has none.
func midnights(from, to int64, zone *time.Location) []time.Time {
	var all []time.Time
	last := dayOf(time.Unix(from-1, 0).In(zone))
	for _, s := range spans(from, to+1, zone) {
		for at := s.from; at < s.to; at = (floor(at+s.offset, day)+1)*day - s.offset {
			if d := floor(at+s.offset, day); d > last {
				last = d
				all = append(all, time.Unix(at, 0).In(zone))
			}
		}
	}
	return all
}

// dayOf returns the number of the calendar day that at's clock shows, counted from 1 January 1970.
func dayOf(at time.Time) int64 {
	_, offset := at.Zone()
	return floor(at.Unix()+int64(offset), day)
}

// date returns the day with that number, for its year, month, day and weekday.
func date(number int64) time.Time { return time.Unix(number*day, 0).UTC() }

// floor returns a/b, rounded down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// ceil returns the first multiple of b that is at least a.
func ceil(a, b int64) int64 { return -floor(-a, b) * b }

// located returns the zone in which a chart is drawn.
func located(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}
