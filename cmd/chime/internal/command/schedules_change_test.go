package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
)

// typing is a shop with a terminal and a user who types.
func (s *shop) typing(text string) commandtest.Terminal {
	at := s.Terminal
	at.Typed, at.Asks = text, true
	return at
}

// Without an answer, after No, with --read-only and without a terminal the command does nothing and exits with 4.
func TestNothingIsDoneThatNobodyWants(t *testing.T) {
	s := calendar(t)
	from, to := time.Now().Add(-50*time.Hour).UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339)
	asks := [][]string{
		{"put", "report", "0 9 * * *"}, {"put", "new", "0 9 * * *"}, {"delete", "report"}, {"delete", "report", "invoices"},
		{"backfill", "report", "--from", from, "--to", to},
	}
	for _, args := range asks {
		args = append([]string{"schedules"}, args...)
		before := []*chime.Schedule{s.schedule(t, "report"), s.schedule(t, "invoices")}
		wants{code: 4, err: []string{"[y/N]", "declined; nothing was changed"}}.check(t, s.typing("\n").Run(t, args...), args...)
		wants{code: 4, err: []string{"declined"}}.check(t, s.typing("no\n").Run(t, args...), args...)
		wants{code: 4, err: []string{"the input is not a terminal"}}.check(t, s.Run(t, args...), args...)
		wants{code: 4, err: []string{"--read-only"}}.check(t, s.Run(t, append(args, "-y", "--read-only")...), args...)
		for i, name := range []string{"report", "invoices"} {
			if now := s.schedule(t, name); now == nil || now.Revision != before[i].Revision || now.Counters != before[i].Counters {
				t.Errorf("%q has changed %s: %+v", args, name, now)
			}
		}
		if s.schedule(t, "new") != nil {
			t.Errorf("%q has created a schedule", args)
		}
	}
	for _, args := range [][]string{{"pause", "report"}, {"resume", "cleanup"}, {"trigger", "report"}} {
		args = append([]string{"schedules"}, args...)
		wants{code: 4, err: []string{"--read-only"}}.check(t, s.Run(t, append(args, "--read-only")...), args...)
	}
	if s.schedule(t, "report").State != chime.StateLive || s.schedule(t, "cleanup").State != chime.StatePaused {
		t.Error("a state has changed")
	}
}

func TestPutShowsWhatIsDifferent(t *testing.T) {
	s := calendar(t)
	args := []string{"schedules", "put", "report", "0 9 * * *", "--rule-zone", "Europe/Berlin", "--queue", "mail", "--job", "other"}
	before := s.schedule(t, "report")
	wants{
		out: []string{"Put schedule report: Every day at 09:00 Europe/Berlin time", ", next in "},
		err: []string{
			"rule             - Every 15 minutes", "                 + Every day at 09:00", "job_name         - \"report\"\n                 + \"other\"",
			"queue            - \"default\"\n                 + \"mail\"", "Change schedule report? [y/N] ",
		},
	}.check(t, s.typing("y\n").Run(t, args...), args...)
	if now := s.schedule(t, "report"); now.Queue != "mail" || now.JobName != "other" || now.Recurrence.Cron != "0 9 * * *" || now.Revision == before.Revision {
		t.Errorf("%+v", now)
	}
	wants{out: []string{"Schedule report is already defined so."}}.check(t, s.Run(t, args...), args...) // no question is needed

	args = []string{"schedules", "put", "new", `{"frequency": "day", "count": 3}`, "-y"}
	wants{out: []string{"Put schedule new: Every day, and once when created"}}.check(t, s.Run(t, args...), args...)
	if now := s.schedule(t, "new"); now == nil || now.Queue != "default" || now.JobName != "new" {
		t.Errorf("%+v", now)
	}
}

// Put does not change what it does not name: arguments, policies, headers.
func TestPutLeavesTheRestAsItIs(t *testing.T) {
	s := emptyShop(t)
	s.put(t, "s", "0 9 * * *", chime.Args(map[string]int{"customer": 7}), chime.Overlap(chime.OverlapAllow), chime.Grace(time.Hour), chime.PauseAfter(3), chime.MaxAttempts(2),
		chime.Header("tenant", "acme"), chime.Meta(json.RawMessage(`{"a":1}`)), chime.Retry(chime.Exponential(time.Second, time.Minute)), chime.OnDone(chime.Item{Name: "next"}), chime.OnDeath(chime.Item{Name: "sorry"}))
	args := []string{"schedules", "put", "s", "0 10 * * *", "--rule-zone", "Europe/Berlin", "-y"}
	wants{out: []string{"at 10:00"}}.check(t, s.Run(t, args...), args...)
	now := s.schedule(t, "s")
	var customer map[string]int
	if err := now.Decode(&customer); err != nil || customer["customer"] != 7 || now.Overlap != chime.OverlapAllow || now.Grace != time.Hour || now.PauseAfter != 3 ||
		now.MaxAttempts != 2 || now.Header["tenant"] != "acme" || string(now.Meta) != `{"a":1}` || now.OnDone != "next" || now.OnDeath != "sorry" || now.Retry.String() == "" {
		type fields chime.Schedule
		t.Errorf("%v, %v: %+v", err, customer, fields(*now))
	}
}

