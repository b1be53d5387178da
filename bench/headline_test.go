package main

import (
	"strings"
	"testing"
)

// The headlines have five rows, and in one of them another library is better.
func TestTheHeadlinesShowWhatOthersDoBetter(t *testing.T) {
	rec, err := readRecording("results/long.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := headlineTable(rec.samples)
	if len(shown.rows) != 5 {
		t.Errorf("%d rows, want 5", len(shown.rows))
	}
	worse := 0
	for _, row := range headlines {
		if _, c, found := (target{measure: row.measure, figure: row.figure, less: row.less}).hardest(rec.samples); found && c.median < 1 {
			worse++
		}
	}
	if worse == 0 {
		t.Error("chime is the best in every row: choose one in which it is not")
	}
}

func TestHeadlinesAreMediansAndDetailsHaveTheirSpread(t *testing.T) {
	all := samples{
		sampleOf("process 100", "jobs/s", "1/s", false, "chime", 1, 900), sampleOf("process 100", "jobs/s", "1/s", false, "chime", 2, 1100),
		sampleOf("process 100", "jobs/s", "1/s", false, "asynq defaults", 1, 10), sampleOf("process 100", "jobs/s", "1/s", false, "asynq defaults", 2, 20),
		sampleOf("process 100", "jobs/s", "1/s", false, "asynq tuned", 1, 100), sampleOf("process 100", "jobs/s", "1/s", false, "asynq tuned", 2, 100),
	}
	short, rounds := headlineTable(all)
	if got := strings.Join(short.rows[0], "|"); rounds != 2 || got != "jobs/s worked off, 100 at once|1,000|100|–|–" {
		t.Errorf("%q of %d rounds", got, rounds)
	}
	long, _ := detailTable(all)
	if got := strings.Join(long.rows[0], "|"); got != "jobs/s worked off, 100 at once|1,000 (900–1,100)|100 · 10.0 ×|–|–" {
		t.Errorf("%q", got)
	}
}

// The note calls libraries alike only if their figures are.
func TestTheNoteSaysHowFarSlowHandlersAreApart(t *testing.T) {
	note := func(asynq float64) string {
		t.Helper()
		text, err := headlineNote(5, samples{
			sampleOf("handlers 50ms", "jobs/s", "1/s", false, "chime", 1, 2000), sampleOf("handlers 50ms", "jobs/s", "1/s", false, "asynq tuned", 1, asynq),
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if text := note(1900); !strings.Contains(text, "are alike and differ by at most 6 %: chime 2,000, asynq 1,900 jobs/s") || !strings.Contains(text, "medians of 5 rounds") {
		t.Error(text)
	}
	if text := note(1000); !strings.Contains(text, "differ by up to 100 %") || strings.Contains(text, "alike") {
		t.Error(text)
	}
	if _, err := headlineNote(5, nil); err == nil {
		t.Error("no recording of slow handlers, and no error")
	}
}

func TestTheRangeOfAsynqIsOfAllRoundsAndSettings(t *testing.T) {
	all := samples{
		sampleOf("process 100", "jobs/s", "1/s", false, "asynq defaults", 1, 11_000), sampleOf("process 100", "jobs/s", "1/s", false, "asynq defaults", 2, 16_000),
		sampleOf("process 100", "jobs/s", "1/s", false, "asynq tuned", 1, 9_000), sampleOf("process 100", "jobs/s", "1/s", false, "asynq tuned", 2, 12_000),
	}
	if text, err := wakingNote(all); err != nil || !strings.Contains(text, "9,000 to 16,000 jobs/s") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := wakingNote(all[:2]); err == nil {
		t.Error("one setting was not recorded, and no error")
	}
}
