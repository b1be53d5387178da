package recurrence

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGoCalendarsAreRefusedLikeTheirJSON(t *testing.T) {
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	january := []Filter{{Months: []time.Month{time.January}}}
	day := func(change func(*Recurrence)) Recurrence {
		r := Recurrence{Frequency: Day}
		change(&r)
		return r
	}
	only := func(f Filter) Recurrence { return Recurrence{Frequency: Day, Only: []Filter{january[0], f}} }
	also := func(entry Recurrence) Recurrence {
		return Recurrence{Frequency: Day, Also: []Recurrence{{StartTime: at(2026)}, entry}}
	}
	for _, c := range []struct {
		rule Recurrence
		want string // code field value, joined
	}{
		{only(Filter{}), `filter_empty|only[1]|{}`},
		{only(Filter{WeekDays: []time.Weekday{}, Dates: []string{}}), `filter_empty|only[1]|{}`},
		{only(Filter{WeekDays: []time.Weekday{1, 7}}), `weekdays_value|only[1].weekDays[1]|7`},
		{only(Filter{WeekDays: make([]time.Weekday, 8)}), `weekdays_size|only[1].weekDays|["sunday"]`},
		{only(Filter{MonthDays: []int{1, 0, 32}}), `monthdays_range|only[1].monthDays[1]|0; monthdays_range|only[1].monthDays[2]|32`},
		{Recurrence{Frequency: Day, Days: []Filter{{}}}, `filter_empty|schedule.days[0]|{}`},
		{Recurrence{Frequency: Day, Days: []Filter{{Times: []string{"09:00"}}}}, `unknown_field|schedule.days[0].times|["09:00"]`},
		{Recurrence{Frequency: Day, Days: slices.Repeat(january, 33)}, `filter_size|schedule.days|[{"months":[1]}]`},
		{Recurrence{Frequency: Week, WeekStart: 9}, `weekstart_value|schedule.weekStart|WeekStart(9)`},
		{Recurrence{Days: january}, `frequency_missing|frequency|`},
		{also(Recurrence{Frequency: Day, Days: []Filter{{YearDays: []int{0}}}}), `yeardays_range|also[1].schedule.days[0].yearDays[0]|0`},
		{only(Filter{Weeks: []int{54, 0}, YearDays: []int{-367}, YearlyOccurrences: []NthWeekday{{Day: 9, N: 54}}}),
			`weeks_range|only[1].weeks[0]|54; weeks_range|only[1].weeks[1]|0; yeardays_range|only[1].yearDays[0]|-367; occurrence_day|only[1].yearlyOccurrences[0].day|9; occurrence_range|only[1].yearlyOccurrences[0].occurrence|54`},
		{only(Filter{MonthlyOccurrences: []NthWeekday{{}, {Day: 9, N: 6}}}), `occurrence_day|only[1].monthlyOccurrences[1].day|9; occurrence_range|only[1].monthlyOccurrences[1].occurrence|6`},
		{only(Filter{Months: []time.Month{13}}), `months_range|only[1].months[0]|13`},
		{only(Filter{Dates: []string{"12-25", "2026-02-29"}}), `dates_value|only[1].dates[1]|2026-02-29`},
		{only(Filter{Times: []string{"24:00", "\xff"}}), "times_value|only[1].times[0]|24:00; times_value|only[1].times[1]|\ufffd"},
		{only(Filter{Dates: slices.Repeat([]string{"12-25"}, 1001)}), `filter_size|only[1].dates|["12-25"]`},
		{only(Filter{Times: slices.Repeat([]string{"09:00"}, 101)}), `filter_size|only[1].times|["09:00"]`},
		{day(func(r *Recurrence) { r.Except = slices.Repeat(january, 33) }), `filter_size|except|[{"months":[1]}]`},
		{day(func(r *Recurrence) { r.Except = []Filter{{}}; r.Only = []Filter{{}} }), `filter_empty|only[0]|{}; filter_empty|except[0]|{}`},
		{Recurrence{StartTime: at(2026), Only: january}, `frequency_missing|frequency|`},
		{Recurrence{StartTime: at(2026), Except: january, Also: []Recurrence{{StartTime: at(2027)}}}, `frequency_missing|frequency|`},
		{Recurrence{Also: []Recurrence{{StartTime: at(2027)}}}, `frequency_missing|frequency|`},
		{Recurrence{StartTime: at(2026), ClockChanges: ClockSkip}, `frequency_missing|frequency|`},

		{day(func(r *Recurrence) { r.Only, r.Shift = january, 7 }), `shift_value|shift|Shift(7)`},
		{Recurrence{Frequency: Minute, Only: january, Shift: 7, ClockChanges: 3}, `shift_value|shift|Shift(7); clockchanges_value|clockChanges|ClockChanges(3)`},
		{day(func(r *Recurrence) { r.Shift = ShiftNext }), `shift_alone|shift|next`},
		{Recurrence{Frequency: Hour, Only: january, Shift: ShiftNext}, `shift_frequency|shift|next`},
		{Recurrence{Cron: "@every 1h", Only: january, Shift: ShiftNext}, `shift_frequency|shift|next`},
		{day(func(r *Recurrence) {
			r.Only, r.Shift, r.Also = january, ShiftNearest, []Recurrence{{Frequency: Second}}
		}), `shift_frequency|shift|nearest`},
		{Recurrence{Frequency: Year, Positions: []int{1}, Except: january, Shift: ShiftNextInMonth}, `shift_positions|shift|nextInMonth`},
		{day(func(r *Recurrence) {
			r.Only, r.Shift, r.Also = january, ShiftNext, []Recurrence{{Frequency: Week, Positions: []int{1}}}
		}), `shift_positions|shift|next`},
		{day(func(r *Recurrence) { r.ShiftBy = 32 }), `shiftby_range|shiftBy|32`},
		{day(func(r *Recurrence) { r.ShiftBy = -1 << 40 }), `shiftby_range|shiftBy|-1099511627776`},
		{Recurrence{Frequency: Minute, ShiftBy: -33}, `shiftby_range|shiftBy|-33; shiftby_frequency|shiftBy|-33`},
		{Recurrence{Cron: "@every 1h", ShiftBy: 1}, `shiftby_frequency|shiftBy|1`},
		{day(func(r *Recurrence) { r.ShiftBy, r.Also = 1, []Recurrence{{Frequency: Second}} }), `shiftby_frequency|shiftBy|1`},
		{Recurrence{StartTime: at(2026), ShiftBy: 1}, `frequency_missing|frequency|`},
		{also(Recurrence{Frequency: Week, ShiftBy: 1}), `unknown_field|also[1].shiftBy|1`},
		{Recurrence{Frequency: Hour, ClockChanges: ClockShown}, `clockchanges_frequency|clockChanges|shown`},
		{Recurrence{Cron: "@every 1m", ClockChanges: ClockSkip}, `clockchanges_frequency|clockChanges|skip`},

		{day(func(r *Recurrence) { r.Seconds = []int{0, 60, -1} }), `seconds_range|schedule.seconds[1]|60; seconds_range|schedule.seconds[2]|-1`},
		{day(func(r *Recurrence) { r.Positions = []int{1} }), `positions_frequency|schedule.positions|[1]`},
		{Recurrence{Frequency: Week, Positions: []int{0, 7, 8}}, `positions_range|schedule.positions[0]|0; positions_range|schedule.positions[2]|8`},
		{Recurrence{Frequency: Month, Positions: []int{-32}}, `positions_range|schedule.positions[0]|-32`},
		{Recurrence{Frequency: Year, Positions: []int{367}}, `positions_range|schedule.positions[0]|367`},
		{Recurrence{Cron: "0 5 * * *", Seconds: []int{1}}, `cron_conflict|cron|0 5 * * *`},
		{Recurrence{Seconds: []int{1}}, `frequency_missing|frequency|`},

		{also(Recurrence{}), `frequency_missing|also[1].frequency|`},
		{also(Recurrence{Frequency: Week, Count: 3}), `unknown_field|also[1].count|3`},
		{also(Recurrence{Frequency: Week, Count: -1}), `unknown_field|also[1].count|-1`},
		{also(Recurrence{Frequency: Week, TimeZone: "UTC"}), `unknown_field|also[1].timeZone|UTC`},
		{also(Recurrence{Frequency: Week, Only: january}), `unknown_field|also[1].only|[{"months":[1]}]`},
		{also(Recurrence{Frequency: Week, Except: []Filter{{}}}), `unknown_field|also[1].except|[{}]`},
		{also(Recurrence{Frequency: Week, Shift: ShiftNext}), `unknown_field|also[1].shift|next`},
		{also(Recurrence{Frequency: Week, Also: []Recurrence{{StartTime: at(2026)}}}), `unknown_field|also[1].also|[]`},
		{also(Recurrence{Frequency: Week, ClockChanges: ClockSkip}), `unknown_field|also[1].clockChanges|skip`},
		{also(Recurrence{StartTime: at(2026), Count: 1}), `unknown_field|also[1].count|1`},
		{also(Recurrence{StartTime: at(2026), Interval: 2, EndTime: at(2027)}), `frequency_missing|also[1].frequency|`},
		{also(Recurrence{StartTime: at(1899)}), `time_range|also[1].startTime|1899-01-01T00:00:00Z`},
		{also(Recurrence{Frequency: 8}), `frequency_unknown|also[1].frequency|Frequency(8)`},
		{also(Recurrence{Frequency: Week, WeekDays: []time.Weekday{1, 8}}), `weekdays_value|also[1].schedule.weekDays[1]|8`},
		{also(Recurrence{Frequency: Day, WeekDays: []time.Weekday{1}}), `weekdays_frequency|also[1].schedule.weekDays|["monday"]`},
		{also(Recurrence{Frequency: Day, Interval: -1, Minutes: []int{60}}), `interval_range|also[1].interval|-1; minutes_range|also[1].schedule.minutes[0]|60`},
		{also(Recurrence{Cron: "0 5 * *"}), `cron_syntax|also[1].cron|0 5 * *`},
		{also(Recurrence{Cron: "CRON_TZ=UTC 0 5 * * *"}), `cron_conflict|also[1].cron|CRON_TZ=UTC 0 5 * * *`},
		{also(Recurrence{Frequency: Day, StartTime: at(2027), EndTime: at(2026)}), `end_before_start|also[1].endTime|2026-01-01T00:00:00Z`},
		{Recurrence{StartTime: at(2027), Also: []Recurrence{{Frequency: Day, EndTime: at(2026)}}}, `end_before_start|also[0].endTime|2026-01-01T00:00:00Z`},
	} {
		if got := describeErrors(c.rule.Validate()); got != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.rule, got, c.want)
		}
		text := marshal(t, c.rule)
		want, kind, _ := strings.Cut(c.want[:strings.IndexByte(c.want, '|')], "_")
		_, err := Parse([]byte(text))
		if got, _, _ := strings.Cut(codesOf(err), "_"); kind != "size" && got != want { // duplicates are not written; a wrong weekday is a number
			t.Errorf("Parse of %.200s: got %v, want %s", text, err, c.want)
		}
	}
}