// Another store can import an export, and its own export is equal.
func TestWhatIsExportedCanBePut(t *testing.T) {
	s, other := emptyShop(t), emptyShop(t)
	s.put(t, "s", "0 9 * * *", chime.Args(map[string]int{"customer": 7}), chime.Overlap(chime.OverlapWait), chime.Misfire(chime.MisfireSkip), chime.Grace(time.Hour),
		chime.PauseAfter(3), chime.MaxAttempts(2), chime.Header("tenant", "acme"), chime.Meta(json.RawMessage(`{"a":1}`)), chime.Timeout(time.Minute), chime.Keep(time.Hour),
		chime.Retry(chime.Exponential(time.Second, time.Minute)), chime.KeepRuns(0), chime.Spread(time.Minute), chime.NoImmediateRun(), chime.Queue("mail"))
	exported := s.Run(t, "schedules", "export", "s", "--payload")
	at := other.Terminal
	at.Typed = exported.Out
	wants{out: []string{"Put schedule s"}}.check(t, at.Run(t, "schedules", "put", "s", "-f", "-", "-y"))
	if again := other.Run(t, "schedules", "export", "s", "--payload"); again.Out != exported.Out || again.Code != 0 {
		t.Errorf("exported\n%s, then\n%s", exported.Out, again.Out)
	}
	if plain := s.Run(t, "schedules", "export", "s"); strings.Contains(plain.Out, "payload") || !strings.Contains(plain.Out, `"misfire": "skip"`) {
		t.Errorf("without --payload: %s", plain.Out)
	}
	if all := s.Run(t, "schedules", "export"); !strings.Contains(all.Out, `"items": [`) {
		t.Errorf("all: %s", all.Out)
	}
	at.Typed = `{"rule": "0 10 * * *", "pause_after": 0, "args": {"customer": 8}}`
	wants{out: []string{"at 10:00"}}.check(t, at.Run(t, "schedules", "put", "s", "-f", "-", "-y"))
	now := other.schedule(t, "s")
	var customer struct{ Customer int }
	if err := now.Decode(&customer); err != nil || customer.Customer != 8 || now.PauseAfter != 0 || now.MaxAttempts != 2 {
		t.Errorf("%v: %+v", err, now)
	}
}

func TestPutRefusesWhatIsWrong(t *testing.T) {
	s := calendar(t)
	file := filepath.Join(t.TempDir(), "definition.json")
	for text, want := range map[string]string{
		`{"rule": "61 * * * *"}`: "the rule's cron: minute 61", `{"rule": {"frequency": "dy"}}`: "the rule's frequency", `{"rule": "@daily", "ovrlap": "skip"}`: `unknown field "ovrlap"`,
		`{"rule": "@daily"} x`: "nothing after it", `{"rule": "@daily", "name": "other"}`: `has the name "other"`, `{"rule": "@daily", "args": 1, "payload": "AA=="}`: "args and payload",
		`{"rule": "@daily", "grace_ms": 1}`: "grace 1ms: want 1s to 8760h", `{"rule": "@daily", "overlap": "both"}`: "skip, wait, cancel or allow", `{"rule": 7}`: "the rule", `{`: "the rule",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		wants{code: 2, err: []string{want}}.check(t, s.Run(t, "schedules", "put", "report", "-f", file, "-y"), text)
	}
	for want, args := range map[string][]string{
		"no day has such a date": {"report", "0 0 30 2 *"}, "RULE": {"report"}, "--revision 0": {"report", "@daily", "--revision", "0"}, "name": {"\x01", "@daily"},
		`timeZone`: {"report", "@daily", "--rule-zone", "Nowhere"}, "queue": {"report", "@daily", "--queue", "\x01"},
	} {
		wants{code: 2, err: []string{want}}.check(t, s.Run(t, append([]string{"schedules", "put", "-y"}, args...)...), args...)
	}
	wants{code: 4, err: []string{"--revision 7", "is at revision", "nothing was changed"}}.check(t, s.Run(t, "schedules", "put", "report", "@daily", "--revision", "7", "-y"))
	wants{code: 3, err: []string{`schedule "reprot": not found`}}.check(t, s.Run(t, "schedules", "put", "reprot", "@daily", "--revision", "7", "-y"))
	if now := s.schedule(t, "report"); now.Recurrence.Cron != "*/15 * * * *" {
		t.Errorf("changed: %+v", now)
	}
}

