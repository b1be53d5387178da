package recurrence_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
)

// drawRRules returns a random text of RFC 5545: every FREQ with every part that section 3.3.10 allows next to it, in UTC and in zones, with COUNT, UNTIL,
// EXDATE, RDATE and further RRULE lines.
func (g jsonGenerator) drawRRules() string {
	start := g.near - g.near%60 + int64(oneOf(g, 0, 0, g.IntN(60)))
	wall := func(at int64) string {
		if g.zone == "" {
			return time.Unix(at, 0).UTC().Format(rruleLayout) + "Z"
		}
		return time.Unix(at, 0).UTC().Format(rruleLayout)
	}
	zone := ""
	if g.zone != "" {
		zone = ";TZID=" + g.zone
	}
	lines := []string{"DTSTART" + zone + ":" + wall(start), g.drawRRule(start)}
	for g.chance(8) {
		lines = append(lines, g.drawRRule(start))
	}
	if g.chance(6) {
		for range 1 + g.IntN(2) {
			lines = append(lines, "RDATE"+zone+":"+wall(start+g.Int64N(oneOf[int64](g, 5, 300)*86400)))
		}
	}
	if g.chance(4) {
		list, _ := readRRules(strings.Join(lines, "\n")).runs(start+8*365*86400, 12)
		loc := readRRules(lines[0]).loc
		for range 1 + g.IntN(3) {
			at := start + g.Int64N(20)*86400
			if len(list) > 0 && g.IntN(4) > 0 {
				picked := oneOf(g, list...)
				_, offset := time.Unix(picked, 0).In(loc).Zone()
				at = picked + int64(offset)
			}
			if g.chance(3) {
				lines = append(lines, "EXDATE;VALUE=DATE:"+wall(at)[:8])
			} else {
				lines = append(lines, "EXDATE"+zone+":"+wall(at))
			}
		}
	}
	return strings.Join(lines, "\n")
}

func (g jsonGenerator) drawRRule(start int64) string {
	freq := oneOf(g, "SECONDLY", "MINUTELY", "HOURLY", "DAILY", "DAILY", "WEEKLY", "WEEKLY", "MONTHLY", "MONTHLY", "MONTHLY", "YEARLY", "YEARLY", "YEARLY", "YEARLY")
	if g.zone != "" && (freq == "SECONDLY" || freq == "MINUTELY") {
		freq = "DAILY"
	}
	text := "RRULE:FREQ=" + freq
	byDay := slices.Contains([]string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}, freq)
	if g.chance(3) {
		text += ";INTERVAL=" + strconv.Itoa(1+g.IntN(map[string]int{"YEARLY": 4, "MONTHLY": 18, "WEEKLY": 8}[freq]+oneOf(g, 1, 6)))
		if freq == "MONTHLY" && g.chance(2) {
			text = "RRULE:FREQ=MONTHLY;INTERVAL=" + strconv.Itoa(2+g.IntN(5))
		}
	}
	has := map[string]bool{}
	part := func(name string, chance, most int, value func() string) {
		if !g.chance(chance) {
			return
		}
		var list []string
		for range 1 + g.IntN(most) {
			if v := value(); !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
		has[name] = true
		text += ";" + name + "=" + strings.Join(list, ",")
	}
	number := func(low, high int) func() string {
		return func() string { return strconv.Itoa(low + g.IntN(high-low+1)) }
	}
	signed := func(high int) func() string {
		return func() string { return strconv.Itoa(oneOf(g, 1, 1, -1) * (1 + g.IntN(high))) }
	}
	part("BYMONTH", 4, 4, number(1, 12))
	if freq == "YEARLY" {
		part("BYWEEKNO", 4, 4, signed(53))
	}
	if freq == "YEARLY" || !byDay {
		part("BYYEARDAY", 6, oneOf(g, 3, 40), signed(366))
	}
	if freq != "WEEKLY" {
		part("BYMONTHDAY", 4, 8, signed(31))
	}
	names := strings.Fields("MO TU WE TH FR SA SU")
	part("BYDAY", 2, 5, func() string {
		name := oneOf(g, names...)
		switch {
		case freq != "MONTHLY" && freq != "YEARLY" || has["BYWEEKNO"] || g.chance(3):
			return name
		case freq == "YEARLY" && !has["BYMONTH"]:
			return signed(53)() + name
		}
		return signed(5)() + name
	})
	part("BYHOUR", 4, 3, number(0, 23))
	part("BYMINUTE", 5, 3, number(0, 59))
	part("BYSECOND", 8, 2, number(0, 59))
	if len(has) > 0 && (freq != "HOURLY" || g.zone == "") { // an hour in which the clocks go back by half an hour has times twice
		part("BYSETPOS", 4, 3, signed(oneOf(g, 3, 8, 40)))
	}
	part("WKST", 3, 1, func() string { return oneOf(g, names...) })
	switch g.IntN(6) {
	case 0, 1:
		text += ";COUNT=" + strconv.Itoa(1+g.IntN(oneOf(g, 4, 30)))
	case 2:
		text += ";UNTIL=" + time.Unix(start+g.Int64N(oneOf[int64](g, 10, 900)*86400), 0).UTC().Format(rruleLayout) + "Z"
	}
	return text
}

