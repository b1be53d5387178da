package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// put creates a schedule.
func (s *shop) put(t *testing.T, name, rule string, options ...chime.PutOption) *chime.Schedule {
	t.Helper()
	rec := recurrence.Recurrence{Cron: rule, TimeZone: "Europe/Berlin"}
	if strings.HasPrefix(rule, "{") {
		rec = recurrence.MustParse(rule)
	}
	put, err := chime.NewSchedules(s.store).Put(t.Context(), name, rec, options...)
	if err != nil {
		t.Fatal(err)
	}
	return put
}

// schedule returns a schedule of the store, or nil.
func (s *shop) schedule(t *testing.T, name string) *chime.Schedule {
	t.Helper()
	found, err := chime.NewSchedules(s.store).Get(t.Context(), name)
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		t.Fatal(err)
	}
	return found
}

// calendar is a shop with a schedule in each state: report is live, invoices failing, cleanup paused, once completed, backup live for once a year.
func calendar(t *testing.T) *shop {
	t.Helper()
	s := emptyShop(t)
	s.Zone = "Europe/Berlin"
	s.put(t, "report", "*/15 * * * *", chime.Queue("default"))
	s.put(t, "cleanup", "0 2 * * *", chime.Paused(chime.Note{Text: "migration\x1b[2J", By: "anna"}), chime.Queue("night"))
	s.put(t, "invoices", `{"frequency": "month", "schedule": {"monthDays": [-1], "hours": [18], "minutes": [0]}}`, chime.Queue("mail"), chime.MaxAttempts(1))
	s.put(t, "once", `{"startTime": "2020-01-01"}`, chime.Queue("mail"))
	s.work(t, 2, map[string]chime.Handler{
		"invoices": func(context.Context, *chime.Job) error { return errors.New("no \x1b[31mpaper\nin the tray") },
		"once":     func(context.Context, *chime.Job) error { return nil },
	}, "mail")
	s.put(t, "backup", "0 3 1 1 *", chime.Queue("night"), chime.Group("acme"))
	return s
}

func (s *shop) names(t *testing.T, args ...string) string {
	t.Helper()
	got := s.Run(t, append([]string{"schedules", "list", "-o", "name"}, args...)...)
	if got.Code != 0 {
		t.Errorf("%q: exit %d: %s", args, got.Code, got.Err)
	}
	return strings.Join(strings.Fields(got.Out), " ")
}

func TestSchedulesAreListedByState(t *testing.T) {
	s := calendar(t)
	for _, c := range []struct{ args, want string }{
		{"", "backup cleanup invoices once report"},
		{"--state live", "backup invoices report"},
		{"--state paused", "cleanup"},
		{"--state completed", "once"},
		{"--state failing", "invoices"},
		{"--state late", ""},
		{"--queue mail", "invoices once"},
		{"--owner nobody", ""},
		{"--group acme", "backup"},
		{"--group acme --sort next", "backup"},
		{"--group acm", ""},
		{"re", "report"},
		{"--limit 2", "backup cleanup"},
		{"--limit 2 --after cleanup", "invoices once"},
		{"--sort next --limit 1", "report"},
		{"--sort last --limit 2", "once invoices"},
		{"--sort next --limit 1 --after report", "invoices"},
	} {
		got := s.names(t, strings.Fields(c.args)...)
		if c.args == "--sort last --limit 2" && got == "invoices once" {
			continue // they ended in the same moment
		}
		if got != c.want {
			t.Errorf("list %s: got %q, want %q", c.args, got, c.want)
		}
	}
}

