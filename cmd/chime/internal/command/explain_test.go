package command_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestExplainSaysWhatARuleMeans(t *testing.T) {
	got := berlin.Run(t, "explain", "30 2 * * *", "--rule-zone", "Europe/Berlin", "-n", "2")
	want := `Every day at 02:30 Europe/Berlin time (cron "30 2 * * *")

JSON    {"timeZone":"Europe/Berlin","cron":"30 2 * * *"}
RRULE   none: RFC 5545 needs a start: set StartTime
Runs    365 in the twelve months from Sat 21 Nov 2026 14:26:48 CET
Clocks  Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST
          02:30 does not exist and runs at 03:30
        Sun 31 Oct 2027 03:00 CEST becomes 02:00 CET
          02:30 comes twice and runs the first time
Next    Sun 22 Nov 2026 02:30:00 CET  2026-11-22T01:30:00Z  in 12h 3m
        Mon 23 Nov 2026 02:30:00 CET  2026-11-23T01:30:00Z  in 1d 12h
`
	if got.Out != want || got.Code != 0 || got.Err != "" {
		t.Errorf("exit %d, %s, got\n%swant\n%s", got.Code, got.Err, got.Out, want)
	}
	got = berlin.Run(t, "explain", `{"frequency": "month", "startTime": "2026-01-31T18:00:00Z", "schedule": {"monthDays": [-1]}}`, "--utc", "-n", "1")
	want = `Every month on the last day at 18:00 UTC, starting on 31 January 2026

JSON    {"startTime":"2026-01-31T18:00:00Z","frequency":"month","schedule":{"monthDays":[-1]}}
RRULE   DTSTART:20260131T180000Z
        RRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=-1;BYHOUR=18;BYMINUTE=0;BYSECOND=0
Runs    12 in the twelve months from Sat 21 Nov 2026 13:26:48 UTC
Clocks  are not going to change in its zone
Next    Mon 30 Nov 2026 18:00:00 UTC  2026-11-30T18:00:00Z  in 9d 4h
`
	if got.Out != want || got.Code != 0 || got.Err != "" {
		t.Errorf("exit %d, %s, got\n%swant\n%s", got.Code, got.Err, got.Out, want)
	}
}

func TestExplainNamesMostRunsByTheMinute(t *testing.T) {
	for rule, want := range map[string]string{"* * * * *": "525,600 in", `{"frequency": "second"}`: "600,000 or more in"} {
		if got := berlin.Run(t, "explain", rule, "-n", "1"); !strings.Contains(got.Out, want) {
			t.Errorf("%s: got\n%s, want %q", rule, got.Out, want)
		}
	}
}

func TestExplainAsJSON(t *testing.T) {
	got := berlin.Run(t, "explain", "30 2 * * *", "--rule-zone", "Europe/Berlin", "-n", "2", "--json")
	var e struct {
		Words        string
		Rule         json.RawMessage
		NoRRule      string           `json:"no_rrule"`
		RunsYear     int              `json:"runs_a_year"`
		ClockChanges []map[string]any `json:"clock_changes"`
		Runs         []map[string]any
	}
	if err := json.Unmarshal([]byte(got.Out), &e); err != nil {
		t.Fatal(err, got)
	}
	if e.Words == "" || e.NoRRule == "" || e.RunsYear != 365 || len(e.ClockChanges) != 2 || e.ClockChanges[0]["at"] != "2027-03-28T01:00:00Z" || len(e.Runs) != 2 {
		t.Errorf("%+v", e)
	}
}
