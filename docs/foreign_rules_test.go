package docs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

//go:generate go test -run WhatOthersWrite . -update

const (
	foreignBegin = "<!-- rules of others: go generate ./docs -->\n"
	foreignEnd   = "<!-- /rules of others -->\n"
)

// A need is something that people want, with the rule for it and the texts that other programs have for it. runs are its first runs after 1 January
// 2026, 00:00 UTC, worked out from a calendar on the wall.
type need struct {
	title, json, runs string
	texts             []foreignText
}

// A foreignText is what a program has for a need. If read is nil, nothing here reads it: the reader writes the rule of the need, and note has the rest.
type foreignText struct {
	program, text, note string
	read                func(string) (recurrence.Recurrence, error)
	reader              string
}

func inRRule(text string) foreignText {
	return foreignText{program: "RFC 5545", text: text, read: recurrence.FromRRule, reader: "`FromRRule`"}
}

func inQuartz(text string) foreignText {
	return foreignText{program: "Quartz", text: text, read: recurrence.FromQuartz, reader: "`FromQuartz`"}
}

func inSpring(text string) foreignText {
	return foreignText{program: "Spring", text: text, read: recurrence.FromSpring, reader: "`FromSpring`"}
}

func inRobfig(text string) foreignText {
	return foreignText{program: "robfig/cron with seconds", text: text, read: recurrence.FromRobfig, reader: "`FromRobfig`"}
}

func inAWS(text string) foreignText {
	return foreignText{program: "Amazon EventBridge", text: text, read: recurrence.FromAWS, reader: "`FromAWS`"}
}

func inKubernetes(text string) foreignText {
	return foreignText{program: "Kubernetes, cron", text: text, read: recurrence.Cron, reader: "`Cron`"}
}

func inTemporal(text string) foreignText {
	return foreignText{program: "Temporal", text: text, read: recurrence.Cron, reader: "`Cron`"}
}

func inSystemd(text string) foreignText {
	return foreignText{program: "systemd", text: "OnCalendar=" + text}
}

func inJenkins(text string) foreignText { return foreignText{program: "Jenkins", text: text} }

func (f foreignText) noting(note string) foreignText {
	f.note = note
	return f
}

// inZone sets the zone that the program has outside the text.
func (f foreignText) inZone(note string) foreignText {
	read := f.read
	f.note = note
	f.read = func(text string) (recurrence.Recurrence, error) {
		rule, err := read(text)
		rule.TimeZone = "Europe/Berlin"
		return rule, err
	}
	return f
}

const start = `DTSTART:20260101T000000Z\n`

