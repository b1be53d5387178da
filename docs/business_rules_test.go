package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chimejobs/chime/recurrence"
)

//go:generate go test -run TheBusinessRules . -update

const (
	businessBegin = "<!-- business rules: go generate ./docs -->\n"
	businessEnd   = "<!-- /business rules -->\n"
)

// A businessRule is a rule of docs/calendar.md that is written in JSON. runs are its first runs from 1 January 2026 on, worked out from a calendar on
// the wall and not by this package.
type businessRule struct{ wish, json, runs string }

var businessRules = []businessRule{
	{"The tax return: on the 10th, or else the next working day",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [8], "monthDays": [10]}, "timeZone": "Europe/Berlin", "except": [{"weekDays": ["saturday", "sunday"]}], "shift": "next", "immediateRun": false}`,
		"Mon 12 Jan 2026 08:00 CET · Tue 10 Feb 2026 08:00 CET · Tue 10 Mar 2026 08:00 CET · Fri 10 Apr 2026 08:00 CEST · Mon 11 May 2026 08:00 CEST"},
	{"The half-year report: on 30 June and 31 December, or else the working day before",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [18], "monthDays": [-1], "months": [6, 12]}, "except": [{"weekDays": ["saturday", "sunday"]}], "shift": "previous", "immediateRun": false}`,
		"Tue 30 Jun 2026 18:00 UTC · Thu 31 Dec 2026 18:00 UTC · Wed 30 Jun 2027 18:00 UTC · Fri 31 Dec 2027 18:00 UTC · Fri 30 Jun 2028 18:00 UTC"},
	{"The closing of the books: on the last three working days of each month",
		`{"frequency": "month", "schedule": {"minutes": [30], "hours": [17], "positions": [-3, -2, -1]}, "except": [{"weekDays": ["saturday", "sunday"]}], "immediateRun": false}`,
		"Wed 28 Jan 2026 17:30 UTC · Thu 29 Jan 2026 17:30 UTC · Fri 30 Jan 2026 17:30 UTC · Wed 25 Feb 2026 17:30 UTC · Thu 26 Feb 2026 17:30 UTC"},
	{"Wages twice a month: on the 15th and the last day, or else the working day before",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [6], "monthDays": [-1, 15]}, "timeZone": "America/New_York", "except": [{"weekDays": ["saturday", "sunday"]}], "shift": "previous", "immediateRun": false}`,
		"Thu 15 Jan 2026 06:00 EST · Fri 30 Jan 2026 06:00 EST · Fri 13 Feb 2026 06:00 EST · Fri 27 Feb 2026 06:00 EST · Fri 13 Mar 2026 06:00 EDT"},
	{"Wages every second Friday, or the day before if that is a holiday",
		`{"startTime": "2026-01-09T00:00:00Z", "frequency": "week", "interval": 2, "schedule": {"minutes": [0], "hours": [6], "weekDays": ["friday"]}, "except": [{"dates": ["12-25", "easter-2"]}], "shift": "previous"}`,
		"Fri 9 Jan 2026 06:00 UTC · Fri 23 Jan 2026 06:00 UTC · Fri 6 Feb 2026 06:00 UTC · Fri 20 Feb 2026 06:00 UTC · Fri 6 Mar 2026 06:00 UTC"},
	{"The invoices of a quarter: on its first day, open or not",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [6], "monthDays": [1], "months": [1, 4, 7, 10]}, "immediateRun": false}`,
		"Thu 1 Jan 2026 06:00 UTC · Wed 1 Apr 2026 06:00 UTC · Wed 1 Jul 2026 06:00 UTC · Thu 1 Oct 2026 06:00 UTC · Fri 1 Jan 2027 06:00 UTC"},
	{"Every quarter of an hour while the support line is open, with a break at noon",
		`{"startTime": "2026-01-01T00:00:00Z", "frequency": "minute", "interval": 15, "timeZone": "Europe/Berlin", "only": [{"weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"], "times": ["08:00/11:59", "13:00/17:29"]}]}`,
		"Thu 1 Jan 2026 08:00 CET · Thu 1 Jan 2026 08:15 CET · Thu 1 Jan 2026 08:30 CET · Thu 1 Jan 2026 08:45 CET · Thu 1 Jan 2026 09:00 CET"},
	{"The board meeting: the last Thursday of a quarter, but not in December",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [14], "monthlyOccurrences": [{"day": "thursday", "occurrence": -1}], "months": [3, 6, 9]}, "immediateRun": false}`,
		"Thu 26 Mar 2026 14:00 UTC · Thu 25 Jun 2026 14:00 UTC · Thu 24 Sep 2026 14:00 UTC · Thu 25 Mar 2027 14:00 UTC · Thu 24 Jun 2027 14:00 UTC"},
	{"Maintenance on the Sunday after the second Tuesday of the month",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [2], "monthDays": [13, 14, 15, 16, 17, 18, 19], "monthlyOccurrences": [{"day": "sunday"}]}, "immediateRun": false}`,
		"Sun 18 Jan 2026 02:00 UTC · Sun 15 Feb 2026 02:00 UTC · Sun 15 Mar 2026 02:00 UTC · Sun 19 Apr 2026 02:00 UTC · Sun 17 May 2026 02:00 UTC"},
	{"A backup every night, but not on the first Sunday of the month, when the full backup runs",
		`{"cron": "0 1 * * *", "except": [{"monthlyOccurrences": [{"day": "sunday", "occurrence": 1}]}]}`,
		"Thu 1 Jan 2026 01:00 UTC · Fri 2 Jan 2026 01:00 UTC · Sat 3 Jan 2026 01:00 UTC · Mon 5 Jan 2026 01:00 UTC · Tue 6 Jan 2026 01:00 UTC"},
	{"A reminder two working days before the 25th",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [9], "monthDays": [25]}, "except": [{"weekDays": ["saturday", "sunday"]}], "shiftBy": -2, "immediateRun": false}`,
		"Thu 22 Jan 2026 09:00 UTC · Mon 23 Feb 2026 09:00 UTC · Mon 23 Mar 2026 09:00 UTC · Thu 23 Apr 2026 09:00 UTC · Thu 21 May 2026 09:00 UTC"},
	{"The settlement: two working days after the last day of the month",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [9], "monthDays": [-1]}, "except": [{"weekDays": ["saturday", "sunday"]}], "shiftBy": 2, "immediateRun": false}`,
		"Fri 2 Jan 2026 09:00 UTC · Tue 3 Feb 2026 09:00 UTC · Tue 3 Mar 2026 09:00 UTC · Thu 2 Apr 2026 09:00 UTC · Mon 4 May 2026 09:00 UTC"},
	{"The night after patch Tuesday",
		`{"frequency": "month", "schedule": {"minutes": [0], "hours": [2], "monthlyOccurrences": [{"day": "tuesday", "occurrence": 2}]}, "shiftBy": 1, "immediateRun": false}`,
		"Wed 14 Jan 2026 02:00 UTC · Wed 11 Feb 2026 02:00 UTC · Wed 11 Mar 2026 02:00 UTC · Wed 15 Apr 2026 02:00 UTC · Wed 13 May 2026 02:00 UTC"},
	{"Closing early on Maundy Thursday",
		`{"frequency": "day", "schedule": {"minutes": [0], "hours": [12]}, "only": [{"dates": ["easter-3"]}], "immediateRun": false}`,
		"Thu 2 Apr 2026 12:00 UTC · Thu 25 Mar 2027 12:00 UTC · Thu 13 Apr 2028 12:00 UTC · Thu 29 Mar 2029 12:00 UTC · Thu 18 Apr 2030 12:00 UTC"},
	{"The first Monday of the year",
		`{"frequency": "year", "schedule": {"minutes": [0], "hours": [9], "days": [{"monthlyOccurrences": [{"day": "monday", "occurrence": 1}], "months": [1]}]}, "immediateRun": false}`,
		"Mon 5 Jan 2026 09:00 UTC · Mon 4 Jan 2027 09:00 UTC · Mon 3 Jan 2028 09:00 UTC · Mon 1 Jan 2029 09:00 UTC · Mon 7 Jan 2030 09:00 UTC"},
	{"The Monday of the ISO weeks 1, 14, 27 and 40",
		`{"frequency": "week", "schedule": {"minutes": [0], "hours": [9], "weekDays": ["monday"], "days": [{"weeks": [1, 14, 27, 40]}]}, "immediateRun": false}`,
		"Mon 30 Mar 2026 09:00 UTC · Mon 29 Jun 2026 09:00 UTC · Mon 28 Sep 2026 09:00 UTC · Mon 4 Jan 2027 09:00 UTC · Mon 5 Apr 2027 09:00 UTC"},
	{"The hundredth day of the year",
		`{"frequency": "year", "schedule": {"minutes": [0], "hours": [9], "days": [{"yearDays": [100]}]}, "immediateRun": false}`,
		"Fri 10 Apr 2026 09:00 UTC · Sat 10 Apr 2027 09:00 UTC · Sun 9 Apr 2028 09:00 UTC · Tue 10 Apr 2029 09:00 UTC · Wed 10 Apr 2030 09:00 UTC"},
	{"Sunday and Saturday of every second week, with weeks from Sunday on",
		`{"startTime": "2026-01-04T00:00:00Z", "frequency": "week", "interval": 2, "schedule": {"minutes": [0], "hours": [9], "weekDays": ["saturday", "sunday"], "weekStart": "sunday"}}`,
		"Sun 4 Jan 2026 09:00 UTC · Sat 10 Jan 2026 09:00 UTC · Sun 18 Jan 2026 09:00 UTC · Sat 24 Jan 2026 09:00 UTC · Sun 1 Feb 2026 09:00 UTC"},
}

