// Package calendars_test holds docs/from-rrule-go-robfig-gronx.md: the calls of these libraries and those of package recurrence have the same results,
// and differ where the page says so.
package calendars_test

import (
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"
	"github.com/teambition/rrule-go"

	"github.com/chimejobs/chime/recurrence"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// probes are instants around the runs of the rules below, on them and between them.
func probes() (list []time.Time) {
	for t := at("2026-02-20T00:00:00Z"); t.Before(at("2026-05-20T00:00:00Z")); t = t.Add(97 * time.Minute) {
		list = append(list, t, t.Truncate(24*time.Hour).Add(9*time.Hour))
	}
	return list
}

func seriesOf(t *testing.T, rule recurrence.Recurrence, err error, created time.Time) *recurrence.Series {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	series, err := rule.Series(created)
	if err != nil {
		t.Fatal(err)
	}
	return series
}

// orZero is a result with ok in the form of these libraries.
func orZero(at time.Time, ok bool) time.Time {
	if !ok {
		return time.Time{}
	}
	return at
}

func same(a, b []time.Time) bool { return slices.EqualFunc(a, b, time.Time.Equal) }

func TestTheCallsOfRRuleGo(t *testing.T) {
	for _, text := range []string{
		"DTSTART:20260101T090000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO,TH",
		"DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=4",
		"DTSTART:20260301T090000Z\nRRULE:FREQ=DAILY;INTERVAL=3;UNTIL=20260420T090000Z",
		"DTSTART;TZID=Asia/Tokyo:20260101T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1",
		"DTSTART:20260301T090000Z\nRRULE:FREQ=DAILY;COUNT=30\nRDATE:20260302T110000Z\nEXDATE:20260303T090000Z",
	} {
		theirs, err := rrule.StrToRRuleSet(text)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := recurrence.FromRRule(text)
		series := seriesOf(t, rule, err, rule.StartTime)
		for _, at := range probes() {
			for _, call := range []struct {
				name       string
				want, have time.Time
			}{
				{"After(t, false)", theirs.After(at, false), orZero(series.Next(at))},
				{"After(t, true)", theirs.After(at, true), orZero(series.Next(at.Add(-1)))},
				{"Before(t, false)", theirs.Before(at, false), orZero(series.Prev(at))},
				{"Before(t, true)", theirs.Before(at, true), orZero(series.Prev(at.Add(1)))},
			} {
				if !call.want.Equal(call.have) {
					t.Errorf("%q: %s of %v: %v, want %v", text, call.name, at, call.have, call.want)
				}
			}
		}
		from, to := at("2026-03-02T09:00:00Z"), at("2026-03-30T09:00:00Z")
		if want, have := theirs.Between(from, to, true), slices.Collect(series.Between(from, to.Add(1))); !same(want, have) {
			t.Errorf("%q: Between with inc: %v, want %v", text, have, want)
		}
		if want, have := theirs.Between(from, to, false), slices.Collect(series.Between(from.Add(1), to)); !same(want, have) {
			t.Errorf("%q: Between without inc: %v, want %v", text, have, want)
		}
		theirNext := theirs.Iterator()
		next, stop := iter.Pull(series.All())
		for range 30 {
			want, more := theirNext()
			have, ok := next()
			if more != ok || !want.Equal(have) {
				t.Errorf("%q: the iterator returns %v, %v, want %v, %v", text, have, ok, want, more)
			}
		}
		stop()
	}
}

// Where the page says that rrule-go differs.
func TestTheDifferencesToRRuleGo(t *testing.T) {
	const nightly = "DTSTART;TZID=Europe/Berlin:20260101T023000\nRRULE:FREQ=DAILY"
	theirs, err := rrule.StrToRRule(nightly)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := recurrence.FromRRule(nightly)
	ours := seriesOf(t, rule, err, rule.StartTime)
	for _, night := range []struct{ from, theirs, ours string }{
		{"2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z"}, // 03:30, both
		{"2026-10-24T12:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z"}, // 02:30 of the second and of the first pass
	} {
		if got := theirs.After(at(night.from), false); !got.Equal(at(night.theirs)) {
			t.Errorf("rrule-go: after %s: %v, want %s", night.from, got, night.theirs)
		}
		if got, _ := ours.Next(at(night.from)); !got.Equal(at(night.ours)) {
			t.Errorf("recurrence: after %s: %v, want %s", night.from, got, night.ours)
		}
	}

	hourly, err := rrule.StrToRRule("DTSTART;TZID=Europe/Berlin:20261024T200000\nRRULE:FREQ=HOURLY;INTERVAL=3")
	if err != nil {
		t.Fatal(err)
	}
	if got := hourly.After(at("2026-10-24T21:00:00Z"), false); !got.Equal(at("2026-10-25T01:00:00Z")) { // 02:00 after 23:00, four hours later
		t.Errorf("rrule-go: every third hour: %v after 23:00", got)
	}

	const never = "DTSTART:20260101T090000Z\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"
	if r, err := rrule.StrToRRule(never); err != nil || !r.After(at("2026-01-01T00:00:00Z"), false).IsZero() {
		t.Errorf("rrule-go: %v, want no error and the zero time", err)
	}
	refused := func(text, want string) {
		t.Helper()
		if _, err := recurrence.FromRRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %s", text, err, want)
		}
	}
	refused(never, "never_fires")
	refused("DTSTART:20260101T090000Z\nRRULE:FREQ=YEARLY;BYEASTER=0", "BYEASTER")
	refused("DTSTART;TZID=Europe/Berlin:20261024T200000\nRRULE:FREQ=HOURLY;INTERVAL=3", "FREQ=HOURLY")
}

