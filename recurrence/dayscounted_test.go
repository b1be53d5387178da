package recurrence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// countDays returns the day to which shiftBy moves a day: it counts the open days one after another.
func countDays(day time.Time, by int, open func(time.Time) bool) (time.Time, bool) {
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for range 92 {
		day = day.AddDate(0, 0, step)
		if open(day) {
			by--
		}
		if by == 0 {
			return day, true
		}
	}
	return day, false
}

// Random rules of days at 12:00 UTC run on the days to which a count from day to day moves the days of the same rule without shiftBy. The calendars
// leave many, few or no days open.
func TestShiftByMovesEachDayByItsOpenDays(t *testing.T) {
	moved, dropped, never := 0, 0, 0
	seeds := long.Draw(300, 3000)
	rules := len(seeds)
	for _, seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 17))}
		rule, begin := g.counted()
		r := mustDecode(t, rule)
		plain := withoutTimes(r)
		days, times := mustCalendar(t, plain), mustCalendar(t, r)
		openDay := func(day time.Time) bool { return days == nil || days.isOpen(day.Unix()) }
		if plain.ShiftBy = 0; r.Shift == ShiftDrop && len(r.Positions) == 0 { // the named days, open or not
			plain.Only, plain.Except = nil, nil
		}
		named, err := plain.Series(begin)
		if err != nil {
			continue
		}
		from, to := begin.AddDate(0, 4, 0), begin.AddDate(3, 0, 0) // the days before begin are not among the named ones
		var want []time.Time
		for day := range named.Between(begin, to.AddDate(0, 4, 0)) {
			if at, ok := countDays(day, r.ShiftBy, openDay); !ok {
				dropped++
			} else if (times == nil || times.isOpen(at.Unix())) && !at.Before(from) && at.Before(to) {
				want = append(want, at)
			}
		}
		slices.SortFunc(want, time.Time.Compare)
		want = slices.CompactFunc(want, time.Time.Equal)
		series, err := r.Series(begin)
		if err != nil {
			if len(want) > 0 || codesOf(err) != string(CodeNeverFires) {
				t.Errorf("seed %d: %s: %v, want %v", seed, rule, err, want)
			}
			never++
			continue
		}
		got := slices.Collect(series.Between(from, to))
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("seed %d: %s\ngot  %v\nwant %v", seed, rule, got, want)
		}
		var back []time.Time
		for at, ok := series.Prev(to); ok && !at.Before(from); at, ok = series.Prev(at) {
			back = append(back, at)
		}
		slices.Reverse(back)
		if !slices.EqualFunc(back, want, time.Time.Equal) {
			t.Fatalf("seed %d: %s\nback %v\nwant %v", seed, rule, back, want)
		}
		moved += len(want)
	}
	if moved < 10*rules || dropped < rules || never > rules/3 {
		t.Errorf("%d rules have %d runs, %d runs were dropped, %d rules never fire", rules, moved, dropped, never)
	}
}