var digits = regexp.MustCompile(`-?[0-9]+`)

// rruleProblem compares a text with its import. It returns an empty text if all instants are equal, and the reason if the import refuses the text.
func rruleProblem(text string, later int64, at bool) (problem, refusal string, runs int) {
	reading := readRRules(text)
	start := reading.instant(reading.start)
	limit := min(start+int64(12*365*86400), int64(dayNumber(2074, 1, 1))*86400)
	if strings.Contains(text, "SECONDLY") || strings.Contains(text, "MINUTELY") {
		limit = start + 400*86400
	}
	want, limit := reading.runs(limit, 40)
	rule, err := recurrence.FromRRule(text)
	if at && reading.wall(start) == reading.start { // the form of Google Calendar and of rrule-go; their start is an instant
		_, bare, _ := strings.Cut(text, "\n")
		rule, err = recurrence.FromRRuleAt(bare, time.Unix(start, 0), reading.loc.String())
	}
	if err != nil {
		first := recurrence.Errors(err)[0]
		if first.Code == recurrence.CodeNeverFires {
			if reading.eachRuns(limit) {
				return fmt.Sprintf("%v, want %v", err, reading.shown(want)), "", len(want)
			}
			return "", string(first.Code), 0
		}
		return "", fmt.Sprintf("%s: %s", first.Code, digits.ReplaceAllString(first.Reason, "#")), 0
	}
	if problem := exportProblem(rule, limit); problem != "" {
		return problem, "", len(want)
	}
	for _, created := range []int64{start, start + later} {
		series, err := rule.Series(time.Unix(created, 0))
		if err != nil {
			if len(want) > 0 {
				return fmt.Sprintf("%v, want %v", err, reading.shown(want)), "", len(want)
			}
			return "", "never_fires", 0
		}
		var got, rest []int64
		for at := range series.Between(time.Unix(start, 0), time.Unix(limit, 0)) {
			got = append(got, at.Unix())
			if len(got) > len(want)+3 {
				break
			}
		}
		if !slices.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			json, _ := rule.MarshalJSON()
			return fmt.Sprintf("%s\nup to %s, after %d equal runs\n got %v\nwant %v", json, reading.shown([]int64{limit}), i, reading.shown(got[i:]), reading.shown(want[i:])), "", len(want)
		}
		// The runs of a series that began before its import: COUNT counts from DTSTART.
		left := slices.DeleteFunc(slices.Clone(want), func(at int64) bool { return at < created })
		for at := range series.All() {
			if at.Unix() >= limit || len(rest) > len(left) {
				break
			}
			rest = append(rest, at.Unix())
		}
		if !slices.Equal(rest, left) {
			json, _ := rule.MarshalJSON()
			return fmt.Sprintf("%s\ncreated %s: all runs up to %s\n got %v\nwant %v", json, reading.shown([]int64{created}), reading.shown([]int64{limit}), reading.shown(rest), reading.shown(left)), "", len(want)
		}
	}
	return "", "", len(want)
}

var exportsCompared int // number of rules whose RRULE was compared

