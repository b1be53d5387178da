package recurrence

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A refusal has the code for programs, the part of the text as its value, and a reason that contains what to write.
type importRefusal struct {
	text   string
	code   Code
	value  string
	reason string // a part of it
}

func (c importRefusal) check(t *testing.T, read func(string) (Recurrence, error)) {
	t.Helper()
	_, err := read(c.text)
	list := Errors(err)
	if len(list) != 1 || list[0].Code != c.code || list[0].Value != cutValue(c.value) || !strings.Contains(list[0].Reason, c.reason) {
		t.Errorf("%.100q\ngot  %v\nwant %q (%s), got %q", c.text, err, c.reason, c.code, c.value)
	}
}

// dtstart is a start in UTC, for RRULE lines that follow it.
const dtstart = "DTSTART:20260105T090000Z\n"

func TestALineThatRFC5545DoesNotHaveIsRefused(t *testing.T) {
	for _, c := range []importRefusal{
		{strings.Repeat(" ", maxRRuleText+1), CodeRRuleSyntax, strings.Repeat(" ", 64), "65537 bytes, at most 65536"},
		{dtstart + strings.Repeat("RDATE:20260105T090000Z\n", maxRRuleLines), CodeRRuleSyntax, "", "2001 lines, at most 2000"},
		{"", CodeRRuleSyntax, "", "DTSTART is missing"},
		{"RDATE:20260105T090000Z", CodeRRuleSyntax, "", "DTSTART is missing"},
		{dtstart + dtstart, CodeRRuleSyntax, "DTSTART:20260105T090000Z", "given twice"},
		{dtstart + "SUMMARY:payroll", CodeRRuleSyntax, "SUMMARY:payroll", "write DTSTART, RRULE, RDATE and EXDATE lines only"},
		{dtstart + "EXRULE:FREQ=DAILY", CodeNoRecurrence, "EXRULE:FREQ=DAILY", "write its dates as EXDATE, or a filter in except"},
		{dtstart + "RRULE:FREQ=DAILY;freq=WEEKLY", CodeRRuleSyntax, "FREQ=DAILY;freq=WEEKLY", "FREQ is given twice"},
		{dtstart + "RRULE;X=1:FREQ=DAILY", CodeRRuleSyntax, "RRULE;X=1:FREQ=DAILY", "no parameters"},
		{dtstart + "RRULE:FREQ=DAILY;", "", "", ""},
		{dtstart + "RRULE:FREQ=DAILY;COUNT=", CodeRRuleSyntax, "COUNT=", "a part is a name, = and a value"},
		{dtstart + "RDATE;FMTTYPE=x:20260106T090000Z", CodeRRuleSyntax, "RDATE;FMTTYPE=x:20260106T090000Z", "unknown parameter FMTTYPE: TZID and VALUE are known"},
		{dtstart + "RDATE;VALUE=DATE;VALUE=DATE:20260106", CodeRRuleSyntax, "RDATE;VALUE=DATE;VALUE=DATE:20260106", "VALUE is given twice"},
		{dtstart + "RDATE;VALUE=PERIOD:20260106T090000Z/PT1H", CodeNoRecurrence, "RDATE;VALUE=PERIOD:20260106T090000Z/PT1H", "write the beginnings as date-times"},
		{dtstart + "RDATE;VALUE=DATE-TIME:20260106T090000Z", "", "", ""},
		{"DTSTART;TZID=Mars/Olympus:20260105T090000", CodeTimeZoneUnknown, "Mars/Olympus", "IANA name"},
		{"DTSTART;TZID=\"Pacific Standard Time\":20260105T090000", CodeTimeZoneUnknown, "Pacific Standard Time", "write America/Los_Angeles"},
		{"DTSTART;TZID=W. Europe Standard Time:20260105T090000", CodeTimeZoneUnknown, "W. Europe Standard Time", "write Europe/Berlin"},

		{"DTSTART;VALUE=DATE:20260105", CodeRRuleSyntax, "DTSTART;VALUE=DATE:20260105", "write a date-time with Z or TZID"},
		{"DTSTART:20260105T090000", CodeRRuleSyntax, "20260105T090000", "write Z or TZID"},
		{"DTSTART:20260105T0900Z", CodeRRuleSyntax, "20260105T0900Z", "must be a date-time such as"},
		{"DTSTART;TZID=Europe/Berlin:20260105T090000Z", CodeRRuleSyntax, "20260105T090000Z", "both Z and TZID"},
		{"DTSTART;TZID=Europe/Berlin:20260329T023000", CodeNoRecurrence, "DTSTART;TZID=Europe/Berlin:20260329T023000", "that the clocks skip"},
		{"DTSTART:18991231T235959Z", CodeTimeRange, "1899-12-31T23:59:59Z", "1900"},
		{dtstart + "EXDATE:20260106", CodeRRuleSyntax, "20260106", "must be a date-time such as"},
		{dtstart + "EXDATE;VALUE=DATE:20260230", CodeRRuleSyntax, "20260230", "EXDATE;VALUE=DATE must hold dates such as"},
		{dtstart + "EXDATE;VALUE=DATE:22000101", CodeTimeRange, "2200-01-01T00:00:00Z", "2199"},
		{dtstart + "RDATE;VALUE=DATE:20260106", CodeRRuleSyntax, "20260106", "RDATE;VALUE=DATE has no time"},
	} {
		if c.code == "" {
			if _, err := FromRRule(c.text); err != nil {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		c.check(t, FromRRule)
	}
}

func TestAnRRulePartThatIsRefusedIsNamed(t *testing.T) {
	const berlin = "DTSTART;TZID=Europe/Berlin:20260105T090000\n"
	for _, c := range []importRefusal{
		{"FREQ=FORTNIGHTLY", CodeRRuleSyntax, "FORTNIGHTLY", "FREQ must be SECONDLY, MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY"},
		{"FREQ=DAILY;RSCALE=CHINESE", CodeNoRecurrence, "RSCALE=CHINESE", "GREGORIAN is the only calendar here"},
		{"FREQ=MONTHLY;RSCALE=GREGORIAN;SKIP=BACKWARD", CodeNoRecurrence, "SKIP=BACKWARD", "BYMONTHDAY=-1"},
		{"FREQ=YEARLY;BYEASTER=0", CodeNoRecurrence, "BYEASTER=0", `it is not in RFC 5545: write frequency day with only: [{"dates": ["easter"]}]`},
		{"FREQ=MINUTELY;BYSECOND=0,60", CodeNoRecurrence, "BYSECOND=0,60", "a leap second"},
		{"FREQ=DAILY;UNTIL=20270101T000000", CodeRRuleSyntax, "UNTIL=20270101T000000", "because DTSTART has Z or TZID"},
		{"FREQ=DAILY;INTERVAL=0", CodeRRuleSyntax, "INTERVAL=0", "1 to 2147483647"},
		{"FREQ=DAILY;COUNT=2147483648", CodeRRuleSyntax, "COUNT=2147483648", "1 to 2147483647"},
		{"FREQ=MONTHLY;INTERVAL=19", CodeNoRecurrence, "INTERVAL=19", "at most 18 with FREQ=MONTHLY"},
		{"FREQ=MONTHLY;INTERVAL=12012", CodeNoRecurrence, "INTERVAL=12012", "at most 18 with FREQ=MONTHLY"},
		{"FREQ=MONTHLY;INTERVAL=24;BYMONTH=2,12", CodeNeverFires, "BYMONTH=2,12", "the month of DTSTART only, which is January"},
		{"FREQ=SECONDLY;INTERVAL=86400;BYMINUTE=0", CodeNoRecurrence, "INTERVAL=86400", "at most 1000 with FREQ=SECONDLY"},
		{"FREQ=HOURLY;INTERVAL=1200;BYHOUR=9", CodeNoRecurrence, "INTERVAL=1200", "at most 1000 with FREQ=HOURLY"},
		{"FREQ=DAILY;UNTIL=20270101T000000Z;COUNT=2", CodeRRuleSyntax, "UNTIL=20270101T000000Z", "COUNT and UNTIL exclude each other"},
		{"FREQ=DAILY;UNTIL=20270101", CodeRRuleSyntax, "UNTIL=20270101", "must be an instant with Z"},
		{"FREQ=DAILY;UNTIL=20260105T085959Z", CodeEndBeforeStart, "UNTIL=20260105T085959Z", "which is 20260105T090000Z"},
		{"FREQ=WEEKLY;WKST=XX", CodeRRuleSyntax, "WKST=XX", "SU to SA"},

		{"FREQ=MONTHLY;BYMONTHDAY=0", CodeRRuleSyntax, "BYMONTHDAY=0", "numbers from -31 to 31 without 0"},
		{"FREQ=DAILY;BYHOUR=24", CodeRRuleSyntax, "BYHOUR=24", "numbers from 0 to 23"},
		{"FREQ=DAILY;BYDAY=XX", CodeRRuleSyntax, "BYDAY=XX", "SU to SA"},
		{"FREQ=MONTHLY;BYDAY=0MO", CodeRRuleSyntax, "BYDAY=0MO", "SU to SA"},
		{"FREQ=YEARLY;BYDAY=54MO", CodeRRuleSyntax, "BYDAY=54MO", "SU to SA"},
		{"FREQ=WEEKLY;BYDAY=2MO", CodeRRuleSyntax, "BYDAY=2MO", "MONTHLY and YEARLY only"},
		{"FREQ=WEEKLY;BYMONTHDAY=2", CodeRRuleSyntax, "BYMONTHDAY=2", "does not go with WEEKLY"},
		{"FREQ=MONTHLY;BYYEARDAY=2", CodeRRuleSyntax, "BYYEARDAY=2", "write it with YEARLY"},
		{"FREQ=MONTHLY;BYWEEKNO=2", CodeRRuleSyntax, "BYWEEKNO=2", "goes with YEARLY only"},
		{"FREQ=YEARLY;BYWEEKNO=54", CodeRRuleSyntax, "BYWEEKNO=54", "numbers from -53 to 53 without 0"},
		{"FREQ=YEARLY;BYWEEKNO=2;BYDAY=2MO", CodeRRuleSyntax, "BYDAY=2MO", "no numbers next to BYWEEKNO"},
		{"FREQ=DAILY;BYHOUR=9,10;BYSETPOS=3,-3", CodeNeverFires, "BYSETPOS=3,-3", "no period has that many runs"},
		{"FREQ=MONTHLY;BYDAY=TU;BYSETPOS=6", CodeNeverFires, "BYSETPOS=6", "no period has that many runs"},
		{"FREQ=WEEKLY;BYDAY=MO,TU;BYMINUTE=0,30;BYHOUR=" + commaList(0, 19) + ";BYSETPOS=1,4,5,8,9,12,13,16,17,20,21,24,25,28,29,32,33,36,37,40", CodeNoRecurrence,
			"BYSETPOS=1,4,5,8,9,12,13,16,17,20,21,24,25,28,29,32,33,36,37,40", "at most 17 of them"},
		{"FREQ=MONTHLY;BYSETPOS=1", CodeRRuleSyntax, "BYSETPOS=1", "needs another BY part"},
		{"FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=8", CodeNeverFires, "BYSETPOS=8", "no period has that many runs"},
		{"FREQ=MONTHLY;BYDAY=6MO", CodeNeverFires, "BYDAY=6MO", "no month has a weekday more than five times"},
		{"FREQ=MONTHLY;BYDAY=6MO;BYSETPOS=1", CodeNeverFires, "BYDAY=6MO", "more than five times"},
		{"FREQ=YEARLY;BYMONTH=3;BYDAY=6MO", CodeNeverFires, "BYDAY=6MO", "more than five times"},
		{"FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=6MO", CodeNeverFires, "BYDAY=6MO", "more than five times"},
		{"FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=5,8;BYDAY=-10FR", CodeNeverFires, "BYDAY=-10FR", "more than five times"},
		{"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", CodeNeverFires, "", "never matches"},
	} {
		c.text = dtstart + "RRULE:" + c.text
		c.check(t, FromRRule)
	}
	for _, c := range []importRefusal{
		{"RRULE:FREQ=MINUTELY;INTERVAL=72000", CodeNoRecurrence, "INTERVAL=72000", "at most 1000 with FREQ=MINUTELY"}, // 50 days of 24 hours
		{"RRULE:FREQ=MINUTELY;BYHOUR=9", CodeNoRecurrence, "FREQ=MINUTELY", "write DTSTART with Z"},
		{"RRULE:FREQ=MINUTELY;INTERVAL=90\nEXDATE;VALUE=DATE:20260106", CodeNoRecurrence, "", "write DTSTART with Z"},
		{"RRULE:FREQ=HOURLY\nEXDATE;TZID=Europe/Berlin:20261025T020000", CodeNoRecurrence, "2026-10-25T02:00:00+02:00", "at a time that the clocks repeat"},
		{"RRULE:FREQ=HOURLY;BYDAY=SU\nEXDATE:20261025T010000Z", CodeNoRecurrence, "2026-10-25T02:00:00+01:00", "at a time that the clocks repeat"},
	} {
		c.text = berlin + c.text
		c.check(t, FromRRule)
	}
}

// commaList returns the numbers from first to last as a list in the form of RFC 5545.
func commaList(first, last int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(upTo(first, last, 1)), " ", ","), "[]")
}

