package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"github.com/chimejobs/chime/recurrence"
)

// A calendarRule is one rule as a user of each library would write it.
type calendarRule struct {
	name    string
	about   string
	years   int // how long ago it began; 0: as the measure has it
	chime   recurrence.Recurrence
	robfig  string         // empty: five fields cannot express it
	rrule   *rrule.ROption // without its start; nil: RFC 5545 cannot express it
	without []time.Time    // what RFC 5545 leaves out of it, in UTC, at the times that a clock in the rule's zone shows
}

// calendarRules all run on whole minutes, at times of the day that no change of the clocks touches, where the libraries differ.
var calendarRules = []calendarRule{
	{
		name: "15 min", about: "every 15 minutes",
		chime:  recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15},
		robfig: "*/15 * * * *",
		rrule:  &rrule.ROption{Freq: rrule.MINUTELY, Interval: 15},
	},
	{
		name: "weekdays", about: "Monday to Friday at 09:00",
		chime: recurrence.Recurrence{Frequency: recurrence.Week, Hours: []int{9}, Minutes: []int{0}, WeekDays: []time.Weekday{
			time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}},
		robfig: "0 9 * * 1-5",
		rrule: &rrule.ROption{Freq: rrule.WEEKLY, Byhour: []int{9}, Byminute: []int{0}, Bysecond: []int{0}, Byweekday: []rrule.Weekday{
			rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR}},
	},
	{
		name: "office hours", about: "every 15 minutes from 09:00 to 16:45, Monday to Friday",
		chime: recurrence.Recurrence{Frequency: recurrence.Week, Hours: []int{9, 10, 11, 12, 13, 14, 15, 16}, Minutes: []int{0, 15, 30, 45},
			WeekDays: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}},
		robfig: "*/15 9-16 * * 1-5",
		rrule: &rrule.ROption{Freq: rrule.WEEKLY, Byhour: []int{9, 10, 11, 12, 13, 14, 15, 16}, Byminute: []int{0, 15, 30, 45},
			Bysecond: []int{0}, Byweekday: []rrule.Weekday{rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR}},
	},
	{
		name: "29 Feb", about: "29 February at 03:30",
		chime: recurrence.Recurrence{Frequency: recurrence.Month, Months: []time.Month{time.February}, MonthDays: []int{29},
			Hours: []int{3}, Minutes: []int{30}},
		robfig: "30 3 29 2 *",
		rrule: &rrule.ROption{Freq: rrule.YEARLY, Bymonth: []int{2}, Bymonthday: []int{29},
			Byhour: []int{3}, Byminute: []int{30}, Bysecond: []int{0}},
	},
	{
		name: "5th Friday", about: "the fifth Friday of a month at 09:00",
		chime: recurrence.Recurrence{Frequency: recurrence.Month, MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Friday, N: 5}},
			Hours: []int{9}, Minutes: []int{0}},
		rrule: &rrule.ROption{Freq: rrule.MONTHLY, Byweekday: []rrule.Weekday{rrule.FR.Nth(5)},
			Byhour: []int{9}, Byminute: []int{0}, Bysecond: []int{0}},
	},
}

// A calendar is one library's answers to a rule: the first instant strictly after another, and the last one before; nil: it has none.
type calendar struct {
	next, prev func(time.Time) time.Time
}

// open compiles the rule for one library.
func (c calendarRule) open(library string, start time.Time) (calendar, error) {
	switch {
	case library == "chime":
		series, err := c.series(start)
		if err != nil {
			return calendar{}, err
		}
		return calendar{
			next: func(after time.Time) time.Time { next, _ := series.Next(after); return next },
			prev: func(before time.Time) time.Time { prev, _ := series.Prev(before); return prev },
		}, nil
	case library == "robfig" && c.robfig != "":
		schedule, err := cron.ParseStandard("CRON_TZ=" + start.Location().String() + " " + c.robfig)
		if err != nil {
			return calendar{}, err
		}
		return calendar{next: schedule.Next}, nil
	case library == "rrule-go" && c.rrule != nil:
		option := *c.rrule
		option.Dtstart = start
		rule, err := rrule.NewRRule(option)
		if err != nil {
			return calendar{}, err
		}
		if len(c.without) == 0 {
			return calendar{
				next: func(after time.Time) time.Time { return rule.After(after, false) },
				prev: func(before time.Time) time.Time { return rule.Before(before, false) },
			}, nil
		}
		var set rrule.Set
		set.RRule(rule)
		for _, at := range c.without {
			set.ExDate(time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, start.Location()))
		}
		return calendar{
			next: func(after time.Time) time.Time { return set.After(after, false) },
			prev: func(before time.Time) time.Time { return set.Before(before, false) },
		}, nil
	}
	return calendar{}, errors.ErrUnsupported
}