var needs = []need{
	{"Every working day at nine", `{"frequency": "week", "schedule": {"minutes": [0], "hours": [9], "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"]}, "immediateRun": false}`,
		"Thu 1 Jan 2026 09:00 UTC · Fri 2 Jan 2026 09:00 UTC · Mon 5 Jan 2026 09:00 UTC", []foreignText{
			inRRule(start + "RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9"), inQuartz("0 0 9 ? * MON-FRI"), inSpring("0 0 9 * * MON-FRI"), inRobfig("0 0 9 * * 1-5"),
			inAWS("cron(0 9 ? * MON-FRI *)"), inKubernetes("0 9 * * 1-5"), inTemporal("0 9 * * 1-5"), inSystemd("Mon..Fri 09:00 UTC"),
			inJenkins("H 9 * * 1-5").noting("and `chime.Spread(time.Hour)`: like `H` it gives each schedule its own minute"),
		}},
	{"Every quarter of an hour", `{"cron": "*/15 * * * *"}`,
		"Thu 1 Jan 2026 00:15 UTC · Thu 1 Jan 2026 00:30 UTC · Thu 1 Jan 2026 00:45 UTC", []foreignText{
			inRRule(start + "RRULE:FREQ=MINUTELY;INTERVAL=15"), inQuartz("0 0/15 * * * ?"), inSpring("0 */15 * * * *"), inRobfig("0 */15 * * * *"),
			inAWS("cron(0/15 * * * ? *)"), inKubernetes("*/15 * * * *"), inTemporal("*/15 * * * *"), inSystemd("*:0/15"),
			inJenkins("H/15 * * * *").noting("and `chime.Spread(15 * time.Minute)`"),
		}},
	{"Every 90 minutes", `{"frequency": "minute", "interval": 90, "immediateRun": false}`,
		"Thu 1 Jan 2026 01:30 UTC · Thu 1 Jan 2026 03:00 UTC · Thu 1 Jan 2026 04:30 UTC", []foreignText{
			inRRule(start + "RRULE:FREQ=MINUTELY;INTERVAL=90"), inRobfig("@every 90m"), inAWS("rate(90 minutes)"),
			foreignText{program: "Temporal", text: "@every 90m", note: `and "startTime": "1970-01-01T00:00:00Z", from which Temporal counts`},
			foreignText{program: "systemd", text: "OnUnitActiveSec=90min", note: "systemd counts from the last start of the unit; chime from the creation, across restarts"},
		}},
	{"The last day of the month", `{"frequency": "month", "schedule": {"minutes": [0], "hours": [18], "monthDays": [-1]}, "immediateRun": false}`,
		"Sat 31 Jan 2026 18:00 UTC · Sat 28 Feb 2026 18:00 UTC · Tue 31 Mar 2026 18:00 UTC", []foreignText{
			inRRule(start + "RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=18"), inQuartz("0 0 18 L * ?"), inSpring("0 0 18 L * *"), inAWS("cron(0 18 L * ? *)"), inSystemd("*-*~01 18:00 UTC"),
		}},
	{"The last working day of the month", `{"frequency": "month", "schedule": {"minutes": [0], "hours": [18], "positions": [-1]}, "except": [{"weekDays": ["saturday", "sunday"]}], "immediateRun": false}`,
		"Fri 30 Jan 2026 18:00 UTC · Fri 27 Feb 2026 18:00 UTC · Tue 31 Mar 2026 18:00 UTC", []foreignText{
			inRRule(start + "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=18"), inQuartz("0 0 18 LW * ?"), inSpring("0 0 18 LW * *"),
		}},
	{"The working day nearest to the 15th", `{"frequency": "month", "schedule": {"minutes": [15], "hours": [10], "monthDays": [15]}, "except": [{"weekDays": ["saturday", "sunday"]}], "shift": "nearestInMonth", "immediateRun": false}`,
		"Thu 15 Jan 2026 10:15 UTC · Mon 16 Feb 2026 10:15 UTC · Mon 16 Mar 2026 10:15 UTC", []foreignText{
			inQuartz("0 15 10 15W * ?"), inSpring("0 15 10 15W * *"), inAWS("cron(15 10 15W * ? *)"),
		}},
	{"The second Tuesday of the month", `{"frequency": "month", "schedule": {"minutes": [0], "hours": [3], "monthlyOccurrences": [{"day": "tuesday", "occurrence": 2}]}, "immediateRun": false}`,
		"Tue 13 Jan 2026 03:00 UTC · Tue 10 Feb 2026 03:00 UTC · Tue 10 Mar 2026 03:00 UTC", []foreignText{
			inRRule(start + "RRULE:FREQ=MONTHLY;BYDAY=2TU;BYHOUR=3"), inQuartz("0 0 3 ? * 3#2"), inSpring("0 0 3 * * TUE#2"), inAWS("cron(0 3 ? * 3#2 *)"),
			foreignText{program: "Temporal", text: "0 3 8-14 * 2", note: "in Temporal both day fields must match; in `Cron` one of them is enough"},
			inSystemd("Tue *-*-8..14 03:00 UTC"),
		}},
	{"Every second Thursday", `{"startTime": "2026-01-08T00:00:00Z", "frequency": "week", "interval": 2, "schedule": {"minutes": [0], "hours": [9], "weekDays": ["thursday"]}}`,
		"Thu 8 Jan 2026 09:00 UTC · Thu 22 Jan 2026 09:00 UTC · Thu 5 Feb 2026 09:00 UTC", []foreignText{
			inRRule(`DTSTART:20260108T090000Z\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TH`),
		}},
	{"Every night at half past two in Berlin", `{"frequency": "day", "schedule": {"minutes": [30], "hours": [2]}, "timeZone": "Europe/Berlin", "immediateRun": false}`,
		"Thu 1 Jan 2026 02:30 CET · Fri 2 Jan 2026 02:30 CET · Sat 3 Jan 2026 02:30 CET", []foreignText{
			inRRule(`DTSTART;TZID=Europe/Berlin:20260101T023000\nRRULE:FREQ=DAILY`), inQuartz("0 30 2 * * ?").inZone("the zone of the trigger becomes `TimeZone`"),
			inSpring("0 30 2 * * *").inZone("`zone` becomes `TimeZone`"), inRobfig("CRON_TZ=Europe/Berlin 0 30 2 * * *"),
			inAWS("cron(30 2 * * ? *)").inZone("`ScheduleExpressionTimezone` becomes `TimeZone`"), inKubernetes("30 2 * * *").inZone("`.spec.timeZone` becomes `TimeZone`"),
			inTemporal("CRON_TZ=Europe/Berlin 30 2 * * *"), inSystemd("*-*-* 02:30 Europe/Berlin"), inJenkins(`TZ=Europe/Berlin\n30 2 * * *`),
		}},
	{"Once, on 24 December 2026", `{"startTime": "2026-12-24T13:00:00Z"}`,
		"Thu 24 Dec 2026 13:00 UTC", []foreignText{
			inQuartz("0 0 13 24 12 ? 2026"), inAWS("at(2026-12-24T13:00:00)"), inSystemd("2026-12-24 13:00 UTC"),
		}},
}