func TestLinesThatDoNotGoTogetherAreRefused(t *testing.T) {
	var rules, dates, times strings.Builder
	for i := range 18 {
		fmt.Fprintf(&rules, "RRULE:FREQ=DAILY;INTERVAL=%d\n", i+1)
	}
	for i := range 1001 {
		dates.WriteString(time.Date(2026, 1, 6+i, 9, 0, 0, 0, time.UTC).Format("RDATE:20060102T150405Z\n"))
	}
	for i := range 33 {
		times.WriteString(time.Date(2026, 1, 6+i, 9, i, 0, 0, time.UTC).Format("EXDATE:20060102T150405Z\n"))
	}
	for _, c := range []importRefusal{
		{rules.String(), CodeNoRecurrence, "", "17 RRULE lines"},
		{dates.String(), CodeNoRecurrence, "", "1000 values of RDATE"},
		{"RRULE:FREQ=MINUTELY\n" + times.String(), CodeNoRecurrence, "", "32 sets of dates and times"},
		{"RRULE:FREQ=DAILY;COUNT=100001\nRRULE:FREQ=WEEKLY", CodeNoRecurrence, "COUNT=100001", "count counts the runs of all"},
		{"RRULE:FREQ=DAILY;COUNT=60000\nRRULE:FREQ=DAILY;BYHOUR=11;COUNT=60000", CodeNoRecurrence, "COUNT=60000", "count counts the runs of all"},
		{"RRULE:FREQ=DAILY;COUNT=100001\nRDATE:20260106T120000Z", CodeNoRecurrence, "COUNT=100001", "COUNT together with EXDATE or RDATE"},
		{"RRULE:FREQ=DAILY;COUNT=100001\nEXDATE:20260106T090000Z", CodeNoRecurrence, "COUNT=100001", "COUNT together with EXDATE or RDATE"},
		{"RRULE:FREQ=DAILY;COUNT=100001;BYHOUR=1,2,3;BYMINUTE=0,1;BYSETPOS=1,4", CodeNoRecurrence, "COUNT=100001", "count counts the runs of all"},
		{"RRULE:FREQ=DAILY;UNTIL=20260107T000000Z\nRDATE:20260108T000000Z\nEXDATE:20260106T090000Z", CodeNoRecurrence, "2026-01-08T00:00:00Z", "an RDATE after"},
		{"EXDATE:20260105T090000Z", CodeNeverFires, "", "EXDATE leaves no run"},
	} {
		c.text = dtstart + c.text
		c.check(t, FromRRule)
	}
}