func TestTheCallsOfRobfig(t *testing.T) {
	for _, line := range []string{"0 9 * * 1-5", "*/20 * * * *", "0 9 15,31 * *", "0 9 1-7 * 1", "CRON_TZ=Asia/Tokyo 30 18 * * *", "@daily"} {
		theirs, err := cron.ParseStandard(line)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := recurrence.Cron(line)
		series := seriesOf(t, rule, err, at("2026-01-01T00:00:00Z"))
		schedule := series.Schedule()
		for _, at := range probes() {
			if want, have := theirs.Next(at), schedule.Next(at); !want.Equal(have) {
				t.Errorf("%s: after %v: %v, want %v", line, at, have, want)
			}
		}
	}
	theirs, err := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse("15 */20 9 * * *")
	if err != nil {
		t.Fatal(err)
	}
	rule, err := recurrence.FromRobfig("15 */20 9 * * *")
	series := seriesOf(t, rule, err, at("2026-01-01T00:00:00Z"))
	for _, at := range probes() {
		if want, have := theirs.Next(at), orZero(series.Next(at)); !want.Equal(have) {
			t.Errorf("with seconds: after %v: %v, want %v", at, have, want)
		}
	}
}

// Where the page says that robfig/cron differs.
func TestTheDifferencesToRobfig(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	next := func(line, from string, zone *time.Location) (theirs, ours time.Time) {
		t.Helper()
		schedule, err := cron.ParseStandard(line)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := recurrence.Cron(line)
		return schedule.Next(at(from).In(zone)), orZero(seriesOf(t, rule, err, at("2026-01-01T00:00:00Z")).Next(at(from)))
	}
	for _, c := range []struct {
		claim, line, from string
		zone              *time.Location
		theirs, ours      string // "": no run
	}{
		{"a line without a zone follows the zone of the argument", "0 9 * * *", "2026-03-01T12:00:00Z", tokyo, "2026-03-02T00:00:00Z", "2026-03-02T09:00:00Z"},
		{"@every counts from the argument", "@every 90m", "2026-03-01T00:10:00Z", time.UTC, "2026-03-01T01:40:00Z", "2026-03-01T01:30:00Z"},
		{"the search ends after five years", "0 0 29 2 *", "2096-03-01T00:00:00Z", time.UTC, "", "2104-02-29T00:00:00Z"},
		{"a time in the gap", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z", time.UTC, "2026-03-30T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"the first pass", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", time.UTC, "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z"},
		{"the second pass", "CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:30:00Z", time.UTC, "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
	} {
		theirs, ours := next(c.line, c.from, c.zone)
		for name, got := range map[string][2]any{"robfig/cron": {theirs, c.theirs}, "recurrence": {ours, c.ours}} {
			want := time.Time{}
			if text := got[1].(string); text != "" {
				want = at(text)
			}
			if !got[0].(time.Time).Equal(want) {
				t.Errorf("%s: %s: %v, want %v", c.claim, name, got[0], want)
			}
		}
	}
	if _, err := cron.ParseStandard("0 0 30 2 *"); err != nil {
		t.Error("robfig/cron refuses 30 February:", err)
	}
	if _, err := recurrence.Cron("0 0 30 2 *"); err == nil {
		t.Error("recurrence accepts 30 February")
	}
	_, theirs := cron.ParseStandard("0 9 * * 7")
	_, ours := recurrence.Cron("0 9 * * 7")
	_, imported := recurrence.FromRobfig("0 0 9 * * 7")
	if theirs == nil || ours != nil || imported == nil {
		t.Errorf("7 as Sunday: robfig/cron %v, Cron %v, FromRobfig %v", theirs, ours, imported)
	}

	shown, err := recurrence.FromRobfig("CRON_TZ=Europe/Berlin 0 30 2 * * *")
	shown.ClockChanges = recurrence.ClockShown
	schedule, parsed := cron.ParseStandard("CRON_TZ=Europe/Berlin 30 2 * * *")
	if parsed != nil {
		t.Fatal(parsed)
	}
	series := seriesOf(t, shown, err, at("2026-01-01T00:00:00Z"))
	for now := at("2026-01-01T00:00:00Z"); now.Year() == 2026; now = schedule.Next(now) {
		if want, have := schedule.Next(now), orZero(series.Next(now)); !want.Equal(have) {
			t.Errorf("with ClockShown: after %v: %v, want %v", now, have, want)
		}
	}
}

func lastWorkingDay(c *cron.Cron, report func()) error {
	rule := recurrence.MustParse(`{
		"frequency": "month", "schedule": {"positions": [-1], "hours": [18], "minutes": [0]},
		"except": [{"weekDays": ["saturday", "sunday"]}], "immediateRun": false
	}`)
	series, err := rule.Series(time.Now())
	if err != nil {
		return err
	}
	c.Schedule(series.Schedule(), cron.FuncJob(report))
	return nil
}

// The scheduler of robfig/cron itself runs a Schedule, and stops to run one whose Count is over.
func TestRobfigRunsASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // from 1 January 2000
		c := cron.New()
		var reports, counted []string
		if err := lastWorkingDay(c, func() { reports = append(reports, time.Now().UTC().Format("2 Jan 15:04")) }); err != nil {
			t.Fatal(err)
		}
		rule, err := recurrence.Cron("0 12 * * *")
		rule.Count = 3
		id := c.Schedule(seriesOf(t, rule, err, time.Now()).Schedule(), cron.FuncJob(func() { counted = append(counted, time.Now().UTC().Format("2 Jan 15:04")) }))
		c.Start()
		time.Sleep(70 * 24 * time.Hour) // fake time: the runs of ten weeks
		if next := c.Entry(id).Next; !next.IsZero() {
			t.Errorf("the counted job is next at %v", next)
		}
		<-c.Stop().Done()
		if want := []string{"31 Jan 18:00", "29 Feb 18:00"}; !slices.Equal(reports, want) {
			t.Errorf("the reports ran at %q, want %q", reports, want)
		}
		if want := []string{"1 Jan 12:00", "2 Jan 12:00", "3 Jan 12:00"}; !slices.Equal(counted, want) {
			t.Errorf("the counted job ran at %q, want %q", counted, want)
		}
	})
}

