package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
)

// berlin is a terminal in Berlin on a Saturday afternoon.
var berlin = commandtest.Terminal{Zone: "Europe/Berlin", Now: time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)}

func TestNextListsRunsWithWhatTheClocksDo(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a time that the clocks skip": {
			[]string{"30 2 * * *", "--rule-zone", "Europe/Berlin", "-n", "1", "--from", "2027-03-28"},
			"Sun 28 Mar 2027 03:30:00 CEST  2027-03-28T01:30:00Z  in 126d 12h  02:30 does not exist on this day\n",
		},
		"a time that they show twice": {
			[]string{"30 2 * * *", "--rule-zone", "Europe/Berlin", "-n", "1", "--from", "2027-10-31"},
			"Sun 31 Oct 2027 02:30:00 CEST  2027-10-31T00:30:00Z  in 343d 11h  02:30 comes twice on this day, this is the first\n",
		},
		"both passes of elapsed hours": {
			[]string{"0 * * * *", "--rule-zone", "Europe/Berlin", "-n", "2", "--from", "2027-10-31 02:00"},
			"Sun 31 Oct 2027 02:00:00 CEST  2027-10-31T00:00:00Z  in 343d 10h  02:00 comes twice on this day, this is the first\n" +
				"Sun 31 Oct 2027 02:00:00 CET   2027-10-31T01:00:00Z  in 343d 11h  02:00 comes twice on this day, this is the second\n",
		},
		"the rule's own clock": {
			[]string{"0 9 * * *", "--rule-zone", "America/New_York", "-n", "1"},
			"Sat 21 Nov 2026 15:00:00 CET  Sat 09:00:00 EST  2026-11-21T14:00:00Z  in 33m 12s\n",
		},
		"a count from the creation on": {
			[]string{`{"frequency": "hour", "count": 3, "timeZone": "Europe/Berlin"}`, "--created", "-1h"},
			"Sat 21 Nov 2026 14:26:48 CET  2026-11-21T13:26:48Z  now\nSat 21 Nov 2026 15:26:48 CET  2026-11-21T14:26:48Z  in 1h\n",
		},
		"the run at creation": {
			[]string{`{"cron": "@every 1h"}`, "-n", "2", "--utc"},
			"Sat 21 Nov 2026 13:26:48 UTC  2026-11-21T13:26:48Z  now    runs when it is created\nSat 21 Nov 2026 14:26:48 UTC  2026-11-21T14:26:48Z  in 1h\n",
		},
		"without the run at creation": {
			[]string{`{"cron": "@every 1h"}`, "-n", "1", "--no-immediate-run", "--utc"},
			"Sat 21 Nov 2026 14:26:48 UTC  2026-11-21T14:26:48Z  in 1h\n",
		},
		"a cron line has no run at creation": {
			[]string{"@every 1h", "-n", "1", "--utc"},
			"Sat 21 Nov 2026 14:26:48 UTC  2026-11-21T14:26:48Z  in 1h\n",
		},
		"before an instant": {
			[]string{"0 0 * * *", "--rule-zone", "Europe/Berlin", "--until", "2026-11-23"},
			"Sun 22 Nov 2026 00:00:00 CET  2026-11-21T23:00:00Z  in 9h 33m\n",
		},
	} {
		got := berlin.Run(t, append([]string{"next"}, c.args...)...)
		if got.Out != c.want || got.Err != "" || got.Code != 0 {
			t.Errorf("%s: exit %d, %s, got\n%swant\n%s", name, got.Code, got.Err, got.Out, c.want)
		}
	}
}

func TestNextAsJSONHasInstantsInUTC(t *testing.T) {
	got := berlin.Run(t, "next", "30 2 * * *", "--rule-zone", "Europe/Berlin", "-n", "1", "--from", "2027-03-28", "--json")
	var list struct {
		Items []map[string]any
		Next  string
	}
	if err := json.Unmarshal([]byte(got.Out), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v: %s", err, got.Out)
	}
	for field, want := range map[string]any{
		"at": "2027-03-28T01:30:00Z", "clock": "2027-03-28T03:30:00+02:00", "zone": "Europe/Berlin", "in_ms": 10929792000.0, "remark": "02:30 does not exist on this day",
	} {
		if list.Items[0][field] != want {
			t.Errorf("%s: got %v, want %v", field, list.Items[0][field], want)
		}
	}
	if names := berlin.Run(t, "next", "0 0 * * *", "-n", "2", "-o", "name").Out; names != "2026-11-22T00:00:00Z\n2026-11-23T00:00:00Z\n" {
		t.Errorf("names: %q", names)
	}
}

func TestARuleMayComeFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rule")
	if err := os.WriteFile(file, []byte("\n 0 9 * * 1-5 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "2026-11-23T09:00:00Z\n"
	if got := berlin.Run(t, "next", "-f", file, "-n", "1", "-o", "name"); got.Out != want {
		t.Errorf("a file: %+v", got)
	}
	piped := berlin
	piped.Typed = `{"cron": "0 9 * * 1-5"}`
	if got := piped.Run(t, "next", "-f", "-", "-n", "1", "-o", "name"); got.Out != want {
		t.Errorf("standard input: %+v", got)
	}
}

func TestARuleWithoutRunsSaysSo(t *testing.T) {
	got := berlin.Run(t, "next", `{"frequency": "day", "startTime": "2026-01-01", "endTime": "2026-02-01"}`)
	if got.Code != 0 || got.Out != "" || got.Err != "it has no run in this range\n" {
		t.Errorf("%+v", got)
	}
	if got := berlin.Run(t, "next", `{"frequency": "day", "startTime": "2026-01-01", "endTime": "2026-02-01"}`, "--json"); got.Err != "" || !strings.Contains(got.Out, `"items": []`) {
		t.Errorf("as JSON: %+v", got)
	}
}

// An error contains the field, the value and the accepted values, and the command exits with 2.
func TestWhatIsWrongWithARuleOrAFlagIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"cron":              {[]string{"61 2 * * *"}, []string{"the rule's cron:", "write 0 to 59", `got "61 2 * * *"`}},
		"two mistakes":      {[]string{`{"frequency": "day", "schedule": {"minutes": [77], "hours": [24]}}`}, []string{"schedule.minutes[0]: must be 0 to 59, got \"77\"\nchime: the rule's schedule.hours[0]: must be 0 to 23"}},
		"never":             {[]string{"0 0 30 2 *"}, []string{"no day has such a date", `"0 0 30 2 *"`}},
		"the rule's zone":   {[]string{"0 0 * * *", "--rule-zone", "Mars/Olympus"}, []string{"timeZone", `"Mars/Olympus"`}},
		"two zones":         {[]string{"TZ=Asia/Tokyo 0 0 * * *", "--rule-zone", "Europe/Berlin"}, []string{"--rule-zone", `"Asia/Tokyo"`}},
		"no rule":           {nil, []string{"RULE", "-f FILE"}},
		"two rules":         {[]string{"0 0 * * *", "-f", "x"}, []string{"RULE and --file", "one of them"}},
		"three arguments":   {[]string{"0", "0", "*"}, []string{"at most 1"}},
		"no file":           {[]string{"-f", "/nowhere/rule"}, []string{"--file", "/nowhere/rule"}},
		"none":              {[]string{"0 0 * * *", "-n", "0"}, []string{"--runs 0", "1 to 500"}},
		"too many":          {[]string{"0 0 * * *", "-n", "501"}, []string{"--runs 501", "1 to 500"}},
		"from":              {[]string{"0 0 * * *", "--from", "soon"}, []string{`--from "soon"`, "-2h or +3d"}},
		"until before from": {[]string{"0 0 * * *", "--until", "-1h"}, []string{`--until "-1h"`, "after --from"}},
		"created":           {[]string{"0 0 * * *", "--created", "2500-01-01"}, []string{"--created", "1900 to 2199"}},
		"far":               {[]string{`{"frequency": "second", "count": 2000000000}`, "--from", "2060-01-01"}, []string{"10000000", "later creation"}},
		"zone":              {[]string{"0 0 * * *", "--zone", "Berlin"}, []string{`--zone "Berlin"`, "IANA"}},
		"form":              {[]string{"0 0 * * *", "-o", "xml"}, []string{`--output "xml"`, "table, json, jsonl or name"}},
		"unknown":           {[]string{"0 0 * * *", "--utc", "--zone", "Asia/Tokyo"}, []string{"--utc and --zone"}},
		"flag":              {[]string{"0 0 * * *", "--form"}, []string{"unknown flag: --form", "chime next -h"}},
		"escapes":           {[]string{"\x1b[2J"}, []string{`\x1b[2J`}},
	} {
		for _, act := range []string{"next", "explain"} {
			got := berlin.Run(t, append([]string{act}, c.args...)...)
			if got.Code != 2 || got.Out != "" || strings.Contains(got.Err, "\x1b") {
				t.Errorf("%s %s: %+v, want exit 2", act, name, got)
			}
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "chime next", "chime "+act); !strings.Contains(got.Err, want) {
					t.Errorf("%s %s: %q does not say %q", act, name, got.Err, want)
				}
			}
		}
	}
}

// A user who gives --zone may have meant the zone of the rule.
func TestNextSaysThatARuleWithoutAZoneIsInUTC(t *testing.T) {
	const note = "the rule has no zone, so it is in UTC"
	for _, c := range []struct {
		args []string
		said bool
	}{
		{[]string{"0 9 * * *", "--zone", "America/New_York"}, true},
		{[]string{"0 9 * * *", "--zone", "America/New_York", "--rule-zone", "Europe/Berlin"}, false},
		{[]string{"TZ=Europe/Berlin 0 9 * * *", "--zone", "America/New_York"}, false},
		{[]string{"0 9 * * *", "--zone", "America/New_York", "--rule-zone", "UTC"}, false},
		{[]string{"0 9 * * *", "--zone", "UTC"}, false},
		{[]string{"0 9 * * *"}, false},
		{[]string{"0 9 * * *", "--zone", "America/New_York", "--json"}, false},
	} {
		got := berlin.Run(t, append([]string{"next", "-n", "1"}, c.args...)...)
		if got.Code != 0 || strings.Contains(got.Err, note) != c.said {
			t.Errorf("%q: exit %d, %q; want the note: %v", c.args, got.Code, got.Err, c.said)
		}
	}
}