// What other programs have for a need, and what the functions that read it return, has the runs of the rule that the page shows.
func TestWhatOthersWriteBecomesTheRuleOfThePage(t *testing.T) {
	var page strings.Builder
	for _, n := range needs {
		rule, err := recurrence.Parse([]byte(n.json))
		if err != nil {
			t.Fatalf("%s: %v", n.title, err)
		}
		canonical, err := rule.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if got := spaced(canonical); got != n.json {
			t.Errorf("%s: the canonical form is\n%s, not\n%s", n.title, got, n.json)
		}
		if got := firstThree(t, rule); got != n.runs {
			t.Errorf("%s: runs %s, want %s", n.title, got, n.runs)
		}
		fmt.Fprintf(&page, "\n#### %s\n\n```json\n%s\n```\n\nNext: %s\n\n| program | what you have | what reads it |\n|---|---|---|\n", n.title, n.json, n.runs)
		for _, f := range n.texts {
			reader := f.reader
			if f.read == nil {
				reader = "nothing; write the rule"
			} else {
				read, err := f.read(strings.ReplaceAll(f.text, `\n`, "\n"))
				if err != nil {
					t.Errorf("%s: %s: %v", n.title, f.text, err)
				} else if got := firstThree(t, read); got != n.runs {
					t.Errorf("%s: %s: runs %s, want %s", n.title, f.text, got, n.runs)
				}
			}
			if f.note != "" {
				reader += "; " + f.note
			}
			fmt.Fprintf(&page, "| %s | `%s` | %s |\n", f.program, f.text, reader)
		}
	}
	generated(t, "calendar.md", foreignBegin, foreignEnd, page.String())
}

// firstThree returns the first three runs after the beginning of 2026.
func firstThree(t *testing.T, rule recurrence.Recurrence) string {
	t.Helper()
	runs, err := rule.NextN(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), 3)
	if err != nil {
		t.Fatalf("%v: %v", rule, err)
	}
	var shown []string
	for _, run := range runs {
		shown = append(shown, run.Format("Mon 2 Jan 2006 15:04 MST"))
	}
	return strings.Join(shown, " · ")
}