func TestTheCallsOfGronx(t *testing.T) {
	for _, expr := range []string{"0 9 * * 1-5", "*/20 * * * *", "0 9 15,31 * *", "0 9 1-7 * 1", "@daily"} {
		if !gronx.IsValid(expr) {
			t.Fatal(expr)
		}
		rule, err := recurrence.Cron(expr)
		series := seriesOf(t, rule, err, at("2026-01-01T00:00:00Z"))
		for _, at := range probes() {
			due, err := gronx.New().IsDue(expr, at)
			if err != nil || due != series.Matches(at) {
				t.Errorf("%s: IsDue(%v) = %v, %v, Matches = %v", expr, at, due, err, series.Matches(at))
			}
			next, err := gronx.NextTickAfter(expr, at, false)
			if ours := orZero(series.Next(at)); err != nil || !next.Equal(ours) {
				t.Errorf("%s: after %v: %v, want %v, %v", expr, at, ours, next, err)
			}
			prev, err := gronx.PrevTickBefore(expr, at, false)
			if ours := orZero(series.Prev(at)); err != nil || !prev.Equal(ours) {
				t.Errorf("%s: before %v: %v, want %v, %v", expr, at, ours, prev, err)
			}
		}
	}
	rule, err := recurrence.FromSpring("0 0 9 * * 5L") // gronx: 0 9 * * 5L
	series := seriesOf(t, rule, err, at("2026-01-01T00:00:00Z"))
	theirs, theirErr := gronx.NextTickAfter("0 9 * * 5L", at("2026-03-01T00:00:00Z"), false)
	if ours := orZero(series.Next(at("2026-03-01T00:00:00Z"))); theirErr != nil || !theirs.Equal(ours) {
		t.Errorf("the last Friday: %v, want %v, %v", ours, theirs, theirErr)
	}
}