func TestAListOfSchedulesSaysHowTheyStand(t *testing.T) {
	s := calendar(t)
	got := s.Run(t, "schedules", "list")
	wants{out: []string{
		"times are Europe/Berlin (CE", "SCHEDULE  STATE        QUEUE", "LATE p99  FAILED 24h",
		"report    ⚠ no worker  default  Every 15 minutes, Europe/Berlin time", "invoices  ✕ failing    mail",
		"‖ paused     night", "once      ✓ completed  mail", "dead ", "done ",
	}}.check(t, got, "schedules", "list")
	if note := regexp.MustCompile(`paused by anna (now|\d+s ago): migration\\x1b\[2J`); !note.MatchString(got.Out) {
		t.Errorf("printed\n%s\nwithout %s", got.Out, note)
	}
	for _, line := range strings.Split(got.Out, "\n") {
		if strings.HasPrefix(line, "invoices") && !strings.HasSuffix(line, " 1") {
			t.Errorf("one run of invoices has failed: %s", line)
		}
	}
	if got := s.Run(t, "schedules", "list", "--limit", "2"); !strings.HasSuffix(got.Out, "\nThere are more: add --after cleanup\n") {
		t.Errorf("a page ends with %q", got.Out)
	}
	got = s.Run(t, "schedules", "list", "--state", "failing", "--json")
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(got.Out), &list); err != nil || len(list.Items) != 1 {
		t.Fatal(err, got)
	}
	for field, want := range map[string]any{"name": "invoices", "state": "live", "stands": "failing", "failed_24h": 1.0, "failed_24h_at_least": nil} {
		if list.Items[0][field] != want {
			t.Errorf("%s: got %v, want %v", field, list.Items[0][field], want)
		}
	}
}

func TestAListHasAnOrder(t *testing.T) {
	s := emptyShop(t)
	for i := range 5 {
		s.put(t, fmt.Sprintf("s%d", 5-i), fmt.Sprintf("%d 0 1 1 *", i))
	}
	if got, want := s.names(t, "--sort", "next"), "s5 s4 s3 s2 s1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.names(t, "--sort", "late"), "s1 s2 s3 s4 s5"; got != want {
		t.Errorf("none has run: got %s, want %s", got, want)
	}
	wants{code: 2, err: []string{`--after "gone"`, "start again"}}.check(t, s.Run(t, "schedules", "list", "--sort", "next", "--after", "gone"))
}

func TestWhatIsWrongWithAListIsSaid(t *testing.T) {
	s := emptyShop(t)
	for args, want := range map[string]string{
		"--state late,live": `--state "late,live": want live, paused, completed, failing, late`, "--sort age": `--sort "age": want name, next`,
		"--limit 0": "--limit 0: want 1 to 500", "--limit 501": "--limit 501: want 1 to 500", "--queue \x01": "ScheduleFilter.Queue",
	} {
		wants{code: 2, err: []string{want}}.check(t, s.Run(t, append([]string{"schedules", "list"}, strings.Fields(args)...)...), args)
	}
	wants{code: 2, err: []string{`unknown command "lst" for "chime schedules"; did you mean "list"?`}}.check(t, s.Run(t, "schedules", "lst"))
	wants{code: 2, err: []string{`unknown command "shedules" for "chime"; did you mean "schedules"?`}}.check(t, s.Run(t, "shedules"))
	wants{code: 2, err: []string{`unknown command "purg" for "chime queues"`}}.check(t, s.Run(t, "queues", "purg"))
	wants{out: []string{"Rules, without a store:"}}.check(t, s.Run(t))
	wants{out: []string{"history", "Show, put, pause"}}.check(t, s.Run(t, "schedules", "-h"))
}

