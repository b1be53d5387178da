package recurrence

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"
)

// textSeen is every text so far, with the canonical JSON of the rule that it describes.
type textSeen map[string]string

// add reports an error if another rule has the text of a rule without mistakes, or if nobody would say that. It does not ask whether
// the rule ever fires.
func (seen textSeen) add(t *testing.T, r Recurrence) {
	t.Helper()
	text, ok := seen.compare(t, r)
	if found := unnatural.FindString(quotedCron.ReplaceAllString(text, "(cron)")); ok && found != "" {
		t.Errorf("nobody says %q: %s", found, text)
	}
}

// compare reports an error if another rule has the text of a rule. It returns the text, and false if the rule has mistakes.
func (seen textSeen) compare(t *testing.T, r Recurrence) (string, bool) {
	t.Helper()
	if checkRule(r) != nil {
		return "", false
	}
	text, rule := r.String(), marshal(t, r)
	if other, known := seen[text]; known && other != rule {
		t.Errorf("one text for two rules: %s\n%s\n%s", text, rule, other)
	}
	seen[text] = rule
	return text, true
}

// unnatural matches words that say nothing, and lists that have a short name.
var unnatural = regexp.MustCompile(`Monday to Sunday|on the 1st to the 31st|January to December|hours 0 to 23\b|\b1 times?\b|[Ee]very 1 |past the hour \d|  |, ,|,,`)

func TestNoTwoRulesOfTheCasesHaveOneText(t *testing.T) {
	t.Parallel()
	seen := textSeen{}
	for _, file := range []string{"seed_cases.json", "random_cases.jsonl", "tz_cases.json", "extra_cases.json"} {
		for _, c := range runCases(t, file) {
			if r, err := Parse(c.Job); err == nil {
				seen.add(t, r)
			}
		}
	}
	if len(seen) < 800 {
		t.Errorf("%d texts compared, want at least 800: is testdata complete?", len(seen))
	}
}

// alikeRule returns a random rule of few values, so that many rules run at the same times: elements that the start would give too,
// elements with every value, an interval of 1, a zone of UTC.
func alikeRule(rng *rand.Rand) Recurrence {
	r := Recurrence{
		Frequency: Frequency(1 + rng.IntN(7)), Interval: rng.IntN(3), TimeZone: pick(rng, "", "", "UTC", "America/New_York"),
		Hours:   pick(rng, nil, nil, []int{13}, []int{0}, []int{0, 13}, []int{13, 14, 15, 16}, []int{9, 13, 14, 15, 16}, upTo(0, 22, 2), upTo(0, 23, 1)),
		Minutes: pick(rng, nil, nil, []int{30}, []int{0}, []int{0, 30}, []int{1, 2, 3}, []int{0, 15, 30, 45}, upTo(0, 56, 7), upTo(1, 59, 2), upTo(0, 59, 1)),
	}
	// A Thursday; with and without seconds, at midnight, in both passes of an hour that is repeated in New York.
	for _, start := range []string{"2024-02-29 13:30:00", "2024-02-29 13:00:00", "2024-02-29 13:30:07", "2024-02-29 00:00:00", "2024-02-29 05:00:00",
		"2024-11-03 05:30:00", "2024-11-03 06:30:00"} {
		if rng.IntN(9) == 0 {
			r.StartTime = on(start)
		}
	}
	if r.Frequency == Week {
		r.WeekDays = pick(rng, nil, []time.Weekday{4}, []time.Weekday{4, 1}, []time.Weekday{1, 2, 3, 4, 5}, []time.Weekday{0, 1, 2, 3, 4, 5, 6})
	}
	if r.Frequency == Month {
		r.MonthDays = pick(rng, nil, []int{29}, []int{29, -1}, []int{-5, -4, -3, -2, -1}, []int{-3, -2, -1, 5}, []int{-5, -4, -3}, upTo(1, 31, 2), upTo(1, 31, 1), upTo(-31, -1, 1))
		for range rng.IntN(3) * rng.IntN(2) {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences, NthWeekday{pick(rng, time.Thursday, time.Sunday), pick(rng, -2, -1, 0, 1, 4)})
		}
	}
	if r.Frequency >= Month {
		r.Months = pick(rng, nil, nil, []time.Month{2}, []time.Month{2, 3}, []time.Month{1, 2, 3}, maskValues[time.Month](1<<13-2))
	}
	if rng.IntN(9) == 0 {
		r.Frequency, r.Interval, r.Minutes, r.Hours, r.WeekDays, r.MonthDays, r.MonthlyOccurrences, r.Months = 0, 0, nil, nil, nil, nil, nil, nil
		r.Cron = pick(rng, "", "30 13 * * *", "30  13 * * *", "30 13 ? * *", "30 13 1-31 * *", "30 13 29 2 *", "30 13 29 feb *", "30 13 29 * 4", "30 13 29 * thu",
			"*/30 * * * *", "0,30 * * * *", "0 0-23 * * *", "0 * * * *", "@hourly", "@every 1h", "@every 60m", "@every 24h", "@every 1080h")
	}
	if rng.IntN(4) == 0 {
		r.Count = 1 + rng.IntN(2)
	}
	if rng.IntN(4) == 0 {
		r.EndTime = on("2030-01-01 00:00:00").Add(time.Duration(rng.IntN(3)) * 12 * time.Hour)
	}
	return r
}