// Where the page says that gronx differs.
func TestTheDifferencesToGronx(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ claim, expr, from, theirs, ours string }{
		{"*/2 in a day field: both must match in gronx", "0 0 */2 * 1", "2026-03-02T12:00:00Z", "2026-03-08T23:00:00Z", "2026-03-02T23:00:00Z"},
		{"a time in the gap", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"a repeated time", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z"},
	} {
		rule, err := recurrence.Cron(c.expr)
		rule.TimeZone = "Europe/Berlin"
		if got, _ := seriesOf(t, rule, err, at("2026-01-01T00:00:00Z")).Next(at(c.from)); !got.Equal(at(c.ours)) {
			t.Errorf("%s: recurrence: %v, want %s", c.claim, got, c.ours)
		}
		if got, err := gronx.NextTickAfter(c.expr, at(c.from).In(berlin), false); err != nil || !got.Equal(at(c.theirs)) {
			t.Errorf("%s: gronx: %v, %v, want %s", c.claim, got, err, c.theirs)
		}
	}
	if _, err := gronx.NextTickAfter("0 0 30 2 *", at("2026-03-01T00:00:00Z"), false); err == nil || !gronx.IsValid("0 0 30 2 *") {
		t.Errorf("30 February in gronx: %v, want a valid text and an error of the search", err)
	}
	with, err := gronx.NextTickAfter("* * * * *", at("2026-03-01T00:00:00Z").Add(500), true)
	if want := at("2026-03-01T00:00:00Z").Add(500); err != nil || !with.Equal(want) {
		t.Errorf("with inclRefTime gronx returns %v, %v, want %v with its fraction", with, err, want)
	}
	rule, err := recurrence.Cron("0 9 * * *")
	now := at("2026-03-01T12:00:00Z")
	if prev, ok := seriesOf(t, rule, err, now).Prev(now); ok {
		t.Errorf("Prev of a rule that begins at creation: %v, want none", prev)
	}
	if prev, _ := seriesOf(t, rule, err, time.Time{}).Prev(now); !prev.Equal(at("2026-03-01T09:00:00Z")) {
		t.Errorf("Prev of a rule that begins long ago: %v", prev)
	}
}

// The Go code of the page is in this file.
func TestThePageShowsCodeOfThisFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/from-rrule-go-robfig-gronx.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("calls_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "\n```go\n")[1:]
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(string(source), "\n"+code) {
			t.Errorf("the page shows code that is not in calls_test.go:\n%s", code)
		}
	}
	if len(blocks) == 0 {
		t.Error("the page shows no Go code: this test reads it wrongly")
	}
}