func TestAnEmptyListSaysWhatNoScheduleHas(t *testing.T) {
	s := emptyShop(t)
	says := func(want string, args ...string) {
		t.Helper()
		if got := s.Run(t, append([]string{"schedules", "list"}, args...)...); got.Code != 0 || got.Err != want+"\n" {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
	says("there is no schedule")
	s.put(t, "acme.report", "0 0 * * *")
	says("no schedule matches", "--state", "paused")
	says(`no schedule's name begins with "report"`, "report")
	says(`no schedule that matches the flags has a name that begins with "acme"`, "acme", "--state", "paused")
	says(`no schedule's name behind "acme.report" begins with "acme"`, "acme", "--after", "acme.report")
	if got := s.names(t, "acme.r"); got != "acme.report" {
		t.Errorf("got %s, want acme.report", got)
	}
	wants{out: []string{"those whose names begin with TEXT"}}.check(t, s.Run(t, "schedules", "list", "-h"))
}

func TestShowSaysAllAboutASchedule(t *testing.T) {
	s := calendar(t)
	args := []string{"schedules", "show", "cleanup"}
	wants{out: []string{
		"cleanup  ‖ paused    times are Europe/Berlin", "Every day at 02:00 Europe/Berlin time", `it was paused by anna, because of`, `\x1b[2J`,
		"Job        cleanup on queue night", "Overlap    An occurrence", "Misfire    An occurrence is missed if no worker has taken it 1m after it is due. If",
		"Attempts   A job is tried 5 times, unless its handler or worker", `Rule       {"timeZone":"Europe/Berlin","cron":"0 2 * * *"}`, "Revision   ",
	}}.check(t, s.Run(t, args...), args...)
	args = []string{"schedules", "show", "invoices"}
	wants{out: []string{"✕ failing", "Next       ", "Last       ✕ dead  ", "Attempts   A job is tried once.", "2 placed, 1 started, 1 failed attempts, 1 dead"}}.check(t, s.Run(t, args...), args...)
	got := s.Run(t, "schedules", "show", "report", "--json")
	var value map[string]any
	if err := json.Unmarshal([]byte(got.Out), &value); err != nil || value["name"] != "report" || value["stands"] != "live" || len(value["upcoming"].([]any)) != 5 {
		t.Errorf("%v: %s", err, got.Out)
	}
}

func TestHistoryTellsHowRunsEnded(t *testing.T) {
	s := calendar(t)
	args := []string{"schedules", "history", "invoices"}
	wants{out: []string{"PLANNED", "OUTCOME", "✕ dead", `no \x1b[31mpaper`, "ms  "}}.check(t, s.Run(t, args...), args...)
	if got := s.Run(t, append(args, "--outcome", "done")...); got.Err != "no such run is kept\n" || strings.Contains(got.Out, "dead") {
		t.Errorf("%+v", got)
	}
	wants{code: 2, err: []string{`--outcome "good": want done, failed`}}.check(t, s.Run(t, append(args, "--outcome", "good")...))
	wants{code: 2, err: []string{`--runs 1001: want 1 to 1000`}}.check(t, s.Run(t, append(args, "-n", "1001")...))
	if got := s.Run(t, append(args, "-o", "jsonl")...); !strings.Contains(got.Out, `"outcome":"dead"`) || strings.Count(got.Out, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}

// An occurrence that runs long after its instant because a user triggered it is not late.
func TestHistoryMarksWhatWasBackfilled(t *testing.T) {
	s := emptyShop(t)
	s.put(t, "report", "0 * * * *", chime.Overlap(chime.OverlapAllow))
	to := time.Now().UTC().Truncate(time.Hour)
	args := []string{"schedules", "backfill", "report", "-y", "--from", to.Add(-2 * time.Hour).Format(time.RFC3339), "--to", to.Format(time.RFC3339)}
	wants{out: []string{"Placed 2 occurrences.\n"}, err: []string{"Those that ran before run again."}}.check(t, s.Run(t, args...), args...)
	wants{out: []string{"Placed 0 occurrences; 2 wait or run already and were not changed.\n"}, err: []string{"2 occurrences"}}.check(t, s.Run(t, args...), args...)
	s.work(t, 2, map[string]chime.Handler{"report": func(context.Context, *chime.Job) error { return nil }}, "default")
	got := s.Run(t, "schedules", "history", "report")
	if strings.Count(got.Out, " UTC backfilled ") != 2 || strings.Contains(got.Out, "h ") {
		t.Errorf("history: %+v", got)
	}
	if got := s.Run(t, "schedules", "list", "--json"); got.Code != 0 || strings.Contains(got.Out, "late_p99_ms") {
		t.Errorf("list: %+v", got)
	}
}

func TestANameThatIsNotThereIsSuggested(t *testing.T) {
	s := calendar(t)
	for _, act := range []string{"show", "history", "export"} {
		for name, want := range map[string]string{"reprot": `schedule "reprot": not found; did you mean "report"?`, "xeport": `did you mean "report"?`, "zzz": "not found\n"} {
			wants{code: 3, err: []string{want}}.check(t, s.Run(t, "schedules", act, name), act, name)
		}
	}
}

func TestSchedulesAreCompletedInShells(t *testing.T) {
	s := calendar(t)
	for _, c := range []struct{ args, want string }{
		{"show re", "report"}, {"show report ", ""}, {"history in", "invoices"}, {"export report ", "backup cleanup invoices once"},
		{"list --state fa", "failing"}, {"list --sort n", "name next"}, {"list --queue n", "night"}, {"history x --outcome do", "done"},
	} {
		args := append([]string{"__complete", "schedules"}, strings.Split(c.args, " ")...)
		got := s.Run(t, args...)
		words, _, _ := strings.Cut(got.Out, ":")
		if got := strings.Join(strings.Fields(words), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
}
