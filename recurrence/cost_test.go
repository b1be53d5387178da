package recurrence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// The limits of the steps of any body. A step takes some nanoseconds.
const (
	maxCompileSearch = 600_000 // to find the years with a match, for all rules of a definition
	maxSearch        = 5_000   // of one Next or Prev
)

// cost is the number of steps that a definition takes.
type cost struct {
	calendar int // to compile the calendar: of maxSteps
	compile  int // to compile the rules with it
	search   int // of the most expensive Next or Prev
}

// costOf measures a rule, with searches in every n-th year. ok is false if it is refused: then calendar is more than maxSteps if that is the reason.
func costOf(r Recurrence, everyYear int) (c cost, ok bool) {
	if err := checkRule(r); err != nil {
		return c, false
	}
	calendars, err := r.compileCalendars()
	if err != nil {
		return cost{calendar: maxSteps + 1}, false
	}
	if calendars.whole == nil && calendars.own == nil {
		return c, true
	}
	c.calendar = maxSteps - calendars.left
	m := &meter{}
	for _, calendar := range append(calendars.own, calendars.whole) {
		if calendar != nil {
			calendar.meter = m
		}
	}
	s, err := r.series(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), &calendars)
	c.compile = m.steps
	if err != nil {
		return c, false
	}
	for year := 1900; year < 2200; year += everyYear {
		for _, at := range []time.Time{
			time.Date(year, time.Month(1+year%12), 1+year%28, year%24, 0, 1, 0, time.UTC), time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC),
		} {
			for range 2 {
				m.steps = 0
				next, more := s.Next(at)
				c.search = max(c.search, m.steps)
				m.steps = 0
				s.Prev(at)
				if c.search = max(c.search, m.steps); !more {
					break
				}
				at = next
			}
		}
	}
	return c, true
}

func (c cost) tooHigh() bool {
	return c.calendar > maxSteps || c.compile > maxCompileSearch || c.search > maxSearch
}

// The most expensive bodies that FuzzCost and people have found, each with the part of the engine that it loads.
func TestNoBodyIsSlow(t *testing.T) {
	for _, c := range costlyBodies() {
		r, err := Parse([]byte(c.body))
		if err != nil && !c.refused {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, ok := costOf(r, 7)
		if !ok && got.calendar > maxSteps != c.refused || ok && c.refused {
			t.Errorf("%s: accepted %v with %+v", c.name, ok, got)
		}
		if ok && got.tooHigh() {
			t.Errorf("%s: %+v", c.name, got)
		}
		t.Logf("%-40s %6d bytes %+v", c.name, len(c.body), got)
	}
}

// FuzzCost searches for a rule that is slow to compile or to search. The numbers are the choices of a generator, so a similar input is a similar rule.
// An input that reaches a higher level of cost than others is kept and changed further. They are not bytes, which the fuzzer would shorten for a minute.
func FuzzCost(f *testing.F) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := rng.Uint64
		f.Add(n(), n(), n(), n(), n(), n(), n(), n(), n(), n())
	}
	f.Fuzz(func(t *testing.T, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 uint64) {
		r := (generator{rand.New(&choices{numbers: []uint64{n0, n1, n2, n3, n4, n5, n6, n7, n8, n9}})}).costly(500, 2_000, 6_000)
		got, ok := costOf(r, 41)
		if ok && got.tooHigh() {
			t.Errorf("%s: %+v", marshal(t, r), got)
		}
		t.Log(costLevel(got.calendar), costLevel(got.compile*4), costLevel(got.search*400))
	})
}

// costLevel has a branch for each level of cost, because the fuzzer keeps an input that reaches a new branch.
func costLevel(steps int) (level int) {
	if steps > 2_000 {
		level++
	}
	if steps > 10_000 {
		level++
	}
	if steps > 50_000 {
		level++
	}
	if steps > 100_000 {
		level++
	}
	if steps > 200_000 {
		level++
	}
	if steps > 400_000 {
		level++
	}
	if steps > 600_000 {
		level++
	}
	if steps > 800_000 {
		level++
	}
	if steps > 1_000_000 {
		level++
	}
	if steps > 1_500_000 {
		level++
	}
	if steps > 2_000_000 {
		level++
	}
	if steps > 3_000_000 {
		level++
	}
	return level
}

// choices gives the numbers of an input as random numbers, four each, and after its end numbers that depend on the last one.
type choices struct {
	numbers []uint64
	given   int // of the first number
	rest    *rand.PCG
}

func (c *choices) Uint64() uint64 {
	if c.rest != nil {
		return c.rest.Uint64()
	}
	n := c.numbers[0] << (16 * c.given) >> 48 << 48
	if c.given++; c.given == 4 {
		if len(c.numbers) == 1 {
			c.rest = rand.NewPCG(c.numbers[0], 9)
		}
		c.numbers, c.given = c.numbers[1:], 0
	}
	return n
}