// series compiles the rule for chime.
func (c calendarRule) series(start time.Time) (*recurrence.Series, error) {
	rule := c.chime
	rule.StartTime, rule.TimeZone = start, start.Location().String()
	return rule.Series(start)
}

// The number of compared instants. A rule that runs once in 28 years has fewer before 2200, where chime's calendar ends.
const (
	instantsCompared = 8
	fewestCompared   = 4
)

var calendars = []peer{{library: "chime"}, {library: "robfig"}, {library: "rrule-go"}}

// recurrenceMeasures are the measures of all rules in two zones with two starts.
func recurrenceMeasures() []measure {
	var all []measure
	for _, rule := range calendarRules {
		for _, zone := range []string{"UTC", "America/New_York"} {
			for _, years := range []int{0, 10} {
				all = append(all, nextMeasure(rule, zone, years))
			}
		}
	}
	return all
}

func nextMeasure(rule calendarRule, zone string, years int) measure {
	start, name := "today", fmt.Sprintf("next %s %s", rule.name, path.Base(zone))
	if years > 0 {
		start = fmt.Sprintf("%d years back", years)
		name += " old"
	}
	return measure{
		name:  name,
		group: "recurrence",
		slow:  true,
		about: fmt.Sprintf("the next instant after one of today: %s in %s, a rule whose start is %s", rule.about, zone, start),
		peers: calendars,
		run: func(_ context.Context, r *testbed, p peer) ([]figure, error) {
			location, err := time.LoadLocation(zone)
			if err != nil {
				return nil, err
			}
			year, month, day := time.Now().In(location).Date()
			today := time.Date(year, month, day, 0, 0, 0, 0, location)
			from := today.AddDate(-years, 0, 0)
			next, err := rule.open(p.library, from)
			if err != nil {
				return nil, err
			}
			if err := rule.agrees(p.library, next, from, today); err != nil {
				return nil, err
			}
			took, allocations := fastest(next.next, today, nextFor(r.sizes))
			return []figure{
				{name: "time", unit: "ns", value: took, less: true},
				{name: "allocations", unit: "", value: allocations, less: true},
			}, nil
		},
	}
}

func nextFor(s sizes) time.Duration {
	if s.short {
		return 10 * time.Millisecond
	}
	return 50 * time.Millisecond
}

// agrees compares a library's instants with chime's, from a day without a change of the clocks on.
func (c calendarRule) agrees(library string, next calendar, start, today time.Time) error {
	ours, err := c.open("chime", start)
	if err != nil {
		return err
	}
	after := time.Date(today.Year()+1, time.January, 10, 0, 0, 0, 0, today.Location())
	for i := range instantsCompared {
		want, got := ours.next(after), next.next(after)
		if want.IsZero() && i >= fewestCompared {
			break
		}
		if !got.Equal(want) {
			return fmt.Errorf("%s after %v: %s says %v, chime %v", c.about, after, library, got, want)
		}
		if next.prev != nil {
			if want, got := ours.prev(want), next.prev(want); !got.Equal(want) {
				return fmt.Errorf("%s before %v: %s says %v, chime %v", c.about, want, library, got, want)
			}
		}
		after = want
	}
	return nil
}

// fastest asks for the instants next to several of a day, for at least so long, and returns how long one answer took, in
// nanoseconds, and how much it allocated. The fastest of ten parts of the time counts: the machine did other things during the others.
func fastest(ask func(time.Time) time.Time, today time.Time, least time.Duration) (nanoseconds, allocations float64) {
	afters := make([]time.Time, 16) // a power of two
	for i := range afters {
		afters[i] = today.Add(time.Duration(i)*83*time.Minute + 11*time.Second)
	}
	var parts []float64
	n := 1
	for start := time.Now(); len(parts) == 0 || len(parts) < 10 && time.Since(start) < 4*least; {
		var took time.Duration
		for {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			for i := range n {
				lastAnswer = ask(afters[i%len(afters)])
			}
			took = time.Since(began)
			runtime.ReadMemStats(&after)
			allocations = float64(after.Mallocs-before.Mallocs) / float64(n)
			if took >= least/10 {
				break
			}
			n *= 2
		}
		parts = append(parts, float64(took.Nanoseconds())/float64(n))
	}
	return slices.Min(parts), allocations
}

// lastAnswer prevents the compiler from removing the work.
//
//lint:ignore U1000 it is written only, on purpose
var lastAnswer time.Time