// The page shows each rule with the text and the runs that it has, and the runs are those of the wish.
func TestTheBusinessRulesOfTheCalendar(t *testing.T) {
	if len(businessRules) < 10 {
		t.Errorf("there are %d rules, want ten", len(businessRules))
	}
	var page strings.Builder
	for _, r := range businessRules {
		rule, err := recurrence.Parse([]byte(r.json))
		if err != nil {
			t.Fatalf("%s: %v", r.wish, err)
		}
		canonical, err := rule.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if got := spaced(canonical); got != r.json {
			t.Errorf("%s: the canonical form is\n%s, not\n%s", r.wish, got, r.json)
		}
		runs := strings.Join(nextRuns(t, &calendarRule{wish: r.wish, rule: rule}), " · ")
		if runs != r.runs {
			t.Errorf("%s: runs %s, want %s", r.wish, runs, r.runs)
		}
		fmt.Fprintf(&page, "\n### %s\n\n%s\n\n```json\n%s\n```\n\nNext: %s\n", r.wish, rule, lines(t, canonical), runs)
	}
	generated(t, "calendar.md", businessBegin, businessEnd, page.String())
}

// generated fails unless a page has a text between two lines. With -update it writes the page.
func generated(t *testing.T, name, begin, end, want string) {
	t.Helper()
	before, rest, begins := strings.Cut(readText(t, name), begin)
	shown, after, ends := strings.Cut(rest, end)
	switch {
	case !begins || !ends:
		t.Errorf("%s does not contain the lines %q and %q", name, begin, end)
	case shown == want:
	case !*update:
		t.Errorf("%s differs from its source: run go generate ./docs", name)
	default:
		if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
