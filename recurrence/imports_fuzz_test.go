package recurrence

import (
	"reflect"
	"testing"
	"time"
)

// FuzzFromRRule checks that every text is refused with an *Error or gives a valid rule.
func FuzzFromRRule(f *testing.F) {
	for _, text := range []string{
		"DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,-1FR;BYSETPOS=-1;BYHOUR=9,10",
		"dtstart;tzid=\"Europe/Berlin\":20260329T013000\r\nrrule:freq=yearly;inter\r\n val=4;bymonth=11;byday=TU\r\nEXDATE;VALUE=DATE:20261103\r\nRDATE:20260103T120000Z",
		"DTSTART:20260101T090000Z\nRRULE:FREQ=YEARLY;BYDAY=20MO,-53MO\nRRULE:FREQ=SECONDLY;INTERVAL=7;BYMONTHDAY=31;UNTIL=20270101T000000Z",
		"FREQ=DAILY;UNTIL=20270101T000000;COUNT=3", "DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=DAILY;UNTIL=20260303\nRDATE;VALUE=DATE:20270101",
		"DTSTART:20260101T090000Z\nEXDATE:20260101T090000Z\nRDATE:20260103T120000Z,20250103T120000Z", "RRULE:FREQ=", ":", "\n ",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := FromRRule(text)
		checkImport(t, text, r, err)
		r, err = FromRRuleAt(text, time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), "Europe/Berlin")
		checkImport(t, text, r, err)
	})
}

// FuzzFromCron checks the same for texts of Quartz, Spring, robfig/cron and AWS.
func FuzzFromCron(f *testing.F) {
	for _, text := range []string{
		"0 15 10 ? * MON-FRI", "*/20 * * * * ?", "0 0 9 LW 2 ? 2027-2100/3,2150", "0 0 9 L-3W * ?", "0 0 9 31W * ?", "0 0 9 ? 3,6 6#3",
		"0 0 9 ? * FRIL", "0 0 9 30 2 ?", "0 0 9 */40 * ?", "0 0 9 ? * 7/7", "@daily", "L L L L L L L", "0 0 9 ? * L",
		"0 0 9 1W,29W,31W,LW * 7-1,5L,5#2", "TZ=UTC 0 */90 9 13 * FRI", "cron(0 9 ? * 6#3 2026/3)", "rate(5 minutes)", "at(2026-02-03T09:00:00)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := FromQuartz(text)
		checkImport(t, text, r, err)
		r, err = FromSpring(text)
		checkImport(t, text, r, err)
		r, err = FromRobfig(text)
		checkImport(t, text, r, err)
		r, err = FromAWS(text)
		checkImport(t, text, r, err)
	})
}

func checkImport(t *testing.T, text string, r Recurrence, err error) {
	t.Helper()
	if err == nil {
		if err := r.Validate(); err != nil {
			t.Errorf("%q gives %+v, which is not valid: %v", text, r, err)
		}
		return
	}
	if !reflect.DeepEqual(r, Recurrence{}) {
		t.Errorf("%q: %v, but also %+v", text, err, r)
	}
	list := Errors(err)
	if len(list) == 0 {
		t.Errorf("%q: %v holds no *Error", text, err)
	}
	for _, e := range list {
		if e.Code == "" || e.Reason == "" {
			t.Errorf("%q: incomplete error %#v", text, e)
		}
	}
}