// Each rule runs at 12:00 on these days, from 2026 on unless it says otherwise.
func TestShiftByCountsFromTheNamedDay(t *testing.T) {
	for _, c := range []struct{ claim, rule, want string }{
		{"it counts from a closed day, as WORKDAY of spreadsheets: the 25th of January is a Sunday",
			`{"frequency":"month","schedule":{"monthDays":25},"except":{"weekDays":["saturday","sunday"]},"shiftBy":-2}`, "01-22 02-23 03-23"},
		{"it counts from an open day", `{"frequency":"month","schedule":{"monthDays":22},"except":{"weekDays":["saturday","sunday"]},"shiftBy":1}`, "01-23 02-23 03-23"},
		{"it counts from the day to which shift moves",
			`{"frequency":"month","schedule":{"monthDays":25},"except":{"weekDays":["saturday","sunday"]},"shift":"next","shiftBy":-2}`, "01-22 02-23 03-23"},
		{"and in the other direction", `{"frequency":"month","schedule":{"monthDays":25},"except":{"weekDays":["saturday","sunday"]},"shift":"next","shiftBy":2}`, "01-28 02-27 03-27"},
		{"without a calendar every day is open", `{"frequency":"month","schedule":{"monthlyOccurrences":{"day":"tuesday","occurrence":2}},"shiftBy":1}`, "01-14 02-11 03-11"},
		{"it counts from a position", `{"frequency":"month","schedule":{"positions":-1},"except":{"weekDays":["saturday","sunday"]},"shiftBy":-1}`, "01-29 02-26 03-30"},
		{"positions in a year without a calendar", `{"frequency":"year","schedule":{"positions":[1,-1]},"shiftBy":31}`, "01-31 02-01"},
		{"it leaves the month, also with a shift in the month",
			`{"frequency":"month","schedule":{"monthDays":-1},"except":{"weekDays":["saturday","sunday"]},"shift":"nextInMonth","shiftBy":1}`, "01-01 02-02 03-02"},
		{"two runs that meet are one", `{"frequency":"month","schedule":{"monthDays":[2,3,4]},"except":{"weekDays":["saturday","sunday"]},"shiftBy":1}`, "01-05 02-03 02-04 02-05 03-03 03-04 03-05"},
		{"the start is no run of itself", `{"startTime":"2026-01-10T12:00","frequency":"week","shiftBy":3}`, "01-13 01-20"},
		{"a day before the start moves behind it", `{"startTime":"2026-01-10T12:00","frequency":"week","shiftBy":8}`, "01-11 01-18"},
		{"92 days are not too far", `{"startTime":"2026-01-01T12:00","frequency":"month","interval":4,"except":{"dates":"2026-01-02/2026-04-02"},"shiftBy":1}`, "04-03 05-02"},
		{"93 days are too far", `{"startTime":"2026-01-01T12:00","frequency":"month","interval":4,"except":{"dates":"2026-01-02/2026-04-03"},"shiftBy":1}`, "05-02 09-02"},
		{"a closed time at the day to which it moves", `{"frequency":"month","schedule":{"monthDays":[1,2]},"except":{"monthDays":2,"times":"09:00/15:00"},"shiftBy":1}`, "01-03 02-03 03-03"},
		{"rules of also move too, instants do not", `{"frequency":"month","schedule":{"monthDays":1},"shiftBy":1,"also":["2026-01-07T12:00",{"frequency":"month","schedule":{"monthDays":20}}]}`, "01-02 01-07 01-21"},
		{"cron fields", `{"cron":"0 12 25 * *","except":{"weekDays":["saturday","sunday"]},"shiftBy":-2}`, "01-22 02-23 03-23"},
	} {
		begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		r := MustParse(c.rule)
		if r.StartTime.IsZero() {
			r.StartTime = begin
		}
		s, err := r.Series(begin)
		if err != nil {
			t.Errorf("%s: %v", c.claim, err)
			continue
		}
		var got []string
		for at := range s.All() {
			if got = append(got, at.Format("01-02")); at.Hour() != 12 || len(got) == len(strings.Fields(c.want)) {
				break
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.claim, c.rule, got, c.want)
		}
	}
}

// A rule that starts on the second pass of a repeated hour has its first run on the day to which shiftBy moves, on the first pass.
func TestShiftByKeepsTheTimeOfDay(t *testing.T) {
	berlin, _ := time.LoadLocation("Europe/Berlin")
	start := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC) // the second 02:30
	r := Recurrence{StartTime: start, Frequency: Year, TimeZone: "Europe/Berlin", ShiftBy: -1}
	s, err := r.Series(start)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := s.First(); !got.Equal(time.Date(2027, 10, 24, 2, 30, 0, 0, berlin)) {
		t.Errorf("the first run is at %s", got)
	}
	r = Recurrence{StartTime: start, Frequency: Month, MonthDays: []int{27}, Hours: []int{2}, Minutes: []int{30}, TimeZone: "Europe/Berlin", ShiftBy: 1}
	if s, err = r.Series(start); err != nil {
		t.Fatal(err)
	}
	// On 28 March 2027 the clocks skip 02:30: the run is an hour later.
	if got, _ := s.Next(time.Date(2027, 3, 20, 0, 0, 0, 0, berlin)); got.Format("01-02 15:04") != "03-28 03:30" {
		t.Errorf("the run in March is at %s", got)
	}
}