func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

func TestNoTwoRulesThatRunAlikeHaveOneText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	seen := textSeen{}
	for range 12_000 {
		seen.add(t, alikeRule(rng))
	}
	if len(seen) < 4_000 {
		t.Errorf("only %d different rules were described", len(seen))
	}
}

// Whatever changes in a rule changes its text. So no part of a rule is left out, and no two values have one name.
func TestEveryChangeOfARuleChangesItsText(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(3, 4))}
	for range 1_500 {
		zone := engineZones[g.IntN(len(engineZones))]
		r := g.rule(zone)
		if g.chance(2) {
			r.StartTime = g.instant(zone)
		}
		seen := textSeen{}
		seen.add(t, r)
		for range 6 {
			seen.add(t, g.changed(r))
		}
	}
}

// changed returns a rule with one thing changed.
func (g generator) changed(r Recurrence) Recurrence {
	switch g.IntN(12) {
	case 0:
		r.Minutes = g.changedList(r.Minutes, 0, 59)
	case 1:
		r.Hours = g.changedList(r.Hours, 0, 23)
	case 2:
		r.Minutes, r.Hours = nil, nil
	case 3:
		r.MonthDays = g.changedList(r.MonthDays, -31, 31)
	case 4:
		r.MonthlyOccurrences = append(slices.Clone(r.MonthlyOccurrences), NthWeekday{time.Weekday(g.IntN(7)), g.IntN(11) - 5})
	case 5:
		r.WeekDays = append(slices.Clone(r.WeekDays), time.Weekday(g.IntN(7)))
	case 6:
		r.Months = append(slices.Clone(r.Months), time.Month(1+g.IntN(12)))
	case 7:
		r.Interval = pick(g.Rand, 0, 1, 2, r.Interval+1)
	case 8:
		r.Count = g.IntN(3)
	case 9:
		r.EndTime = on("2150-01-01 00:00:00").Add(time.Duration(g.IntN(90_000)) * time.Second)
	case 10:
		r.StartTime = r.StartTime.Add(pick(g.Rand, time.Second, time.Minute, time.Hour, 24*time.Hour, 7*24*time.Hour))
	case 11:
		r.TimeZone = pick(g.Rand, engineZones...)
	}
	return r
}

func (g generator) changedList(list []int, low, high int) []int {
	list = slices.Clone(list)
	switch at := low + g.IntN(high-low+1); {
	case len(list) > 0 && g.chance(2):
		return slices.Delete(list, 0, 1)
	case g.chance(4):
		return upTo(low, high, 1+g.IntN(7))
	default:
		return append(list, at)
	}
}
