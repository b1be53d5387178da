package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPaydayIsTheLastWorkingDay(t *testing.T) {
	holidays := bankHolidays(2026, yearsAhead)
	if len(holidays) != 40 || !slices.Contains(holidays, "2026-12-28") { // Boxing Day is a Saturday
		t.Errorf("%d holidays of five years, want eight a year, as they are observed: %v", len(holidays), holidays)
	}
	series, err := payday(append(holidays, "2027-04-30")).Series(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	var days []string
	for at := range series.All() {
		if days = append(days, at.Format("2006-01-02 15:04")); len(days) == 6 {
			break
		}
	}
	if got, want := strings.Join(days, ", "), "2026-12-31 18:00, 2027-01-29 18:00, 2027-02-26 18:00, 2027-03-31 18:00, 2027-04-29 18:00, 2027-05-28 18:00"; got != want {
		t.Errorf("it runs at %s, want %s", got, want)
	}
}

func TestTheProgramPrintsWhenTheScheduleRuns(t *testing.T) {
	var out strings.Builder
	year := time.Now().Year()
	if err := run(t.Context(), &out, year); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 13 || !strings.Contains(lines[0], time.Date(year+4, 12, 1, 0, 0, 0, 0, time.UTC).Format("to 2006-01-")) {
		t.Errorf("it prints\n%s\nwant the end of the list, and twelve runs", out.String())
	}
}
