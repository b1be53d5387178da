package recurrence_test

import (
	"slices"
	"testing"
	"time"
)

// Brute force agrees with published dates, with package time, and with examples that were counted on a printed calendar.

func TestBruteForceHasThePublishedDatesOfEaster(t *testing.T) {
	for year, want := range map[int][2]string{ // Gregorian; Orthodox
		1990: {"04-15", "04-15"}, 1997: {"03-30", "04-27"}, 2000: {"04-23", "04-30"}, 2005: {"03-27", "05-01"}, 2008: {"03-23", "04-27"}, 2010: {"04-04", "04-04"},
		2011: {"04-24", "04-24"}, 2016: {"03-27", "05-01"}, 2019: {"04-21", "04-28"}, 2024: {"03-31", "05-05"}, 2025: {"04-20", "04-20"}, 2026: {"04-05", "04-12"},
		2027: {"03-28", "05-02"}, 2035: {"03-25", "04-29"}, 2038: {"04-25", "04-25"}, 2049: {"04-18", "04-25"}, 2050: {"04-10", "04-17"},
	} {
		got := [2]string{}
		for i, day := range []int{easterDay(year), orthodoxEasterDay(year)} {
			got[i] = time.Unix(int64(day)*86400, 0).UTC().Format("01-02")
		}
		if got != want {
			t.Errorf("%d: Easter is %v, want %v", year, got, want)
		}
	}
}

func TestBruteForceCountsWeeksAsISO8601(t *testing.T) {
	for n := firstModelDay + 400; n < lastModelDay-400; n++ {
		week, weeks := weekOf(n, "monday")
		year, want := time.Unix(int64(n)*86400, 0).UTC().ISOWeek()
		_, last := time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
		if week != want || weeks != last {
			t.Fatalf("%s is in week %d of %d, want %d of %d", time.Unix(int64(n)*86400, 0).UTC().Format(time.DateOnly), week, weeks, want, last)
		}
	}
}

func TestBruteForceRunsOnCountedDays(t *testing.T) {
	for _, c := range []struct {
		rule string
		want []string // the first days from 1 January 2026 on
	}{
		// Sunday 25 January less two working days is Thursday.
		{`{"frequency":"month","schedule":{"monthDays":[25]},"shiftBy":-2,"except":[{"weekDays":["saturday","sunday"]}]}`, []string{"01-22", "02-23", "03-23", "04-23"}},
		{`{"frequency":"month","schedule":{"monthDays":[25]},"shift":"previous","shiftBy":-2,"except":[{"weekDays":["saturday","sunday"]}]}`, []string{"01-21", "02-23", "03-23", "04-22"}},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"tuesday","occurrence":2}]},"shiftBy":1}`, []string{"01-14", "02-11", "03-11", "04-15"}},
		{`{"frequency":"month","schedule":{"positions":[-1]},"shiftBy":2,"except":[{"weekDays":["saturday","sunday"]}]}`, []string{"01-02", "02-03", "03-03", "04-02"}},
		{`{"frequency":"year","schedule":{"days":[{"dates":["easter-2/easter+1"]}]}}`, []string{"04-03", "04-04", "04-05", "04-06"}},
		{`{"frequency":"year","schedule":{"days":[{"dates":["orthodoxEaster+39"]}]}}`, []string{"05-21"}},
		{`{"frequency":"year","schedule":{"days":[{"weeks":[1,53],"weekDays":["monday"]}]}}`, []string{"12-28"}},
		{`{"frequency":"year","schedule":{"days":[{"weeks":[1],"weekDays":["sunday"]}],"weekStart":"sunday"}}`, []string{"01-04"}},
		{`{"frequency":"year","schedule":{"days":[{"yearDays":[-1,60]},{"yearlyOccurrences":[{"day":"monday","occurrence":20},{"day":"friday","occurrence":-1}]}]}}`,
			[]string{"03-01", "05-18", "12-25", "12-31"}},
		{`{"frequency":"week","schedule":{"positions":[1],"weekStart":"sunday"}}`, []string{"01-04", "01-11", "01-18", "01-25"}},
		{`{"frequency":"week","interval":2,"schedule":{"weekDays":["sunday"],"weekStart":"sunday"}}`, []string{"01-11", "01-25", "02-08", "02-22"}},
	} {
		rule := readJSONRule(c.rule)
		rule.StartTime = "2026-01-01T09:00:00Z"
		begin := int64(dayNumber(2026, 1, 1)) * 86400
		var got []string
		for _, at := range newJSONModel(rule, begin).between(begin, begin+365*86400) {
			if len(got) < 4 {
				got = append(got, time.Unix(at, 0).UTC().Format("01-02"))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %v\nwant %v", c.rule, got, c.want)
		}
	}
}