// exportProblem compares the runs of a rule with those of its RRULE, read again from its text. limit bounds the search.
func exportProblem(rule recurrence.Recurrence, limit int64) string {
	text, err := rule.RRule()
	if err != nil || text == "" {
		return ""
	}
	series, err := rule.Series(rule.StartTime)
	if err != nil {
		return ""
	}
	reading := readRRules(text)
	want, limit := reading.runs(limit, 40)
	var got []int64
	for at := range series.Between(rule.StartTime.AddDate(-1, 0, 0), time.Unix(limit, 0)) {
		if got = append(got, at.Unix()); len(got) > len(want)+3 {
			break
		}
	}
	exportsCompared++
	if slices.Equal(got, want) {
		return ""
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	json, _ := rule.MarshalJSON()
	return fmt.Sprintf("%s\nis exported as\n%s\nup to %s, after %d equal runs\n rule %v\nRRULE %v", json, text, reading.shown([]int64{limit}), i, reading.shown(got[i:]), reading.shown(want[i:]))
}

// eachRuns reports whether each RRULE has a run before a limit.
func (r *rruleReading) eachRuns(limit int64) bool {
	return !slices.ContainsFunc(r.rules, func(rule *readRRule) bool {
		list, _ := rule.runs(limit, 1)
		return len(list) == 0
	})
}

func (r *rruleReading) shown(list []int64) (texts []string) {
	for _, at := range list[:min(5, len(list))] {
		texts = append(texts, time.Unix(at, 0).In(r.loc).Format("Mon 2006-01-02T15:04:05Z07:00"))
	}
	return texts
}

// shorter returns the shortest text it finds that still has a problem: without lines, parts and values.
func shorter(text string, later int64, at bool) string {
	differs := func(text string) bool {
		defer func() { _ = recover() }() // half of a value
		problem, _, _ := rruleProblem(text, later, at)
		return problem != ""
	}
	for shrunk := true; shrunk; {
		shrunk = false
		for _, separator := range []string{"\n", ";", ","} {
			parts := strings.Split(text, separator)
			for i := 1; i < len(parts); i++ {
				candidate := strings.Join(slices.Delete(slices.Clone(parts), i, i+1), separator)
				if !strings.Contains(candidate, "RRULE:FREQ") || strings.Count(candidate, ":") != strings.Count(candidate, "\n")+1 || strings.Contains(candidate, "TZID") != strings.Contains(text, "TZID") {
					continue
				}
				if differs(candidate) {
					text, shrunk = candidate, true
					break
				}
			}
		}
	}
	return text
}

// TestRRulesRunAsAPlainReadingOfRFC5545 compares random texts. RRULE_TEXTS sets their number, RRULE_SEED the first seed.
func TestRRulesRunAsAPlainReadingOfRFC5545(t *testing.T) {
	seeds := long.Chosen("RRULE_TEXTS", "RRULE_SEED", 300, 3000)
	exportsCompared = 0
	refusals, texts, compared, running, counting, failed := map[string]int{}, len(seeds), 0, 0, 0, 0
	for _, seed := range seeds {
		g := newJSONGenerator(seed)
		g.Rand = rand.New(rand.NewPCG(seed, 5545))
		text := g.drawRRules()
		later := g.Int64N(oneOf[int64](g, 1, 5, 100) * 86400)
		at := g.chance(3)
		problem, refusal, runs := rruleProblem(text, later, at)
		if problem != "" {
			text = shorter(text, later, at)
			if small, _, _ := rruleProblem(text, later, at); small != "" {
				problem = small
			}
			t.Errorf("seed %d: %s\n%s", seed, text, problem)
			if failed++; failed == 20 {
				return
			}
		}
		switch {
		case refusal != "":
			refusals[refusal]++
		case runs > 0:
			if running++; strings.Contains(text, "COUNT=") {
				counting++
			}
			fallthrough
		default:
			compared++
		}
	}
	t.Logf("%d texts: %d compared, %d of them with runs, %d with COUNT, %d exported again", texts, compared, running, counting, exportsCompared)
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		t.Logf("%6d refused: %s", refusals[reason], reason)
	}
	if compared < texts/2 || counting < texts/10 {
		t.Errorf("only %d of %d texts were compared, %d of them with COUNT", compared, texts, counting)
	}
}

// An INTERVAL above the limit of its FREQ is read with a larger unit.
func TestIntervalsAboveALimitRunAsAPlainReadingOfRFC5545(t *testing.T) {
	const utc, berlin = "DTSTART:20260131T090010Z\nRRULE:FREQ=", "DTSTART;TZID=Europe/Berlin:20260131T090010\nRRULE:FREQ="
	for _, text := range []string{
		utc + "MONTHLY;INTERVAL=24", utc + "MONTHLY;INTERVAL=24;BYMONTHDAY=31,-3;COUNT=5", utc + "MONTHLY;INTERVAL=36;BYDAY=2TU,-1FR",
		utc + "MONTHLY;INTERVAL=24;BYMONTH=1,3;BYDAY=MO,TU;BYSETPOS=1,-1;BYHOUR=9,17", utc + "MONTHLY;INTERVAL=60;BYHOUR=9,17;BYSETPOS=2",
		berlin + "MONTHLY;INTERVAL=24;BYDAY=TU;BYSETPOS=2", berlin + "MONTHLY;INTERVAL=24;BYMONTHDAY=1",
		utc + "HOURLY;INTERVAL=1200;BYMINUTE=0,30", utc + "HOURLY;INTERVAL=2400;BYYEARDAY=131,-1", utc + "HOURLY;INTERVAL=1200;BYSECOND=5,20",
		utc + "MINUTELY;INTERVAL=1440;BYDAY=MO;BYHOUR=9;BYSECOND=0,30", utc + "MINUTELY;INTERVAL=72000", berlin + "MINUTELY;INTERVAL=1440",
		utc + "SECONDLY;INTERVAL=3600;BYMINUTE=0,30", utc + "SECONDLY;INTERVAL=86400", berlin + "SECONDLY;INTERVAL=86400;COUNT=300",
	} {
		if problem, refusal, runs := rruleProblem(text, 86400, false); problem != "" || refusal != "" || runs == 0 && !strings.Contains(text, "BYMINUTE=0,30") {
			t.Errorf("%s\n%d runs, %s%s", text, runs, problem, refusal)
		}
	}
}

