package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// The code that a page shows is in a test file, line by line, at whatever depth: what is shown is compiled, and as no function of a test
// file is unused, it is run.
func TestThePagesShowCodeThatIsRun(t *testing.T) {
	for page, pieces := range map[string]int{"schedules": 20, "from-cron": 6} {
		source := readText(t, strings.ReplaceAll(page, "-", "_")+"_test.go")
		blocks := strings.Split(readText(t, page+".md"), "```go\n")[1:]
		for _, block := range blocks {
			code, _, ended := strings.Cut(block, "```")
			if !ended || !showsPart(source, code) {
				t.Errorf("docs/%s.md shows what its test file does not have:\n%s", page, code)
			}
		}
		if len(blocks) < pieces {
			t.Errorf("docs/%s.md has %d pieces of code, want %d: this test searches in the wrong place", page, len(blocks), pieces)
		}
	}
}

// showsPart reports whether source has all lines of code, one after the other, each with the same further tabs in front.
func showsPart(source, code string) bool {
	for indent := range 5 {
		tabs := strings.Repeat("\t", indent)
		var deeper strings.Builder
		for line := range strings.Lines(code) {
			if line != "\n" {
				deeper.WriteString(tabs)
			}
			deeper.WriteString(line)
		}
		if strings.Contains(source, "\n"+deeper.String()) {
			return true
		}
	}
	return false
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A link within a page, to another page and to a picture leads somewhere.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]*)\)`)
	for _, page := range []string{"schedules.md", "from-cron.md"} {
		text := readText(t, page)
		headings := headingsOf(t, page)
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			switch target := found[1]; {
			case strings.HasPrefix(target, "#"):
				if !headings[target[1:]] {
					t.Errorf("docs/%s links to %s, which is no heading", page, target)
				}
			default:
				file, part, _ := strings.Cut(target, "#")
				if _, err := os.Stat(file); err != nil || part != "" && !headingsOf(t, file)[part] {
					t.Errorf("docs/%s links to %s, which is not there (%v)", page, target, err)
				}
			}
		}
	}
}

// headingsOf are the headings of a page, as links name them.
func headingsOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	headings := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readText(t, page), -1) {
		headings[anchor(heading[1])] = true
	}
	return headings
}

// anchor is the name that a heading has in a link.
func anchor(heading string) string {
	heading = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(heading, " ", "-")
}

// What the page says of clock changes is what the rules do.
func TestTheTableOfClockChanges(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	nine := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 9, 0, 0, 0, berlin) }
	day := func(rule recurrence.Recurrence, month time.Month, date int) string {
		rule.TimeZone = "Europe/Berlin"
		midnight := time.Date(2026, month, date, 0, 0, 0, 0, berlin)
		if rule.Cron == "" {
			rule.StartTime = nine(month, date-1)
		}
		series, err := rule.Series(midnight.AddDate(0, 0, -2))
		if err != nil {
			t.Fatal(err)
		}
		var last time.Time
		n := 0
		for at := range series.Between(midnight, midnight.AddDate(0, 0, 1)) {
			last = at
			n++
		}
		if n == 1 {
			return last.Format("15:04 MST")
		}
		return fmt.Sprintf("%d runs", n)
	}
	page := readText(t, "schedules.md")
	for _, row := range []struct {
		name string
		rule recurrence.Recurrence
	}{
		{"`30 2 * * *`", recurrence.Recurrence{Cron: "30 2 * * *"}},
		{"`0 */2 * * *`", recurrence.Recurrence{Cron: "0 */2 * * *"}},
		{"`0 * * * *`", recurrence.Recurrence{Cron: "0 * * * *"}},
		{"`*/15 * * * *`", recurrence.Recurrence{Cron: "*/15 * * * *"}},
		{"every day from 09:00", recurrence.Recurrence{Frequency: recurrence.Day}},
		{"every 24 hours from 09:00", recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 24}},
	} {
		want := fmt.Sprintf("\n| %s | %s | %s |\n", row.name, day(row.rule, time.March, 29), day(row.rule, time.October, 25))
		if !strings.Contains(page, want) {
			t.Errorf("docs/schedules.md does not have the row%s", want)
		}
	}
}