// The rule that lasts longest becomes the whole, because the end of the whole also ends its additions.
func TestOfSeveralRRulesTheOneThatEndsLastIsTheWhole(t *testing.T) {
	for text, want := range map[string]Frequency{
		"RRULE:FREQ=DAILY;UNTIL=20260201T000000Z\nRRULE:FREQ=WEEKLY;UNTIL=20260301T000000Z":                                    Week,
		"RRULE:FREQ=DAILY;UNTIL=20260301T000000Z\nRRULE:FREQ=WEEKLY;UNTIL=20260201T000000Z":                                    Day,
		"RRULE:FREQ=DAILY;UNTIL=20260301T000000Z\nRRULE:FREQ=WEEKLY":                                                           Week,
		"RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY;UNTIL=20260301T000000Z":                                                           Day,
		"RRULE:FREQ=DAILY;UNTIL=20260301T000000Z\nRRULE:FREQ=WEEKLY;UNTIL=20260201T000000Z\nRRULE:FREQ=MONTHLY;BYMONTHDAY=5":   Month,
		"RRULE:FREQ=DAILY;UNTIL=20260301T000000Z\nRRULE:FREQ=MONTHLY;BYMONTHDAY=5\nRRULE:FREQ=WEEKLY;UNTIL=20990201T000000Z\n": Month,
	} {
		if r, err := FromRRule(dtstart + text); err != nil || r.Frequency != want {
			t.Errorf("%s\ngot %v (%v), want frequency %v for the whole", text, r, err, want)
		}
	}
}