// Otherwise a value that contains itself would be written without end.
func TestAGoValueThatContainsItselfIsRefused(t *testing.T) {
	also := []Recurrence{{Frequency: Day}}
	also[0].Also = also
	r := Recurrence{Frequency: Day, Also: also}
	if got, want := describeErrors(r.Validate()), `unknown_field|also[0].also|[]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := marshal(t, r), `{"frequency":"day","also":[{"frequency":"day","also":[]}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARuleWhoseCanonicalJSONIsTooLongIsRefused(t *testing.T) {
	const want = "recurrence: must be at most 64 KiB as canonical JSON, is "
	long := Filter{Dates: make([]string, 1000)}
	r := Recurrence{Frequency: Day}
	for i := range 5 {
		for k := range long.Dates {
			long.Dates[k] = time.Date(1900, 1, 1+1000*i+k, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		}
		r.Except = append(r.Except, Filter{Dates: slices.Clone(long.Dates)})
	}
	if err := r.Validate(); err != nil {
		t.Errorf("%d bytes are refused: %v", len(marshal(t, r)), err)
	}
	checkRoundTrip(t, r)
	r.Except = append(r.Except, Filter{Dates: []string{"12-25"}})
	r.Except[5].Months = []time.Month{1}
	for i := range 27 {
		r.Except[5].MonthDays = append(r.Except[5].MonthDays, 1+i)
	}
	r.Only = slices.Repeat([]Filter{r.Except[0]}, 1)
	if err := r.Validate(); codesOf(err) != string(CodeSyntax) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%d bytes: got %v, want syntax", len(marshal(t, r)), err)
	}

	// The canonical JSON of an instant is longer than a date in the input, so a text of less than 64 KiB may become longer.
	var instants, days []string
	for i := range 1000 {
		instants = append(instants, time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(`"2006-01-02"`))
		days = append(days, time.Date(1900, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(`"2006-01-02"`))
	}
	filter := `{"dates":[` + strings.Join(days, ",") + `]},` + `{"dates":[` + strings.Join(days[1:], ",") + `]},{"dates":[` + strings.Join(days[2:], ",") + `]}`
	text := `{"frequency":"day","except":[` + filter + `],"also":[` + strings.Join(instants, ",") + `]}`
	if _, err := Parse([]byte(text)); len(text) > maxJSONBytes || codesOf(err) != string(CodeSyntax) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a text of %d bytes: got %v, want syntax", len(text), err)
	}
}

func TestAHundredErrorsOfACalendarAreReturnedInTheOrderOfTheText(t *testing.T) {
	for text, last := range map[string]string{
		`{"frequency":"day","except":[` + strings.Repeat("{},", 20000) + `{}]}`:                      "except[98]", // after filter_size
		`{"frequency":"day","except":{"dates":[` + strings.Repeat(`"",`, 20000) + `""]}}`:            "except.dates[98]",
		`{"frequency":"day","also":[` + strings.Repeat("{},", 20000) + `{}]}`:                        "also[98].frequency",
		`{"frequency":"day","also":[` + strings.Repeat(`"",`, 20000) + `""]}`:                        "also[98]",
		`{"frequency":"day","also":[` + strings.Repeat(`{"cron":""},`, 4000) + `{}],"shift":"next"}`: "also[98].cron",
		`{"frequency":"day","also":[` + strings.Repeat(`[`, 90) + strings.Repeat(`]`, 90) + `]}`:     "also[0]",
	} {
		_, err := Parse([]byte(text))
		list := Errors(err)
		if len(list) == 0 || len(list) > 100 || list[len(list)-1].Field != last {
			t.Errorf("%.60s: got %d errors, the last for %s, want %s", text, len(list), list[len(list)-1].Field, last)
		}
	}
}