func TestSchedulesArePausedAndResumed(t *testing.T) {
	s := calendar(t)
	s.Env["USER"] = "ben"
	wants{out: []string{"report    paused\ninvoices  paused\n"}}.check(t, s.Run(t, "schedules", "pause", "report", "invoices", "report", "--note", "move"))
	if now := s.schedule(t, "report"); now.State != chime.StatePaused || now.Note.Text != "move" || now.Note.By != "ben" {
		t.Errorf("%+v", now)
	}
	wants{code: 6, out: []string{"report  resumed"}, err: []string{`schedule "gone": not found`}}.check(t, s.Run(t, "schedules", "resume", "gone", "report"))
	if now := s.schedule(t, "report"); now.State != chime.StateLive {
		t.Errorf("%+v", now)
	}
	wants{code: 3, err: []string{`schedule "reprot": not found; did you mean "report"?`}}.check(t, s.Run(t, "schedules", "pause", "reprot"))
	wants{code: 2, err: []string{"Note.Text", "500 bytes"}}.check(t, s.Run(t, "schedules", "pause", "report", "--note", strings.Repeat("x", 501)))
	wants{code: 2, err: []string{"at least 1"}}.check(t, s.Run(t, "schedules", "pause"))
	if got := s.Run(t, "schedules", "pause", "report", "--json"); !strings.Contains(got.Out, `"result": "paused"`) {
		t.Errorf("%+v", got)
	}
}

func TestSchedulesAreDeleted(t *testing.T) {
	s := calendar(t)
	wants{out: []string{"report  deleted"}, err: []string{"Delete schedule report? [y/N]"}}.check(t, s.typing("y\n").Run(t, "schedules", "delete", "report"))
	wants{out: []string{"invoices  deleted"}, err: []string{"Delete 2 schedules and all of its jobs"}, code: 6}.check(t, s.typing("y\n").Run(t, "schedules", "delete", "invoices", "report", "--waiting"))
	wants{code: 3, err: []string{`schedule "report": not found`}}.check(t, s.Run(t, "schedules", "delete", "report"))
	if got, want := s.names(t), "backup cleanup once"; got != want {
		t.Errorf("left: %s, want %s", got, want)
	}
}

func TestAScheduleIsTriggered(t *testing.T) {
	s := emptyShop(t)
	s.put(t, "report", "0 9 1 1 *", chime.Args("nobody"), chime.Paused(chime.Note{}))
	got := s.Run(t, "schedules", "trigger", "report", "-o", "name")
	if got.Code != 0 || !strings.HasPrefix(got.Out, "default/report#") {
		t.Fatalf("%+v", got)
	}
	who := make(chan string, 3)
	worker := chime.NewWorker(s.store, chime.WorkerOptions{Logger: quiet})
	worker.Handle("report", func(_ context.Context, job *chime.Job) error {
		var name string
		err := job.Decode(&name)
		who <- name
		if name == "eve" {
			return chime.Discard(errors.New("no \x1b[31mpaper"))
		}
		return err
	})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- chime.Run(ctx, worker) }()
	wants{out: []string{"Job default/report#", "ended: done."}}.check(t, s.Run(t, "schedules", "trigger", "report", "--args", `"anna"`, "--wait"))
	wants{code: 1, out: []string{"ended: dead."}, err: []string{`ended as dead: no \x1b[31mpaper`}}.check(t, s.Run(t, "schedules", "trigger", "report", "--args", `"eve"`, "--wait"))
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if got := []string{<-who, <-who, <-who}; strings.Join(got, " ") != "nobody anna eve" {
		t.Errorf("ran for %q", got)
	}
	wants{code: 124, err: []string{"has not ended within 1ms; it was triggered all the same"}}.check(t, s.Run(t, "schedules", "trigger", "report", "--wait", "--for", "1ms"))
	wants{code: 2, err: []string{"--args: want JSON"}}.check(t, s.Run(t, "schedules", "trigger", "report", "--args", "anna"))
	wants{code: 2, err: []string{"--for 0s"}}.check(t, s.Run(t, "schedules", "trigger", "report", "--for", "0s"))
	wants{code: 3, err: []string{`did you mean "report"?`}}.check(t, s.Run(t, "schedules", "trigger", "repor"))
}