// mustDecode reads a rule that may never fire.
func mustDecode(t *testing.T, text string) Recurrence {
	t.Helper()
	v, bad := readJSON([]byte(text))
	d := decoder{given: map[string]source{}}
	if d.job(v); bad != nil || len(d.list) > 0 {
		t.Fatalf("%s: %v %v", text, bad, d.join())
	}
	return d.rule
}

// withoutTimes returns a rule whose calendar opens and closes the same days, but no times of open days.
func withoutTimes(r Recurrence) Recurrence {
	r.Only = slices.Clone(r.Only)
	for i := range r.Only {
		r.Only[i].Times = nil
	}
	r.Except = slices.DeleteFunc(slices.Clone(r.Except), func(f Filter) bool { return len(f.Times) > 0 })
	if len(r.Only)+len(r.Except) == 0 {
		r.Shift = ShiftDrop
	}
	return r
}

func mustCalendar(t *testing.T, r Recurrence) *calendar {
	t.Helper()
	left := 1 << 30
	return newCalendar(calendarFilters{only: r.Only, except: r.Except}, &left)
}

// counted returns the JSON of a rule of days with shiftBy.
func (g generator) counted() (rule string, begin time.Time) {
	begin = time.Date(1995+g.IntN(60), time.Month(1+g.IntN(12)), 1+g.IntN(28), 12, 0, 0, 0, time.UTC)
	by := pick(g.Rand, 1, -1, 2, -2, 5, -5, 31, -31, 1+g.IntN(31), -1-g.IntN(31))
	shifts := []string{"", "", "next", "previous", "nearest", "nextInMonth", "previousInMonth", "nearestInMonth"}
	shift := pick(g.Rand, shifts...)
	var days string
	positions := false
	switch g.IntN(8) {
	case 0:
		days = fmt.Sprintf(`"frequency":"day","interval":%d`, 1+g.IntN(40))
	case 1:
		days = fmt.Sprintf(`"frequency":"week","interval":%d,"schedule":{"weekDays":["monday","friday"]}`, 1+g.IntN(3))
	case 2:
		days = fmt.Sprintf(`"frequency":"month","schedule":{"monthDays":[%d,-%d]}`, 1+g.IntN(31), 1+g.IntN(31))
	case 3:
		days = `"frequency":"month","schedule":{"monthlyOccurrences":{"day":"tuesday","occurrence":2}}`
	case 4:
		days = fmt.Sprintf(`"frequency":"year","schedule":{"months":[2,%d]}`, 1+g.IntN(12))
	case 5:
		days, positions = `"frequency":"month","schedule":{"positions":[1,-1]}`, true
	case 6:
		days, positions = `"frequency":"year","schedule":{"positions":[1,100,-1]}`, true
	default:
		days, positions = `"frequency":"week","schedule":{"positions":[-1]}`, true
	}
	var calendar []string
	for range g.IntN(4) {
		from := begin.AddDate(0, 0, g.IntN(900))
		calendar = append(calendar, pick(g.Rand,
			`"except":[{"weekDays":["saturday","sunday"]},{"dates":["12-25","04-02/04-05"]}]`,
			`"except":[{"weekDays":"wednesday","times":"11:00/12:30"},{"dates":"12-20/02-28"}]`,
			fmt.Sprintf(`"except":{"dates":"%s/%s"}`, from.Format(time.DateOnly), from.AddDate(0, 0, 20+g.IntN(200)).Format(time.DateOnly)),
			`"only":{"monthDays":[1,15,-1]}`, `"only":{"months":[1,4,5,11]}`, `"only":[{"weekDays":"tuesday"},{"monthDays":[10,11,12],"times":"08:00/09:00"}]`,
			`"only":{"dates":["03-31/04-02","12-24"]}`,
		))
	}
	slices.Sort(calendar)
	calendar = slices.CompactFunc(calendar, func(a, b string) bool { return a[:5] == b[:5] })
	parts := append([]string{`"startTime":"` + begin.Format(time.RFC3339) + `"`, days}, calendar...)
	if shift != "" && len(calendar) > 0 && !positions {
		parts = append(parts, `"shift":"`+shift+`"`)
	}
	return "{" + strings.Join(append(parts, fmt.Sprintf(`"shiftBy":%d`, by)), ",") + "}", begin
}