// Random rules that are meant to be slow stay within the limits too.
func TestRandomCostlyRulesAreNotSlow(t *testing.T) {
	accepted := 0
	seeds := long.Draw(60, 3000)
	for _, seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		r := g.costly(1_000, 5_000, 20_000, 45_000)
		got, ok := costOf(r, 13)
		if ok {
			accepted++
		}
		if ok && got.tooHigh() {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
	if accepted < len(seeds)/4 {
		t.Errorf("only %d of %d rules were measured", accepted, len(seeds))
	}
}

// The rules of docs/calendar.md need less than a hundredth of the budget.
func TestTheRulesOfThePageUseLittleOfTheBudget(t *testing.T) {
	page, err := os.ReadFile("../docs/calendar.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "```json\n")[1:]
	if len(parts) < 30 {
		t.Fatalf("the page has %d rules, want 30", len(parts))
	}
	for _, part := range parts {
		body, _, _ := strings.Cut(part, "```")
		got, ok := costOf(MustParse(body), 7)
		if !ok || got.calendar+got.compile > maxSteps/100 || got.search > maxSearch/50 {
			t.Errorf("%s\n%v, %+v", body, ok, got)
		}
	}
}

// A definition is refused by Validate as by Series if its rules together exceed the budget, though its calendar alone does not.
func TestTheBudgetCountsAllRules(t *testing.T) {
	var except []Filter
	for i := range maxFilters {
		f := timeRanges(100, 2*i, 1, 800)[0]
		for day := 1; day <= 31; day++ {
			if day>>(i%5)&1 == i/5%2 {
				f.MonthDays = append(f.MonthDays, day)
			}
		}
		except = append(except, f)
	}
	r := Recurrence{StartTime: on("2026-01-01 00:00:00"), Frequency: Minute, Except: except, TimeZone: "Europe/Amsterdam"}
	if _, err := r.Series(r.StartTime); err != nil {
		t.Fatalf("one rule: %v", err)
	}
	r.Also = slices.Repeat([]Recurrence{{Frequency: Minute, Interval: 7}}, maxAlsoRules)
	if err := r.Validate(); describeErrors(err) != "filter_size|except|" {
		t.Errorf("Validate: %v, want %s", err, CodeFilterSize)
	}
	if _, err := r.Series(r.StartTime); describeErrors(err) != "filter_size|except|" {
		t.Errorf("Series: %v, want %s", err, CodeFilterSize)
	}
}

// A costlyBody is a body that is expensive for its size.
type costlyBody struct {
	name, body string
	refused    bool
}

// costlyBodies returns the table of TestNoBodyIsSlow.
func costlyBodies() []costlyBody {
	filters := func(n int, text func(i int) string) string {
		var list []string
		for i := range n {
			list = append(list, text(i))
		}
		return strings.Join(list, ",")
	}
	clock := func(second int) string { return formatSecond(int64(second % 86400)) }
	// nested is a filter whose range begins and ends some days within the one before, with a second of its own.
	nested := func(i int) string {
		return fmt.Sprintf(`{"dates":"%d-01-%02d/2199-12-%02d","times":%q}`, 1900+i%3, 1+i%7, 31-i%31, clock(3*3600+i*113))
	}
	times := func(from, n int) string { return `"` + strings.Join(oddSeconds(from, n), `","`) + `"` }
	repeat := func(text string) string { return strings.Repeat(text+",", maxAlsoRules-1) + text }
	secondly := `{"startTime":"1900-01-01T00:00:00Z","frequency":"second","interval":86,"schedule":{"hours":3},"only":[`
	everySecond := `"schedule":{"hours":2,"minutes":[` + jsonNumbers(0, 59) + `],"seconds":[` + jsonNumbers(0, 59) + `]}`
	return []costlyBody{
		{name: "days with other filters each", body: secondly + filters(32, nested) + `]}`},
		{name: "a run in centuries", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"second","interval":86,"schedule":{"hours":3},"only":[` +
			filters(31, nested) + `,{"dates":["1900-01-01","2199-12-31"],"times":"03:00/03:59"}]}`},
		{name: "rules of elapsed time", body: secondly + filters(31, nested) + `,{"times":"03:00/03:59"}],"also":[` +
			repeat(`{"frequency":"second","interval":997,"schedule":{"hours":3}}`) + `]}`},
		{name: "dates in every month", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"day","except":[` + filters(32, func(i int) string {
			return `{"dates":["` + strings.Join(dateEvery(i*23, 780, 140), `","`) + `"],"times":"` + clock(i*2003) + `"}`
		}) + `]}`},
		{name: "times that the points miss", body: `{"startTime":"1900-01-01T00:00:00Z","timeZone":"Africa/Casablanca","frequency":"second","interval":2,"only":[` +
			filters(31, func(i int) string { return `{"times":[` + times(i*100, 100) + `]}` }) + `,{"times":"00:00:00"}],"also":[` +
			repeat(`{"frequency":"second","interval":4}`) + `]}`},
		{name: "times that the days miss", body: `{"startTime":"1900-01-01T00:00:00Z","timeZone":"Africa/Casablanca","frequency":"day","clockChanges":"shown",` +
			everySecond + `,"only":[` + filters(31, func(i int) string { return `{"times":[` + times(i*100, 100) + `]}` }) +
			`,{"times":"02:00:00","dates":["1900-02-02","2199-01-01"]}],"also":[` + repeat(`{"frequency":"day",`+everySecond+`}`) + `]}`},
		{name: "runs that every clock change drops", body: `{"startTime":"1900-01-01T00:00:00Z","timeZone":"America/New_York","frequency":"day",` + everySecond +
			`,"only":[{"months":3,"weekDays":"sunday","monthDays":[` + jsonNumbers(8, 14) + `],"times":"02:00/02:59"},{"dates":"2199-12-31"}],"also":[` +
			repeat(`{"frequency":"day",`+everySecond+`}`) + `]}`},
		{name: "moved days", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"day","shift":"nearest","only":[` + filters(4, func(i int) string {
			return `{"dates":["` + strings.Join(dateEvery(i*27_000, 30, 900), `","`) + `"]}`
		}) + `],"also":[` + repeat(`{"frequency":"day","interval":3}`) + `]}`},
		{name: "positions of years", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"year","schedule":{"positions":[` + jsonNumbers(1, 366) +
			`]},"except":{"dates":"1900-01-02/2199-12-30"},"also":[` + repeat(`{"frequency":"year","schedule":{"positions":[`+jsonNumbers(1, 366)+`]}}`) + `]}`},
		{name: "days of many rules", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"day","schedule":{"days":[` + filters(32, func(i int) string {
			return fmt.Sprintf(`{"weeks":[%d,-%d],"yearDays":[%d,-%d],"dates":"%d-01-01/2199-01-01"}`, i+1, i+1, 7*i+1, 7*i+1, 1900+i)
		}) + `]},"also":[` + repeat(`{"frequency":"hour","interval":5,"schedule":{"days":[`+filters(32, func(i int) string {
			return fmt.Sprintf(`{"weeks":%d,"dates":"%d-02-03/%d-01-01"}`, i+20, 1900+i, 2199-i)
		})+`]}}`) + `]}`},
		{name: "a day of a week of a year", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"year","schedule":{"days":{"weeks":53,"yearDays":364},"positions":1},"also":[` +
			repeat(`{"frequency":"day","interval":3,"schedule":{"days":{"weeks":53,"yearDays":1,"monthlyOccurrences":{"day":"friday"}}}}`) + `]}`},
		{name: "days counted from moved ones", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"day","schedule":{"hours":1},"shift":"nearest","shiftBy":-31,"only":[` +
			`{"dates":["easter-70/easter+69"],"weekDays":["monday","thursday"]},{"dates":["orthodoxEaster+70"],"times":"01:00"},{"dates":"1900-01-01/2199-12-31","monthDays":[5,25],"times":"02:00"}],"also":[` +
			repeat(`{"frequency":"day","interval":17,"schedule":{"hours":1,"minutes":0}}`) + `]}`},
		{name: "Easter in ranges of dates", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"day","except":[` + filters(32, func(i int) string {
			return fmt.Sprintf(`{"dates":["19%02d-01-01/2199-12-%02d","easter-%d/easter+%d","orthodoxEaster-%d"],"times":%q}`, i, 31-i%31, i, i, 2*i, clock(i*2003))
		}) + `]}`},
		{name: "a leap day on a Monday", body: `{"startTime":"1900-01-01T00:00:00Z","frequency":"day","only":{"monthDays":29,"months":2,"weekDays":"monday"},"also":[` +
			repeat(`{"frequency":"hour","interval":7}`) + `]}`},
	}
}

// jsonNumbers returns a list of JSON.
func jsonNumbers(first, last int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(upTo(first, last, 1)), " ", ","), "[]")
}

// oddSeconds returns n times of day, each an odd second.
func oddSeconds(from, n int) (list []string) {
	for i := range n {
		list = append(list, formatSecond(int64(2*(from+i)+1)))
	}
	return list
}

// dateEvery returns at most n dates at a distance of some days, from a day after 1900 began.
func dateEvery(from, step, n int) (list []string) {
	for i := range n {
		if day := time.Date(1900, 1, 1+from+i*step, 0, 0, 0, 0, time.UTC); day.Year() < 2200 && len(list) < n {
			list = append(list, day.Format(time.DateOnly))
		}
	}
	return list
}
