package schedule

import (
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// Between returns the rule's instants at or after from and before to, the oldest first, at most n of them, and the instant that comes next; zero:
// there is no next one. Neither the count nor the creation bounds them. A rule without a start also has instants before its creation: those at
// which it would have run if it had begun earlier, in step with the later ones. A rule with a start has none before the start. The run at
// creation does not count, unless the rule matches it.
func (p *Plan) Between(from, to time.Time, n int) (times []time.Time, next time.Time) {
	for at := range p.reaching(from).Between(from, to) {
		if len(times) == n {
			return times, at
		}
		times = append(times, at)
	}
	return times, time.Time{}
}

// reaching returns a series of the same instants that begins before from. Sometimes there is no such series: the rule takes missing fields from
// its creation, and no earlier period has that date (the 29th of February of every 100th year). Then reaching returns the rule's own series.
func (p *Plan) reaching(from time.Time) *recurrence.Series {
	rule := p.Recurrence
	if !rule.StartTime.IsZero() || !from.Before(p.Created) {
		return p.series
	}
	begin := from
	if strings.Contains(strings.ToLower(rule.Cron), "@every") {
		every, err := recurrence.Cron(rule.Cron)
		if err != nil {
			return p.series
		}
		rule.Cron, rule.Frequency, rule.Interval = "", every.Frequency, every.Interval
		if rule.TimeZone == "" {
			rule.TimeZone = every.TimeZone
		}
	}
	if rule.Cron == "" {
		var ok bool
		if begin, ok = p.earlier(rule, from); !ok {
			return p.series
		}
	}
	rule.Count = 0
	series, err := rule.Series(begin)
	if err != nil {
		return p.series
	}
	return series
}

// maxEarlier is how many earlier periods are tried to find one like that of the creation: 29 February comes again within at most 8 years.
const maxEarlier = 1000

// earlier returns an instant that lies a whole number of the rule's periods before its creation, and at least one period before from. The local
// clock shows the same at both instants: a rule that begins then has the same instants after the creation.
func (p *Plan) earlier(rule recurrence.Recurrence, from time.Time) (time.Time, bool) {
	zone, err := time.LoadLocation(rule.TimeZone)
	if err != nil {
		return time.Time{}, false
	}
	created, interval := p.Created.Truncate(time.Second).In(zone), max(rule.Interval, 1)
	period := shortest[rule.Frequency] * int64(interval)
	if period == 0 {
		return time.Time{}, false
	}
	k := int((created.Unix()-from.Unix())/period) + 2
	for range maxEarlier {
		at, fits := back(created, rule.Frequency, k*interval)
		if fits && at.Before(from) {
			return at, true
		}
		k++
	}
	return time.Time{}, false
}

// shortest is the minimum length of a period in seconds.
var shortest = map[recurrence.Frequency]int64{
	recurrence.Second: 1, recurrence.Minute: 60, recurrence.Hour: 3600, recurrence.Day: 23 * 3600, recurrence.Week: (7*24 - 1) * 3600,
	recurrence.Month: (28*24 - 1) * 3600, recurrence.Year: 365 * 24 * 3600,
}

// back returns the instant n periods before another one. fits means that the local clock shows the same then, in all parts that the rule takes
// from its creation.
func back(from time.Time, frequency recurrence.Frequency, n int) (at time.Time, fits bool) {
	_, offset := from.Zone()
	switch frequency {
	case recurrence.Second, recurrence.Minute, recurrence.Hour:
		at = time.Unix(from.Unix()-int64(n)*shortest[frequency], 0).In(from.Location())
		_, then := at.Zone()
		return at, (then-offset)%3600 == 0
	case recurrence.Day:
		at = from.AddDate(0, 0, -n)
	case recurrence.Week:
		at = from.AddDate(0, 0, -7*n)
	case recurrence.Month:
		at = from.AddDate(0, -n, 0)
	default:
		at = from.AddDate(-n, 0, 0)
	}
	sameDay := at.Day() == from.Day() || frequency == recurrence.Day || frequency == recurrence.Week
	return at, sameDay && at.Hour() == from.Hour() && at.Minute() == from.Minute() && at.Second() == from.Second()
}
