package recurrence

import (
	"strings"
	"testing"
	"time"
)

func TestGoValuesAreRefusedLikeTheirJSON(t *testing.T) {
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		rule Recurrence
		want string // code field value, joined
	}{
		{Recurrence{Interval: 2}, `frequency_missing|frequency|`},
		{Recurrence{Count: 2}, `frequency_missing|frequency|`},
		{Recurrence{EndTime: at(2027)}, `frequency_missing|frequency|`},
		{Recurrence{Hours: []int{5}}, `frequency_missing|frequency|`},
		{Recurrence{Frequency: 8}, `frequency_unknown|frequency|Frequency(8)`},
		{Recurrence{Frequency: Day, Interval: -1}, `interval_range|interval|-1`},
		{Recurrence{Frequency: Month, Interval: 19}, `interval_range|interval|19`},
		{Recurrence{Frequency: Day, Count: -1}, `count_range|count|-1`},
		{Recurrence{StartTime: at(1899)}, `time_range|startTime|1899-01-01T00:00:00Z`},
		{Recurrence{StartTime: time.Time{}.Add(1)}, `time_range|startTime|0001-01-01T00:00:00Z`},
		{Recurrence{StartTime: at(2027), Frequency: Day, EndTime: at(2026)}, `end_before_start|endTime|2026-01-01T00:00:00Z`},
		{Recurrence{Frequency: Day, EndTime: at(10000)}, `time_range|endTime|10000-01-01T00:00:00Z`},
		{Recurrence{Frequency: Day, Minutes: []int{0, 1, 60}}, `minutes_range|schedule.minutes[2]|60`},
		{Recurrence{Frequency: Day, Hours: []int{-1}}, `hours_range|schedule.hours[0]|-1`},
		{Recurrence{Frequency: Week, WeekDays: []time.Weekday{7}}, `weekdays_value|schedule.weekDays[0]|7`},
		{Recurrence{Frequency: Week, WeekDays: make([]time.Weekday, 8)}, `weekdays_size|schedule.weekDays|["sunday"]`},
		{Recurrence{Frequency: Day, WeekDays: []time.Weekday{1}}, `weekdays_frequency|schedule.weekDays|["monday"]`},
		{Recurrence{Frequency: Month, MonthDays: []int{0}}, `monthdays_range|schedule.monthDays[0]|0`},
		{Recurrence{Frequency: Year, MonthDays: []int{3, -1}}, `monthdays_frequency|schedule.monthDays|[-1,3]`},
		{Recurrence{Frequency: Month, MonthlyOccurrences: []NthWeekday{{Day: -1}}}, `occurrence_day|schedule.monthlyOccurrences[0].day|-1`},
		{Recurrence{Frequency: Month, MonthlyOccurrences: []NthWeekday{{N: 6}}}, `occurrence_range|schedule.monthlyOccurrences[0].occurrence|6`},
		{Recurrence{Frequency: Week, MonthlyOccurrences: []NthWeekday{{}}}, `occurrences_frequency|schedule.monthlyOccurrences|[{"day":"sunday"}]`},
		{Recurrence{Frequency: Year, Months: []time.Month{13}}, `months_range|schedule.months[0]|13`},
		{Recurrence{Frequency: Day, Months: []time.Month{1}}, `months_frequency|schedule.months|[1]`},
		{Recurrence{TimeZone: "Local"}, `timezone_unknown|timeZone|Local`},
		{Recurrence{Cron: "0 5 * *"}, `cron_syntax|cron|0 5 * *`},
		{Recurrence{Cron: "0 5 * * *", Frequency: Day}, `cron_conflict|cron|0 5 * * *`},
		{Recurrence{Cron: "0 5 * * *", Months: []time.Month{1}}, `cron_conflict|cron|0 5 * * *`},
		{Recurrence{Frequency: Day, Interval: 549, Count: -1, Minutes: []int{60}},
			`interval_range|interval|549; count_range|count|-1; minutes_range|schedule.minutes[0]|60`},
	} {
		if got := describeErrors(c.rule.Validate()); got != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.rule, got, c.want)
		}
	}
}

func TestARuleThatFiresFromNoStartIsRefusedEvenWithoutAStart(t *testing.T) {
	for _, text := range []string{
		`{"frequency":"month","schedule":{"months":2,"monthDays":[30,31,-30]}}`,
		`{"cron":"0 0 30 2 *"}`,
	} {
		if _, err := Parse([]byte(text)); codesOf(err) != string(CodeNeverFires) {
			t.Errorf("%s: got %v, want never_fires", text, err)
		}
	}
	for _, text := range []string{
		`{"frequency":"month","interval":12,"schedule":{"monthDays":30}}`,
		`{"frequency":"hour","interval":2,"schedule":{"hours":[1,3]}}`,
		`{"frequency":"month","interval":18,"schedule":{"months":2,"monthDays":29}}`,
		`{"cron":"0 0 29 2 *"}`,
	} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s fires from some start, got %v", text, err)
		}
	}
}

func TestTheErrorOfAnEmptyFilterNamesItsFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"frequency": "day", "only": {}}`:                                             "yearlyOccurrences, dates or times:",
		`{"frequency": "day", "schedule": {"days": {}}}`:                               "yearlyOccurrences or dates:",
		`{"frequency": "day", "also": {"frequency": "day", "schedule": {"days": {}}}}`: "yearlyOccurrences or dates:",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
