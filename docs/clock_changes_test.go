package docs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// The page's table of clock changes matches what the rules do.
func TestTheTableOfClockChanges(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	nine := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 9, 0, 0, 0, berlin) }
	day := func(rule recurrence.Recurrence, month time.Month, date int) string {
		rule.TimeZone = "Europe/Berlin"
		midnight := time.Date(2026, month, date, 0, 0, 0, 0, berlin)
		if rule.Cron == "" {
			rule.StartTime = nine(month, date-1)
		}
		series, err := rule.Series(midnight.AddDate(0, 0, -2))
		if err != nil {
			t.Fatal(err)
		}
		var last time.Time
		n := 0
		for at := range series.Between(midnight, midnight.AddDate(0, 0, 1)) {
			last = at
			n++
		}
		if n == 1 {
			return last.Format("15:04 MST")
		}
		return fmt.Sprintf("%d runs", n)
	}
	page := readText(t, "schedules.md")
	for _, row := range []struct {
		name string
		rule recurrence.Recurrence
	}{
		{"`30 2 * * *`", recurrence.Recurrence{Cron: "30 2 * * *"}},
		{"`0 */2 * * *`", recurrence.Recurrence{Cron: "0 */2 * * *"}},
		{"`0 * * * *`", recurrence.Recurrence{Cron: "0 * * * *"}},
		{"`*/15 * * * *`", recurrence.Recurrence{Cron: "*/15 * * * *"}},
		{"every day from 09:00", recurrence.Recurrence{Frequency: recurrence.Day}},
		{"every 24 hours from 09:00", recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 24}},
	} {
		want := fmt.Sprintf("\n| %s | %s | %s |\n", row.name, day(row.rule, time.March, 29), day(row.rule, time.October, 25))
		if !strings.Contains(page, want) {
			t.Errorf("docs/schedules.md does not have the row%s", want)
		}
	}
}
