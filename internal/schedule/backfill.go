package schedule

import (
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// Between returns the rule's instants at or after from and before to, the oldest first, at most n, and the one that comes next; zero: there
// is none. Neither count nor creation bounds them: a rule without a start has instants before its creation too, at which it would have
// run if it had begun earlier, in step with those after it. A rule with a start has none before that. The run at creation is none, unless the
// rule matches it.
func (p *Plan) Between(from, to time.Time, n int) (times []time.Time, next time.Time) {
	for at := range p.reaching(from).Between(from, to) {
		if len(times) == n {
			return times, at
		}
		times = append(times, at)
	}
	return times, time.Time{}
}

// reaching returns a series of the same instants that begins before from. Where there is none, because what the rule does not say it takes
// from a creation that no earlier period has (the 29th of February of every 100th year), it is the rule's own.
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

// maxEarlier is how many periods are tried for one like that of the creation: 29 February comes again within 8 years at most.
const maxEarlier = 1000

// earlier returns an instant a whole number of the rule's periods before its creation, and at least one before from, at which the local
// clock shows what it showed at the creation: a rule that begins then has the same instants after the creation.
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

// shortest is how many seconds a period has at least.
var shortest = map[recurrence.Frequency]int64{
	recurrence.Second: 1, recurrence.Minute: 60, recurrence.Hour: 3600, recurrence.Day: 23 * 3600, recurrence.Week: (7*24 - 1) * 3600,
	recurrence.Month: (28*24 - 1) * 3600, recurrence.Year: 365 * 24 * 3600,
}

// back returns the instant n periods before another one; fits: the local clock shows the same then, as far as the rule takes it from there.
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
