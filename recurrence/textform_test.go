package recurrence

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// unnatural matches words without meaning, and lists that have a short name.
var unnatural = regexp.MustCompile(`Monday to Sunday|on the 1st to the 31st|January to December|hours 0 to 23\b|\b1 times?\b|[Ee]very 1 |past the hour \d|  |, ,|,,`)

var quotedCron = regexp.MustCompile(`\(cron "[^"]*"\)`)

// checkWording reports an error if the text of a rule is not natural.
func checkWording(t *testing.T, r Recurrence) {
	t.Helper()
	text := quotedCron.ReplaceAllString(r.String(), "(cron)")
	if found := unnatural.FindString(text); found != "" {
		t.Errorf("%q is not natural: %s", found, text)
	}
}

func TestTheTextsOfTheCasesReadNaturally(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range []string{"seed_cases.json", "random_cases.jsonl", "tz_cases.json", "extra_cases.json"} {
		for _, c := range runCases(t, file) {
			if r, err := Parse(c.Job); err == nil {
				checkWording(t, r)
				checked++
			}
		}
	}
	if checked < 800 {
		t.Errorf("%d texts checked, want at least 800: is testdata complete?", checked)
	}
}

func TestTheTextsOfRandomCalendarsAreWellFormed(t *testing.T) {
	t.Parallel()
	checked := 0
	seeds := long.Draw(500, 1500)
	for _, seed := range seeds {
		r, _, _ := (generator{rand.New(rand.NewPCG(seed, 6))}).drawCalendar()
		if hasDays(r) && seed%3 == 0 {
			r.ShiftBy = int(seed%63) - 31
		}
		if checkRule(r) == nil {
			checkWording(t, r)
			checkTextForm(t, r)
			checked++
		}
	}
	if checked < len(seeds)*2/3 {
		t.Errorf("only %d texts of %d were checked", checked, len(seeds))
	}
}

// checkTextForm checks the form of a valid rule's text: single spaces and commas, parentheses in pairs, the zone named once, and the
// same text for the same rule written in another way.
func checkTextForm(t *testing.T, r Recurrence) {
	t.Helper()
	text := r.String()
	bare := quotedCron.ReplaceAllString(text, "(cron)")
	if strings.Contains(bare, "  ") || strings.Contains(bare, ", ,") || strings.Contains(text, ",,") || strings.Contains(text, " ,") ||
		strings.Count(bare, "(") != strings.Count(bare, ")") || strings.HasSuffix(text, ",") || strings.HasSuffix(text, " ") {
		t.Errorf("malformed: %s", text)
	}
	zone, least := r.TimeZone, 1
	if zone == "" && !strings.Contains(r.Cron, "TZ=") {
		zone, least = "UTC", 0
	}
	if n := strings.Count(bare, zone); zone != "" && (n < least || n > 1) {
		t.Errorf("the zone is named %d times: %s", n, text)
	}
	if again := rewritten(r).String(); again != text {
		t.Errorf("two texts for one rule:\n%s\n%s", text, again)
	}
}

// rewritten returns an equal rule with its lists reversed and doubled, and with dates and times written as ranges of one day and of one minute.
func rewritten(r Recurrence) Recurrence {
	r.Seconds, r.Positions, r.Hours, r.Minutes = doubled(r.Seconds), doubled(r.Positions), doubled(r.Hours), doubled(r.Minutes)
	r.Only, r.Except, r.Also = doubled(r.Only), doubled(r.Except), doubled(r.Also)
	r.Days = doubled(r.Days)
	for _, filters := range [][]Filter{r.Only, r.Except, r.Days} {
		for i := range filters {
			f := &filters[i]
			f.WeekDays, f.MonthDays, f.Months = doubled(f.WeekDays), doubled(f.MonthDays), doubled(f.Months)
			f.MonthlyOccurrences = doubled(f.MonthlyOccurrences)
			f.Weeks, f.YearDays, f.YearlyOccurrences = doubled(f.Weeks), doubled(f.YearDays), doubled(f.YearlyOccurrences)
			f.Dates, f.Times = asRanges(f.Dates), asRanges(f.Times)
		}
	}
	for i := range r.Also {
		r.Also[i].Hours = doubled(r.Also[i].Hours)
		r.Also[i].StartTime = r.Also[i].StartTime.In(time.FixedZone("", 3600))
		if r.Also[i].StartTime.IsZero() {
			r.Also[i].StartTime = time.Time{}
		}
	}
	return r
}

func doubled[T any](list []T) []T {
	list = slices.Concat(list, list)
	slices.Reverse(list)
	return list
}

// asRanges returns entries of dates or times twice: unchanged, and as ranges of one.
func asRanges(list []string) []string {
	var both []string
	for _, text := range list {
		if !strings.Contains(text, "/") {
			both = append(both, text+"/"+text)
		}
		both = append(both, text)
	}
	return doubled(both)
}

func TestTimesThatMeanTheSameHaveOneText(t *testing.T) {
	daily := func(f Filter) string { return Recurrence{Frequency: Day, Except: []Filter{f}}.String() }
	for _, same := range [][]string{{"09:00", "09:00/09:00", "09:00:00/09:00:59", "09:00:00/09:00"}, {"09:00:00", "09:00:00/09:00:00"},
		{"09:00/17:00", "09:00:00/17:00:59", "09:00/17:00:59"}, {"09:00:30", "09:00:30/09:00:30"}, {"09:00:30/09:00:59", "09:00:30/09:00"}} {
		for _, text := range same[1:] {
			if got, want := daily(Filter{Times: []string{text}}), daily(Filter{Times: same[:1]}); got != want {
				t.Errorf("%s: %s, but %s: %s", text, got, same[0], want)
			}
		}
	}
}
