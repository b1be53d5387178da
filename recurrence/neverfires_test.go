package recurrence

import (
	"testing"
	"time"
)

func TestEachRuleOfAlsoMustFireByItself(t *testing.T) {
	for text, want := range map[string]string{
		`{"frequency":"day","also":[{"frequency":"month","schedule":{"months":2,"monthDays":30}}]}`:                      `never_fires|also[0]|`,
		`{"frequency":"day","also":["2026-01-01",{"cron":"0 0 30 2 *"}]}`:                                                `never_fires|also[1]|0 0 30 2 *`,
		`{"frequency":"day","also":[{"startTime":"2026-01-01","frequency":"hour","interval":2,"schedule":{"hours":1}}]}`: `never_fires|also[0]|`,
		`{"frequency":"month","schedule":{"months":2,"monthDays":30},"also":["2026-01-01",{"cron":"0 0 30 2 *"}]}`:       `never_fires|schedule|; never_fires|also[1]|0 0 30 2 *`,
		`{"cron":"TZ=Europe/Berlin 0 0 30 2 *","also":["2026-01-01"]}`:                                                   `never_fires|cron|0 0 30 2 *`,
		`{"cron":"0 9 * * 6","except":{"weekDays":"saturday"}}`:                                                          `never_fires|schedule|`,
		`{"cron":"0 0 30 2 *","except":{"weekDays":"saturday"}}`:                                                         `never_fires|cron|0 0 30 2 *`,
		`{"frequency":"day","except":{"weekDays":"saturday"},"also":[{"cron":"0 9 * * 6"},{"cron":"0 0 30 2 *"}]}`:       `never_fires|also[0]|; never_fires|also[1]|0 0 30 2 *`,
		`{"startTime":"2026-01-01","cron":"0 9 * * 6","except":{"weekDays":"saturday"},"also":{"cron":"0 0 30 2 *"}}`:    `never_fires|schedule|; never_fires|also[0]|0 0 30 2 *`,

		`{"frequency":"day","also":{"frequency":"month","schedule":{"monthDays":1,"monthlyOccurrences":{"day":"friday","occurrence":-1}}}}`: `never_fires|also[0]|`, // it has no run at creation

		// These fire from some start.
		`{"frequency":"day","also":[{"frequency":"hour","interval":2,"schedule":{"hours":1}}]}`:                                                                                                                 ``,
		`{"frequency":"day","also":[{"frequency":"month","interval":12,"schedule":{"monthDays":30}}]}`:                                                                                                          ``,
		`{"frequency":"month","schedule":{"monthDays":1,"monthlyOccurrences":{"day":"friday","occurrence":-1}},"also":["2026-01-01"]}`:                                                                          ``, // the run at creation
		`{"cron":"TZ=America/New_York 0 5 * * *","also":[{"startTime":"2026-01-01T00:00Z","frequency":"hour","interval":2,"schedule":{"hours":1}}]}`:                                                            ``, // the local hour from March on
		`{"frequency":"day","timeZone":"America/New_York","also":[{"startTime":"2026-01-01T00:00Z","frequency":"hour","interval":2,"schedule":{"hours":1}}]}`:                                                   ``,
		`{"frequency":"week","schedule":{"hours":9,"positions":-1},"except":[{"weekDays":["saturday","sunday"]},{"dates":"12-25"}],"also":[{"cron":"0 9 * * 5"},{"frequency":"year","schedule":{"months":2}}]}`: ``,
	} {
		_, err := Parse([]byte(text))
		if got := describeErrors(err); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// A rule without a start is checked with all values for every field that would come from the start, so that no rule is refused that some start
// could make fire.
func TestARuleFromAnyStartHasWhateverAStartCouldGive(t *testing.T) {
	every := func(first, last int) []int { return orEvery([]int(nil), first, last) }
	weekend := []Filter{{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}}
	week := []time.Weekday{0, 1, 2, 3, 4, 5, 6}
	for _, c := range []struct{ rule, want Recurrence }{
		{Recurrence{Frequency: Hour, Interval: 7, Hours: []int{5}}, Recurrence{Frequency: Second, Hours: []int{5}}},
		{Recurrence{Frequency: Minute, Seconds: []int{5}, Count: 3}, Recurrence{Frequency: Second, Seconds: []int{5}}},
		{Recurrence{Frequency: Day, Interval: 3, Minutes: []int{15}, Shift: ShiftNext}, Recurrence{Frequency: Second, Minutes: []int{15}}},
		{Recurrence{Cron: "@every 90m", TimeZone: "Asia/Tokyo"}, Recurrence{Frequency: Second}},
		{Recurrence{Frequency: Day, Interval: 3, Minutes: []int{15}, ShiftBy: -2}, Recurrence{Frequency: Second, Minutes: []int{15}}},
		{Recurrence{Cron: "TZ=Asia/Tokyo 0 5 * * *", ShiftBy: 2}, Recurrence{Cron: "0 5 * * *", ShiftBy: 2}},
		{Recurrence{Cron: "TZ=Asia/Tokyo 0 5 * * *", Shift: ShiftNext}, Recurrence{Cron: "0 5 * * *", Shift: ShiftNext}},
		{Recurrence{Frequency: Week, Interval: 2, Shift: ShiftPrevious}, Recurrence{Frequency: Week, Hours: every(0, 23), Minutes: every(0, 59), Seconds: every(0, 59), WeekDays: week, Shift: ShiftPrevious}},
		{Recurrence{Frequency: Week, Hours: []int{9}, WeekDays: week[1:2], ClockChanges: ClockSkip}, Recurrence{Frequency: Week, Hours: []int{9}, Minutes: every(0, 59), Seconds: every(0, 59), WeekDays: week[1:2]}},
		{Recurrence{Frequency: Week, Positions: []int{5}}, Recurrence{Frequency: Week, Hours: every(0, 23), Minutes: every(0, 59), Seconds: every(0, 59), Positions: []int{5}}},
		{Recurrence{Frequency: Month, Minutes: []int{0}, Seconds: []int{1}}, Recurrence{Frequency: Month, Hours: every(0, 23), Minutes: []int{0}, Seconds: []int{1}, MonthDays: every(1, 31)}},
		{Recurrence{Frequency: Month, MonthlyOccurrences: []NthWeekday{{Day: 5, N: -1}}, Months: []time.Month{2}}, Recurrence{Frequency: Month, Hours: every(0, 23), Minutes: every(0, 59), Seconds: every(0, 59), MonthlyOccurrences: []NthWeekday{{Day: 5, N: -1}}, Months: []time.Month{2}}},
		{Recurrence{Frequency: Year, Interval: 9}, Recurrence{Frequency: Month, Hours: every(0, 23), Minutes: every(0, 59), Seconds: every(0, 59), MonthDays: every(1, 31)}},
		{Recurrence{Frequency: Year, Months: []time.Month{2}, Shift: ShiftNext}, Recurrence{Frequency: Month, Hours: every(0, 23), Minutes: every(0, 59), Seconds: every(0, 59), MonthDays: every(1, 31), Months: []time.Month{2}, Shift: ShiftNext}},
		{Recurrence{Frequency: Year, Months: []time.Month{2}, Positions: []int{30}}, Recurrence{Frequency: Year, Hours: every(0, 23), Minutes: every(0, 59), Seconds: every(0, 59), Months: []time.Month{2}, Positions: []int{30}}},
	} {
		c.rule.Except, c.want.Except = weekend, weekend
		c.rule.EndTime = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		c.want.StartTime = minTime
		if got := c.rule.fromAnyStart(); !got.Equal(c.want) {
			t.Errorf("%s\n got %s\nwant %s", marshal(t, c.rule), marshal(t, got), marshal(t, c.want))
		}
		if err := c.rule.fromAnyStart().Validate(); codesOf(err) != "" && codesOf(err) != string(CodeNeverFires) {
			t.Errorf("%s: the rule from any start is refused: %v", marshal(t, c.rule), err)
		}
	}
}
