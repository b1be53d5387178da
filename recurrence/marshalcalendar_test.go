package recurrence

import (
	"reflect"
	"testing"
	"time"
)

func TestEqualComparesCalendarsAsText(t *testing.T) {
	weekend := Filter{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}
	christmas := Filter{Dates: []string{"12-25", "12-24/12-24"}, Times: []string{"09:00/09:00"}}
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	rule := Recurrence{
		Frequency: Month, Positions: []int{-1, 2}, Seconds: []int{30, 0}, Only: []Filter{weekend, christmas}, Except: []Filter{christmas},
		Also: []Recurrence{{StartTime: start}, {Frequency: Week, Hours: []int{11, 5}}},
	}
	same := Recurrence{
		Frequency: Month, Positions: []int{2, -1, 2}, Seconds: []int{0, 30, 30},
		Only: []Filter{
			{Dates: []string{"12-24", "12-25", "12-25/12-25"}, Times: []string{"09:00"}, Months: []time.Month{}},
			{WeekDays: []time.Weekday{time.Sunday, time.Saturday}}, weekend,
		},
		Except: []Filter{christmas, christmas},
		Also:   []Recurrence{{Frequency: Week, Hours: []int{5, 11, 5}}, {StartTime: start.Add(1)}, {StartTime: start}},
	}
	if !rule.Equal(same) {
		t.Errorf("%s and %s are not equal", marshal(t, rule), marshal(t, same))
	}
	for claim, change := range map[string]func(*Recurrence){
		"another date": func(r *Recurrence) { r.Except = []Filter{{Dates: []string{"12-25"}, Times: []string{"09:00"}}} },
		"a date with a year": func(r *Recurrence) {
			r.Except = []Filter{{Dates: []string{"2026-12-25", "12-24"}, Times: christmas.Times}}
		},
		"another time":                func(r *Recurrence) { r.Except = []Filter{{Dates: christmas.Dates, Times: []string{"09:00:00"}}} },
		"no time":                     func(r *Recurrence) { r.Except = []Filter{{Dates: christmas.Dates}} },
		"two filters for one":         func(r *Recurrence) { r.Except = []Filter{{Dates: christmas.Dates}, {Times: christmas.Times}} },
		"only for except":             func(r *Recurrence) { r.Only, r.Except = r.Except, r.Only },
		"a shift":                     func(r *Recurrence) { r.Shift = ShiftNext },
		"a day after Easter":          func(r *Recurrence) { r.Only = []Filter{{Dates: []string{"easter+1"}}} },
		"a day after Orthodox Easter": func(r *Recurrence) { r.Only = []Filter{{Dates: []string{"orthodoxEaster+1"}}} },
		"a shift by days":             func(r *Recurrence) { r.ShiftBy = 1 },
		"a shift back by days":        func(r *Recurrence) { r.ShiftBy = -1 },
		"another way of the clock":    func(r *Recurrence) { r.ClockChanges = ClockSkip },
		"another instant":             func(r *Recurrence) { r.Also = []Recurrence{{StartTime: start.Add(time.Second)}, r.Also[1]} },
		"a rule less":                 func(r *Recurrence) { r.Also = r.Also[:1] },
		"another position":            func(r *Recurrence) { r.Positions = []int{-1} },
		"another second":              func(r *Recurrence) { r.Seconds = []int{30} },
	} {
		other := rule
		change(&other)
		if rule.Equal(other) {
			t.Errorf("%s: %s and %s are equal", claim, marshal(t, rule), marshal(t, other))
		}
	}
}

func TestMarshalDoesNotChangeTheCalendar(t *testing.T) {
	make := func() Recurrence {
		return Recurrence{
			Frequency: Day,
			Only:      []Filter{{WeekDays: []time.Weekday{0, 1}}, {Dates: []string{"12-25", "12-24/12-24"}, Times: []string{"09:00", "08:00"}}},
			Also:      []Recurrence{{StartTime: time.Unix(5e9, 0)}, {Frequency: Week, Hours: []int{17, 5}}},
		}
	}
	r := make()
	marshal(t, r)
	if err := r.Validate(); err != nil || !reflect.DeepEqual(r, make()) {
		t.Errorf("it is now %+v, %v", r, err)
	}
}

func TestAnInvalidCalendarIsWrittenAsItIs(t *testing.T) {
	r := Recurrence{
		Frequency: Day, Shift: 9, ClockChanges: 9,
		Except: []Filter{{}, {Dates: []string{"christmas", ""}, Times: []string{"25:00"}, Months: []time.Month{0}}},
		Also:   []Recurrence{{}, {Count: 2, TimeZone: "Local", Shift: ShiftNext, Only: []Filter{{}}}},
	}
	const want = `{"frequency":"day","except":[{"months":[0],"dates":["","christmas"],"times":["25:00"]},{}],"shift":"Shift(9)",` +
		`"also":[{"count":2,"timeZone":"Local","only":[{}],"shift":"next"},{}],"clockChanges":"ClockChanges(9)"}`
	if got := marshal(t, r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