func TestThePastIsBackfilled(t *testing.T) {
	s := emptyShop(t)
	s.put(t, "hourly", "0 * * * *")
	now := time.Now().UTC()
	begin := now.Truncate(time.Hour).Add(-1200 * time.Hour)
	args := []string{"schedules", "backfill", "hourly", "--from", begin.Format(time.RFC3339), "--to", now.Truncate(time.Hour).Format(time.RFC3339)}
	const plan = "1,200 occurrences, from "
	wants{out: []string{"Backfilling runs " + plan}}.check(t, s.Run(t, append(args, "--dry-run", "--read-only")...), args...)
	if got := s.Run(t, append(args, "--dry-run", "--json")...); !strings.Contains(got.Out, `"count": 1200`) || !strings.Contains(got.Out, `"first": "`+begin.Format(time.RFC3339)) {
		t.Errorf("%+v", got)
	}
	wants{err: []string{"hourly: " + plan, "Those that ran before run again.\n", "Run them? [y/N]"}, out: []string{"Placed 1,200 occurrences.\n"}}.check(t, s.typing("y\n").Run(t, args...), args...)
	wants{out: []string{"Placed 0 occurrences; 1,200 wait or run already and were not changed."}, err: []string{plan}}.check(t, s.Run(t, append(args, "-y")...), args...)
	wants{out: []string{"no occurrence"}}.check(t, s.Run(t, "schedules", "backfill", "hourly", "--from", "+2d", "--to", "+3d", "-y"))
	for want, args := range map[string][]string{
		"want --from and --to": {"hourly", "--from", "-2h"}, `--to "-3h"`: {"hourly", "--from", "-2h", "--to", "-3h"}, `--from "soon"`: {"hourly", "--from", "soon", "--to", "now"},
	} {
		wants{code: 2, err: []string{want}}.check(t, s.Run(t, append([]string{"schedules", "backfill"}, args...)...), args...)
	}
	wants{code: 3, err: []string{`did you mean "hourly"?`}}.check(t, s.Run(t, "schedules", "backfill", "hourl", "--from", "-2h", "--to", "now"))
}

func TestWithoutAStoreTheCommandExitsWith5(t *testing.T) {
	at := commandtest.Terminal{Env: map[string]string{"REDIS_URL": "redis://127.0.0.1:1"}}
	for _, args := range [][]string{{"list"}, {"put", "x", "@daily", "-y"}, {"delete", "x", "-y"}} {
		wants{code: 5, err: []string{"127.0.0.1:1"}}.check(t, at.Run(t, append([]string{"schedules"}, args...)...), args...)
	}
}

// The question about a new schedule says whether it runs at once.
func TestTheQuestionOfPutShowsTheRunAtCreation(t *testing.T) {
	s := newShop(t)
	at := s.Terminal
	at.Asks, at.Typed = true, "n\n"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a rule without a start": {[]string{`{"frequency": "hour"}`}, "Create schedule x? It runs now, when it is created."},
		"without it":             {[]string{`{"frequency": "hour"}`, "--no-immediate-run"}, "Create schedule x?"},
		"immediateRun":           {[]string{`{"frequency": "hour", "immediateRun": false}`}, "Create schedule x?"},
		"@every":                 {[]string{"@every 1h"}, "Create schedule x?"},
		"a cron line":            {[]string{"0 9 * * *"}, "Create schedule x?"},
	} {
		got := at.Run(t, append([]string{"schedules", "put", "x"}, c.args...)...)
		if !strings.Contains(got.Err, c.want) || strings.Contains(got.Err, "runs now") != strings.Contains(c.want, "runs now") {
			t.Errorf("%s: it asks %q, want %q", name, got.Err, c.want)
		}
	}
	args := []string{"schedules", "put", "x", "@every 1h", "--no-immediate-run", "--overlap", "wait", "--misfire", "skip", "--grace", "2m", "--spread", "3m", "--timeout", "4m",
		"--pause-after", "5", "--keep-runs", "6", "--max-attempts", "7", "-y"}
	wants{out: []string{"Put schedule x"}}.check(t, s.Run(t, args...), args...)
	got, err := chime.NewSchedules(s.store).Get(t.Context(), "x")
	if err != nil || !got.NoImmediateRun || got.Overlap != chime.OverlapWait || got.Misfire != chime.MisfireSkip || got.Grace != 2*time.Minute || got.Spread != 3*time.Minute ||
		got.Timeout != 4*time.Minute || got.PauseAfter != 5 || got.KeepRuns != 6 || got.MaxAttempts != 7 {
		t.Errorf("put %+v, %v", got, err)
	}
}