// All 24 hours of BYHOUR follow the clock: an hour that the clocks repeat runs once.
func TestEveryHourOfADayInAZoneRunsAsAPlainReadingOfRFC5545(t *testing.T) {
	const hours = ";BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23"
	for _, start := range []string{"20260328T200000", "20261024T200000"} { // in the evening before the clocks change
		for _, rule := range []string{
			"FREQ=DAILY" + hours, "FREQ=DAILY;COUNT=30" + hours, "FREQ=WEEKLY;BYDAY=SU;BYMINUTE=0,30" + hours, "FREQ=DAILY;BYSETPOS=1,2,3,4,5,6,-1" + hours,
			"FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=-1,-2,-3,-4" + hours, "FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU" + hours,
			"FREQ=YEARLY;BYYEARDAY=-67,-277,88,298" + hours + ";BYSETPOS=" + setPositions(1, 48), "FREQ=HOURLY", "FREQ=HOURLY;BYDAY=SU",
		} {
			text := "DTSTART;TZID=Europe/Berlin:" + start + "\nRRULE:" + rule
			if problem, refusal, runs := rruleProblem(text, 86400, false); problem != "" || refusal != "" || runs == 0 {
				t.Errorf("%s\n%d runs, %s%s", text, runs, problem, refusal)
			}
		}
	}
}

func setPositions(first, last int) string {
	var list []string
	for n := first; n <= last; n++ {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}

// The RRULE of a rule has the runs of the rule, read by the table of RFC 5545. The rules have days, weekStart, positions and rules of also, and little
// that RFC 5545 lacks. RRULE_EXPORTS sets their number, RRULE_SEED the first seed.
func TestExportedRulesRunAsAPlainReadingOfRFC5545(t *testing.T) {
	seeds := long.Chosen("RRULE_EXPORTS", "RRULE_SEED", 200, 3000)
	exportsCompared = 0
	refusals, failed := map[string]int{}, 0
	for _, seed := range seeds {
		g := newJSONGenerator(seed + 9_000_000)
		plain := func() jsonRule {
			r := g.rule(false)
			if s := r.Schedule; s != nil && len(s.Days) > 0 {
				s.Days = s.Days[:1]
				if s.Days[0].Dates = nil; g.chance(2) {
					s.Days[0] = jsonFilter{WeekDays: s.Days[0].WeekDays, MonthDays: s.Days[0].MonthDays, Months: s.Days[0].Months, Weeks: oneOf(g, nil, []int{1 + g.IntN(52)})}
				}
			}
			return r
		}
		r := plain()
		r.StartTime, r.TimeZone = instantText(g.near), g.zone
		if g.chance(4) {
			r.Except = []jsonFilter{oneOf(g, jsonFilter{Dates: []string{time.Unix(int64(g.day)*86400, 0).UTC().Format(time.DateOnly)}}, jsonFilter{WeekDays: g.weekdays(3)})}
		}
		for r.Frequency != "" && g.chance(4) {
			r.Also = append(r.Also, []byte(oneOf(g, plain().text(), strconv.Quote(instantText(g.near+g.Int64N(40*86400))))))
		}
		rule, err := recurrence.Parse([]byte(r.text()))
		if err != nil {
			continue
		}
		limit := g.near + 6*365*86400
		if text, err := rule.RRule(); err != nil {
			refusals[digits.ReplaceAllString(recurrence.Errors(err)[0].Reason, "#")]++
		} else if strings.Contains(text, "SECONDLY") || strings.Contains(text, "MINUTELY") {
			limit = g.near + 300*86400
		}
		if problem := exportProblem(rule, limit); problem != "" {
			t.Errorf("seed %d: %s", seed, problem)
			if failed++; failed == 20 {
				return
			}
		}
	}
	t.Logf("%d rules: %d have an RRULE", len(seeds), exportsCompared)
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		t.Logf("%6d refused: %s", refusals[reason], reason)
	}
	if exportsCompared < len(seeds)/4 {
		t.Errorf("only %d of %d rules have an RRULE", exportsCompared, len(seeds))
	}
}
