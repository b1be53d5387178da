package main

import (
	"slices"
	"testing"
)

func TestATargetIsJudgedByThePeerThatIsHardestToBeat(t *testing.T) {
	all := samples{
		told("m", "jobs/s", "1/s", false, "chime", 1, 90), told("m", "jobs/s", "1/s", false, "chime", 2, 100), told("m", "jobs/s", "1/s", false, "chime", 3, 500),
		told("m", "jobs/s", "1/s", false, "asynq defaults", 2, 10), told("m", "jobs/s", "1/s", false, "asynq tuned", 2, 20),
		told("m", "jobs/s", "1/s", false, "gocraft tuned", 1, 45), told("m", "jobs/s", "1/s", false, "gocraft tuned", 3, 250),
		told("m", "p99", "ms", true, "chime", 1, 2), told("m", "p99", "ms", true, "asynq defaults", 1, 900), told("m", "p99", "ms", true, "asynq tuned", 1, 8),
	}
	for _, c := range []struct {
		name string
		target
		want verdict
	}{
		{"five times the better setting", target{measure: "m", figure: "jobs/s", against: []string{"asynq"}, factor: 5}, met},
		{"a little more than that", target{measure: "m", figure: "jobs/s", against: []string{"asynq"}, factor: 5.01}, missed},
		{"ten times one setting", target{measure: "m", figure: "jobs/s", against: []string{"asynq defaults"}, factor: 10}, met},
		{"twice the best of all", target{measure: "m", figure: "jobs/s", factor: 2}, met},
		{"three times the best of all", target{measure: "m", figure: "jobs/s", factor: 3}, missed},
		{"a quarter of the better setting's latency", target{measure: "m", figure: "p99", less: true, against: []string{"asynq"}, factor: 4}, met},
		{"a fifth of it", target{measure: "m", figure: "p99", less: true, against: []string{"asynq"}, factor: 5}, missed},
		{"at the limit", target{measure: "m", figure: "p99", limit: 2}, met},
		{"above the limit", target{measure: "m", figure: "p99", limit: 1.9}, missed},
		{"a peer that was not measured", target{measure: "m", figure: "jobs/s", against: []string{"river"}, factor: 1}, notMeasured},
		{"a figure that was not measured", target{measure: "m", figure: "max", limit: 1}, notMeasured},
	} {
		if wanted, reached, got := c.judge(all); got != c.want {
			t.Errorf("%s: %s (%s, %s), want %s", c.name, got, wanted, reached, c.want)
		}
	}
}

// A figure that was renamed would be "not measured" for ever.
func TestTheRecordingTellsOfEveryTarget(t *testing.T) {
	rec, err := readRecording("results/long.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range targetTable(rec.samples).rows {
		if row[len(row)-1] == string(notMeasured) {
			t.Errorf("%s: %s was not measured", row[0], row[1])
		}
	}
}

// A target whose measure nobody makes would be "not measured" for ever.
func TestEveryTargetHasItsMeasure(t *testing.T) {
	for _, one := range targets {
		if !slices.Contains(measureNames(), one.measure) {
			t.Errorf("no measure is called %q", one.measure)
		}
	}
	for _, one := range tellings {
		if !slices.Contains(measureNames(), one.measure) {
			t.Errorf("the README's table: no measure is called %q", one.measure)
		}
	}
}

func TestNamesAreGivenOnce(t *testing.T) {
	names := append(measureNames(), peerNames()...)
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("a name is given twice in %q", names)
	}
}
