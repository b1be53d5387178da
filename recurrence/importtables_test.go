package recurrence

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// An importRow is a value of one field of another program: the text of a whole rule that has it, and what that program does.
type importRow struct {
	text string
	want string // runs in January to March 2026 as "month-day hour"; or, if it begins with !, a part of the reason for refusing it
}

// checkRows compares the first runs from 1 January 2026 with those of a table. Texts run at 09:00:00.
func checkRows(t *testing.T, read func(string) (Recurrence, error), rows []importRow) {
	t.Helper()
	for _, row := range rows {
		r, err := read(row.text)
		if reason, refused := strings.CutPrefix(row.want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v (%v), want it refused with %q", row.text, r, err, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		s, err := r.Series(time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC))
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		want := strings.Fields(row.want)
		var got []string
		for _, at := range firstRuns(s, len(want)) {
			got = append(got, at.Format("1-2"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, which is %v\ngot  %v\nwant %v", row.text, r, got, want)
		}
	}
}

// 1 January 2026 is a Thursday. The rows follow the documentation of Quartz's class CronExpression; "source" names what only its source says.
func TestEveryValueOfAQuartzFieldDoesWhatQuartzDoes(t *testing.T) {
	checkRows(t, FromQuartz, []importRow{
		{"0 0 9 * * ?", "1-1 1-2 1-3"},
		{"0 0 9 ? * *", "1-1 1-2 1-3"},
		{"0 0 9 28-3 * ?", "1-1 1-2 1-3 1-28 1-29 1-30 1-31 2-1"}, // "overflowing ranges is supported"
		{"0 0 9 1 NOV-FEB ?", "1-1 2-1 11-1 12-1"},
		{"0 0 9 1 11-2/3 ?", "2-1 11-1"},
		{"0 0 9 ? * FRI-MON", "1-2 1-3 1-4 1-5 1-9"},
		{"0 0 9 ? * 6-2", "1-2 1-3 1-4 1-5 1-9"},
		{"0 0 9 1,15,L * ?", "1-1 1-15 1-31 2-1 2-15 2-28"}, // source: L in a list, from 2.4 on
		{"0 0 9 L-2,L * ?", "1-29 1-31 2-26 2-28"},
		{"0 0 9 /10 * ?", "1-1 1-11 1-21 1-31"},
		{"0 0 9 5/10 * ?", "1-5 1-15 1-25 2-5"},
		{"0 0 9 31W * ?", "1-30 3-31"}, // Saturday 31 January; there is no 31 February
		{"0 0 9 1W * ?", "1-1 2-2 3-2"},
		{"0 0 9 L-3W * ?", "1-28 2-25 3-27"},
		{"0 0 9 LW * ?", "1-30 2-27 3-31"},
		{"0 0 9 ? * L", "1-3 1-10 1-17"}, // "in the day-of-week field by itself, it simply means 7 or SAT"
		{"0 0 9 ? * 6L", "1-30 2-27"},
		{"0 0 9 ? * fril", "1-30 2-27"},
		{"0 0 9 ? * 6#5", "1-30 5-29"},
		{"0 0 9 ? * */2", "1-1 1-3 1-4 1-6"}, // from Sunday on
		{"0 0 9 ? * 3/2", "1-1 1-3 1-6"},
		{"0 0 9 1 * ? 2027/2", "1-1"},
		{"0\t0\t9 1 * ?\n", "1-1 2-1"},
		{"\ufeff0 0 9 1 * ?", "1-1 2-1"},
		{"0 0 9 * * *", "!write ? for the day of the month"},
		{"0 0 9 ? * ?", "!exactly one ?"},
		{"? 0 9 * * ?", "!second \"?\""},
		{"0 0 9 ?,1 * 2", "!both day fields are restricted"},
		{"0 0 9 ? * MON#1,MON#3", "!must be alone"},
		{"0 0 9 ? * 2L,3", "!must be alone"},
		{"0 0 9 ? * 0", "!day of the week 0 is out of range: write 1 to 7"},
		{"0 0 9 ? * MON-6", "!two names or two numbers"},
		{"0 0 9 ? * MON-FRI/2", "!a step after a name has no effect"}, // source: it is ignored
		{"0 0 */24 * * ?", "!write at most 23"},
		{"0 0 9 ? * MON FRI", "!year \"FRI\""},
	})
}

// The rows follow the documentation of Spring's class CronExpression; "source" names what only its source says (6.1).
func TestEveryValueOfASpringFieldDoesWhatSpringDoes(t *testing.T) {
	checkRows(t, FromSpring, []importRow{
		{"0 0 9 * * */2", "1-2 1-4 1-5 1-7 1-9"}, // source: Monday is 1, so Monday, Wednesday, Friday, Sunday
		{"0 0 9 * * 1/3", "1-1 1-4 1-5 1-8"},     // source: to 7
		{"0 0 9 * * 0/2", "1-1 1-3 1-4 1-6"},
		{"0 0 9 * * 7-1", "1-4 1-5 1-11"}, // source: 7 at the beginning of a range is 0
		{"0 0 9 * * SUN-MON", "1-4 1-5 1-11"},
		{"0 0 9 * * 7-7", "1-1 1-2 1-3"}, // source: 0 to 7
		{"0 0 9 * * SAT-SUN", "1-3 1-4 1-10"},
		{"0 0 9 * * 5-7", "1-2 1-3 1-4 1-9"},
		{"0 0 9 * * 7/2", "1-4 1-11"},
		{"0 0 9 * * mon-5", "1-1 1-2 1-5"}, // source: names become numbers
		{"0 0 9 13 * FRI", "2-13 3-13 11-13"},
		{"0 0 9 1-7 * MON", "1-5 2-2 3-2"},
		{"0 0 9 15W * MON", "2-16 3-16 6-15"}, // Sunday 15 February and March
		{"0 0 9 L * SAT,SUN", "1-31 2-28 5-31"},
		{"0 0 9 ? * ?", "1-1 1-2"},
		{"0 0 9 1,15W * ?", "1-1 1-15 2-1 2-16"},
		{"0 0 9 1W,15W * ?", "1-1 1-15 2-2 2-16"},
		{"0 0 9 L,LW * ?", "1-30 1-31 2-27 2-28 3-31"},
		{"0 0 9 28W * ?", "1-28 2-27 3-27 4-28"},
		{"0 0 9 29W * ?", "1-29 3-30 4-29"},            // no 29 February 2026, although the 28th is the day before
		{"0 0 9 30W * ?", "1-30 3-30 4-30 5-29"},       // Saturday 30 May
		{"0 0 9 31W * ?", "1-30 3-31 7-31 8-31 10-30"}, // source: Sunday 31 May has no run
		{"0 0 9 ? * MON#1,MON#3", "1-5 1-19 2-2 2-16"},
		{"0 0 9 ? * FRIL,1", "1-5 1-12 1-19 1-26 1-30 2-2"},
		{"0 0 9 ? * MON#5", "3-30 6-29"},
		{"0 0 9 L-3 * *", "1-28 2-25"},
		{"0 0 9 */40 * *", "1-1 2-1"}, // source: a step may be longer than the field
		{"@monthly", "1-1 2-1 3-1"},
		{" @WEEKLY ", "1-4 1-11"},
		{"\ufeff0 0 9 1 * *", "1-1 2-1"},
		{"0 0 9 ?,1 * *", "!\"?\" is not a value"},
		{"0 0 9 ?/2 * *", "!\"?\" is not a value"},
		{"? 0 9 * * *", "!second \"?\""},
		{"0 0 9 * * FRI-MON", "!is reversed: write two ranges, 5-7,1-1"},
		{"0 0 22-2 * * *", "!is reversed: write two ranges, 22-23,0-2"},
		{"0 0 9 L-3W * *", "!Spring has no weekday nearest to L-n"},
		{"0 0 9 WL * *", "!is not a value"},
		{"0 0 9 l * *", "!in capital letters only"},
		{"0 0 9 L-31 * *", "!L-1 to L-30"},
		{"0 0 9 * * L", "!Spring needs a day before L"},
		{"0 0 9 * * MON#6", "!1 to 5"},
		{"0 0 9 * * 8", "!write 0 to 7"},
		{"0 /5 9 * * *", "!is not a value"},
		{"0\t0 9 * * *", "!five fields"}, // only spaces separate fields
		{"0 0 9 30 2 *", "!never matches"},
		{"0 0 9 28W 2 SUN", "!never matches"},
		{"0 0 9 29W * FRI", "!29W to 31W must be alone"}, // source: it also finds Friday the 28th in a month without a 29th, or not
		{"0 0 9 1,31W * *", "!29W to 31W must be alone"},
		{"0 0 9 30 2 MON", "!never matches"},
		{"@every 1h", "!Cron reads @every"},
	})
}

// 29 February is a Saturday in 2048 and a Sunday in 2060; 28 February is a Sunday in 2049.
func TestTheWeekdayNearestTo29FebruaryIsOfLeapYears(t *testing.T) {
	for text, want := range map[string]string{
		"0 0 9 29W 2 *": "2048-02-28 2052-02-29 2056-02-29 2064-02-29", "0 0 9 28W 2 *": "2048-02-28 2050-02-28 2051-02-28 2052-02-28",
	} {
		r, err := FromSpring(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Series(time.Date(2047, 6, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range firstRuns(s, 4) {
			got = append(got, at.Format(time.DateOnly))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// The rows follow the package page of robfig/cron and the source of its parser (3.0.1).
func TestEveryValueOfARobfigFieldDoesWhatRobfigDoes(t *testing.T) {
	checkRows(t, FromRobfig, []importRow{
		{"0 0 9 * * *", "1-1 1-2"},
		{"0 0 9 ? ? ?", "1-1 1-2"},
		{"0 0 9 ?/10 * ?", "1-1 1-11 1-21 1-31 2-1"},
		{"0 0 9 13 * FRI", "1-2 1-9 1-13 1-16"}, // "a day matches if either field matches"
		{"0 0 9 */2 * MON", "1-1 1-3 1-5"},
		{"0 0 9 */1 * MON", "1-5 1-12"}, // source: a star with a step of 1 is a star
		{"0 0 9 1,* * MON", "1-5 1-12"}, // source: and so is one in a list
		{"0 0 9 1-31 * MON", "1-1 1-2"},
		{"0 0 9 1 * 0-6", "1-1 1-2"},
		{"0 0 9 1 JAN,3 *", "1-1 3-1"},
		{"0 0 9 * * mon/2", "1-2 1-5 1-7"},
		{"0 0 9 */90 * *", "1-1 2-1"},
		{"@monthly", "1-1 2-1"},
		{"@daily", "1-1 1-2"},
		{"CRON_TZ=Europe/Berlin 0 0 9 1 * *", "1-1 2-1"},
		{"\ufeffTZ=UTC @weekly", "1-4 1-11"},
		{"0 0 9 * * 7", "!in robfig/cron Sunday is 0"},
		{"0 0 9 * * 5-7", "!in robfig/cron Sunday is 0"},
		{"0 0 9 L * *", "!FromQuartz and FromSpring read them"},
		{"0 0 9 * * FRI-MON", "!is reversed"},
		{"0 0 9 1,,2 * *", "!is not a value"},
		{"0 0 9 30 2 *", "!never matches"},
		{"0 0 9 1 1 * 2026", "!FromQuartz"},
		{"0 9 * * *", "!use Cron"},
		{"@DAILY", "!unknown name"},
		{"@every 1d", "!@every takes a duration"},
		{"tz=UTC 0 0 9 * * *", "!in capital letters"},
		{"TZ=Mars/Olympus 0 0 9 * * *", "!IANA"},
	})
}

// The rows follow the "Cron expressions reference" of EventBridge and "Schedule types on EventBridge Scheduler".
func TestEveryValueOfAnAWSFieldDoesWhatEventBridgeDoes(t *testing.T) {
	checkRows(t, FromAWS, []importRow{
		{"cron(0 9 * * ? *)", "1-1 1-2"},
		{"cron(0 9 ? * MON-FRI *)", "1-1 1-2 1-5"},
		{"cron(0 9 ? * 2-6 *)", "1-1 1-2 1-5"},
		{"cron(15 10 ? * 6L 2019-2029)", "1-30 2-27"},
		{"cron(0 9 ? * 3#2 *)", "1-13 2-10"}, // "the second Tuesday of the month"
		{"cron(0 9 ? * L *)", "1-3 1-10"},    // "the last day of the month or week"
		{"cron(0 9 L * ? *)", "1-31 2-28"},
		{"cron(0 9 3W * ? *)", "1-2 2-3 3-3"},
		{"cron(0 9 1/10 JAN,mar ? *)", "1-1 1-11 1-21 1-31 3-1"},
		{"cron(0 9 1 * ? 2026,2028)", "1-1 2-1"},
		{" \ufeffcron(0 9 1 * ? *)", "!write cron"}, // a byte order mark is the first character
		{"\ufeffcron(0 9 1 * ? *)", "1-1 2-1"},
		{"rate(7 days)", "1-7 1-14 1-21"},
		{"rate(1 day)", "1-1 1-2"},
		{"rate(48 hours)", "1-2 1-4"},
		{"rate(2880 minutes)", "1-2 1-4"},
		{"at(2026-02-03T09:00:00)", "2-3"},
		{"cron(0 9 * * * *)", "!exactly one of the two day fields"},
		{"cron(0 9 ? * ? *)", "!exactly one of the two day fields"},
		{"cron(0 9 13 * FRI *)", "!exactly one of the two day fields"},
		{"cron(0 9 ? * 2/2 *)", "!no steps"},
		{"cron(0 9 ? * 3#1,6#3 *)", "!must be alone"},
		{"cron(0 9 1,L * ? *)", "!must be alone"},
		{"cron(0 9 L-3 * ? *)", "!monthDays [-4]"},
		{"cron(0 9 LW * ? *)", "!positions [-1]"},
		{"cron(0 22-2 * * ? *)", "!is reversed"},
		{"cron(0 9 ? * 0 *)", "!write 1 to 7"},
		{"cron(0 9 ? * MON-FRI)", "!the year is missing"},
		{"cron(0 0 9 ? * MON-FRI *)", "!no field for seconds"},
		{"cron(0 9 30 2 ? *)", "!never matches"},
		{"0 9 * * ? *", "!write cron(0 9 ? * MON-FRI *)"},
		{"rate(0 minutes)", "!from 1 on"},
		{"rate(5 weeks)", "!minutes, hours or days"},
		{"rate(1 minutes)", "!minute, hour or day with 1"},
		{"rate(5 minute)", "!minutes, hours or days otherwise"},
		{"rate(5)", "!write rate(5 minutes)"},
		{"rate(1001 minutes)", "!at most 1000 minutes"},
		{"rate(549 days)", "!548 days"},
		{"at(2026-02-03)", "!write at("},
		{"at(2026-02-30T09:00:00)", "!write at("},
		{"at(2026-02-03T09:00:00Z)", "!write at("},
	})
}

// What an import becomes can be read and changed like any other rule.
func TestAnImportHasTheFieldsOfTheRuleThatYouWouldWrite(t *testing.T) {
	for _, c := range []struct {
		read       func(string) (Recurrence, error)
		text, want string
	}{
		{FromQuartz, "0 0 9 1,15,L * ?", `{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthDays":[-1,1,15]},"immediateRun":false}`},
		{FromQuartz, "0 0 9 ? * L", `{"frequency":"week","schedule":{"minutes":[0],"hours":[9],"weekDays":["saturday"]},"immediateRun":false}`},
		{FromSpring, "0 0 9 13 * FRI", `{"frequency":"month","schedule":{"minutes":[0],"hours":[9],"monthDays":[13],"monthlyOccurrences":[{"day":"friday"}]},"immediateRun":false}`},
		{FromSpring, "0 0 9 * * MON#1,MON#3", `{"frequency":"month","schedule":{"minutes":[0],"hours":[9],` +
			`"monthlyOccurrences":[{"day":"monday","occurrence":1},{"day":"monday","occurrence":3}]},"immediateRun":false}`},
		{FromRobfig, "30 0 9 13 * FRI", `{"frequency":"day","schedule":{"minutes":[0],"hours":[9],"seconds":[30]},"only":[{"monthDays":[13]},{"weekDays":["friday"]}],"immediateRun":false}`},
		{FromRobfig, "@every 90m", `{"frequency":"minute","interval":90,"immediateRun":false}`},
		{FromAWS, "rate(5 minutes)", `{"frequency":"minute","interval":5,"immediateRun":false}`},
		{FromAWS, "rate(90 days)", `{"frequency":"day","interval":90,"immediateRun":false}`},
		{FromAWS, "at(2026-12-24T13:00:00)", `{"startTime":"2026-12-24T13:00:00Z","immediateRun":false}`},
		{Cron, "\ufeff0 9 * * 1-5", `{"cron":"0 9 * * 1-5"}`},
		{Cron, "@every 90m", `{"frequency":"minute","interval":90,"immediateRun":false}`},
	} {
		r, err := c.read(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, _ := r.MarshalJSON(); string(got) != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// The texts of programs that do not run at creation become rules that do not either.
func TestAnImportHasNoRunAtCreation(t *testing.T) {
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		read       func(string) (Recurrence, error)
		text, want string
	}{
		{Cron, "@every 90m", "2026-03-01T13:30:00Z"},
		{Cron, "0 9 * * *", "2026-03-02T09:00:00Z"},
		{FromQuartz, "0 0 9 * * ?", "2026-03-02T09:00:00Z"},
		{FromSpring, "0 0 9 * * *", "2026-03-02T09:00:00Z"},
		{FromRobfig, "0 0 9 * * *", "2026-03-02T09:00:00Z"},
		{FromRobfig, "@every 90m", "2026-03-01T13:30:00Z"},
		{FromAWS, "cron(0 9 * * ? *)", "2026-03-02T09:00:00Z"},
		{FromAWS, "rate(5 minutes)", "2026-03-01T12:05:00Z"},
		{FromAWS, "at(2026-03-02T09:00:00)", "2026-03-02T09:00:00Z"},
	} {
		r, err := c.read(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		s, err := r.Series(created)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if first, _ := s.First(); first.Format(time.RFC3339) != c.want {
			t.Errorf("%s: first run %v, want %s", c.text, first, c.want)
		}
	}
}