// The refused part does not depend on the order of a map.
func TestTheSamePartIsRefusedEachTime(t *testing.T) {
	for range 50 {
		importRefusal{dtstart + "RRULE:FREQ=DAILY;COUNT=0;INTERVAL=0", CodeRRuleSyntax, "INTERVAL=0", "INTERVAL must be"}.check(t, FromRRule)
		importRefusal{dtstart + "RRULE:FREQ=DAILY;XX=1;BYWEEKNO=1;AA=1", CodeNoRecurrence, "AA=1", "AA has no counterpart"}.check(t, FromRRule)
	}
}

func TestACronTextOfSixFieldsThatIsRefusedSaysWhatToWrite(t *testing.T) {
	for text, reason := range map[string]string{
		strings.Repeat("0", maxCronText+1): "1001 bytes, at most 1000",
		"@daily":                           "use Cron",
		"TZ=UTC 0 0 9 * * ?":               "set TimeZone",
		"0 9 * * 1":                        "five fields: use Cron",
		"0 0":                              "write second, minute, hour, day of the month, month, day of the week and, if needed, year",
		"60 0 9 * * ?":                     "second 60 is out of range: write 0 to 59",
		"0 x 9 * * ?":                      `minute "x" is not a value`,
		"0 0 9 ? 1-FEB 2":                  `month "1-FEB": a range has two names or two numbers`,
		"0 0 9 ? JAN/2 2":                  "a step after a name has no effect there",
		"0 */60 9 ? * 2":                   "a step of 60 is too large: write at most 59",
		"0 0/0 9 ? * 2":                    "a step of 0",
		"0 0 9 ? * 2 ?":                    `year "?" is not a value`,
		"0 0 9 * * *":                      "write ? for the day of the month",
		"0 0 9 13 * *":                     "write ? for the day of the week",
		"0 0 12 ? * ?":                     "exactly one ?",
		"? ? ? ? ? ?":                      `second "?" is not a value`,
		"0 0 9 * * 6":                      "write ? for the day of the month",
		"0 0 9 WL * ?":                     "W follows one day",
		"0 0 9 1W,15W * ?":                 "W must be alone",
		"0 0 9 1,LW * ?":                   "W must be alone",
		"0 0 9 * 13 ?":                     "month 13 is out of range",
		"0 0 9 ? * */0":                    "a step of 0",
		"0 0 9 1 * 2":                      "for days that match both write frequency month with monthDays and monthlyOccurrences",
		"0 0 9 1C * ?":                     "write the calendar as except",
		"0 0 9 ? * 1C":                     "write the calendar as except",
		"0 0 9 L-31 * ?":                   "L-1 to L-30",
		"0 0 9 L3 * ?":                     "L-1 to L-30",
		"0 0 9 LW-2 * ?":                   "the last weekday of the month is LW, the one nearest to a day L-2W",
		"0 0 9 1-5W * ?":                   "W follows one day",
		"0 0 9 32W * ?":                    "W follows one day",
		"0 0 9 1#2 * ?":                    `day of the month "1#2" is not a value: write 1 to 31`,
		"0 0 9 ? * 2,6L":                   "L and # must be alone",
		"0 0 9 ? * 6L,2":                   "L and # must be alone",
		"0 0 9 ? * 2,6#1":                  "L and # must be alone",
		"0 0 9 ? * 6#6":                    "1 to 5, such as FRI#3",
		"0 0 9 ? * 8L":                     "day of the week 8 is out of range: write 1 to 7",
		"0 0 9 * * ? 2200":                 "year 2200 is out of range: write 1970 to 2199",
		"0 0 9 * * ? */0":                  "a step of 0",
		"0 0 9 * * ? 2030-2026":            `year "2030-2026" is reversed: write its values as a list`,
	} {
		importRefusal{text, CodeCronSyntax, text, reason}.check(t, FromQuartz)
	}
	importRefusal{"0 0 9 * * ? 2026", CodeCronSyntax, "0 0 9 * * ? 2026", "write six, or use FromQuartz"}.check(t, FromSpring)
	importRefusal{"0 0 9 30 2 ?", CodeNeverFires, "", "never matches"}.check(t, FromQuartz)
	for _, text := range []string{"1#2 0 * * *", "0 0 1#2 * *"} { // # is allowed only for days of the week
		if _, err := Cron(text); strings.Contains(err.Error(), "FromQuartz") {
			t.Errorf("%q: %v, but FromQuartz does not read that either", text, err)
		}
	}
}
