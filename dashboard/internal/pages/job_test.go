package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// jobPage returns the page of a job.
func jobPage(t *testing.T, site *Site, queue, id string) *Job {
	t.Helper()
	view, err := readPage(t, site.Job, "", "queue", queue, "id", id)
	if err != nil {
		t.Fatalf("%s of %s: %v", id, queue, err)
	}
	return view.Model.(*Job)
}

func (m *Job) story() string {
	var lines []string
	for _, a := range m.Attempts {
		lines = append(lines, fmt.Sprintf("%d %s", a.Number, a.State.Word))
	}
	return strings.Join(lines, ", ")
}

func TestThePageOfAJobShowsItsAttempts(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		for _, c := range []struct{ queue, id, sentence, story, verbs string }{
			{"media", "again", "Its 2nd of 25 attempts is due in 59m 5", "1 failed", "requeue cancel delete"},
			{"media", "r03", "It died ", "1 dead", "requeue delete"},
			{"media", "parked", "It waits for a worker that has a handler for it.", "", "requeue cancel delete"},
			{"mail", "slow", "A worker has been running its 1st attempt for ", "1 running", "cancel"},
			{"idle", "l0", "Its 1st attempt is due in ", "", "requeue cancel delete"},
		} {
			m := jobPage(t, site, c.queue, c.id)
			var verbs []string
			for _, verb := range m.Verbs {
				verbs = append(verbs, verb.Name)
			}
			if !strings.HasPrefix(m.Standing.Sentence, c.sentence) || m.story() != c.story || strings.Join(verbs, " ") != c.verbs {
				t.Errorf("%s: got %q, %q, %v; want %+v", c.id, m.Standing.Sentence, m.story(), verbs, c)
			}
			if m.Payload != nil || m.Held[0] != (Held{"Payload", 17}) {
				t.Errorf("%s: the page has its payload %q, or not its size: %v", c.id, m.Payload, m.Held)
			}
		}
		if m := jobPage(t, site, "media", "again"); m.Attempts[0].Error != "mailbox is full\n\tat smtp.go:12" || m.Attempts[0].Stack != "" || m.Attempts[0].Worker == "" || m.Headers[0].Value != hostile {
			t.Errorf("got %+v, headers %v", m.Attempts[0], m.Headers)
		}
		if m := jobPage(t, site, "mail", "slow"); m.Percent != 62 {
			t.Errorf("the progress of the running job is %d %%, want 62", m.Percent)
		}
		for _, place := range [][2]string{{"media", "nothing"}, {"nowhere", "r03"}, {"media", "nosuch@2026-11-21T09:00:00Z"}} {
			if _, err := readPage(t, site.Job, "", "queue", place[0], "id", place[1]); !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("%v: got %v, want ErrNotFound", place, err)
			}
		}
	})
}

// The kept run of a schedule is shown after its job is gone, with the duration of each attempt.
func TestAJobThatIsGoneIsShownFromItsSchedule(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		rule, err := recurrence.Cron("0 0 * * *")
		if err != nil {
			t.Fatal(err)
		}
		schedules := chime.NewSchedules(store)
		if _, err := schedules.Put(t.Context(), "mail", rule, chime.Queue("media")); err != nil {
			t.Fatal(err)
		}
		receipt, err := schedules.Trigger(t.Context(), "mail")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chime.NewJobs(store).Cancel(t.Context(), "media", receipt.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // fake time: its worker has received it
		site := NewSite(store, Hooks{})
		m := jobPage(t, site, "media", receipt.ID)
		if !m.Gone || m.Name != "mail" || len(m.Attempts) == 0 || len(m.Verbs) > 0 || m.Reveal {
			t.Errorf("got %+v, attempts %+v", m.JobInfo, m.Attempts)
		}
	})
}

// The page of a failed job begins with the last error, and only its stack is open.
func TestTheNewestAttemptComesFirst(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	job := &chime.JobInfo{ID: "a", State: chime.JobRunning, Attempt: 4, Started: at.Add(time.Hour), Failures: []chime.Failure{
		{At: at, Error: `first\n\tmain.go:1`}, {At: at.Add(time.Minute), Error: `second\n\tmain.go:2`}, {At: at.Add(2 * time.Minute), Error: "third"}}}
	attempts, earlier := (&Site{}).attemptsOf(job, nil)
	var got []string
	for _, a := range attempts {
		got = append(got, fmt.Sprintf("%d %s %q %q %v", a.Number, a.State.Word, a.Error, a.Stack, a.Last))
	}
	want := []string{`4 running "" "" false`, `3 failed "third" "" true`, `2 failed "second" "\tmain.go:2" false`, `1 failed "first" "\tmain.go:1" false`}
	if !slices.Equal(got, want) || earlier != 0 {
		t.Errorf("got %q, %d earlier; want %q", got, earlier, want)
	}
}

// The history of a schedule keeps the first 200 bytes of an error. The page shows what the job itself keeps, and each attempt once.
func TestThePageOfAnOccurrenceHasItsWholeErrors(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		rule, err := recurrence.Cron("0 0 1 7 *")
		if err != nil {
			t.Fatal(err)
		}
		rule.NoImmediateRun = true
		schedules := chime.NewSchedules(store)
		if _, err := schedules.Put(t.Context(), "yearly", rule, chime.JobName("import")); err != nil {
			t.Fatal(err)
		}
		receipt, err := schedules.Trigger(t.Context(), "yearly")
		if err != nil {
			t.Fatal(err)
		}
		row := strings.Repeat("row\t", 200)
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
		worker.Handle("import", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 3 {
				panic(row)
			}
			return fmt.Errorf("attempt %d:\n%s", job.Attempt, row)
		}, chime.Backoff(func(int) time.Duration { return time.Minute }), chime.MaxAttempts(3))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute) // fake time
		defer stop()
		if err := chime.Run(ctx, worker); err != nil {
			t.Fatal(err)
		}
		m := jobPage(t, NewSite(store, Hooks{}), "default", receipt.ID)
		var got []string
		for _, a := range m.Attempts {
			got = append(got, fmt.Sprintf("%d %s %.8s %v %v %v %v", a.Number, a.State.Word, a.Error, len(a.Error), a.Stack != "", a.Last, a.Started.IsZero()))
		}
		want := []string{"3 dead panic: r 807 true true false", "2 failed attempt  500 false false false", "1 failed attempt  500 false false false"}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !strings.HasPrefix(m.Attempts[1].Error, "attempt 2:\nrow\t") {
			t.Errorf("the error is %q, want its lines", m.Attempts[1].Error)
		}
	})
}

// An attempt that a script ended has another instant in the history. Attempts that the history has lost come from the job.
func TestAnAttemptIsShownOnce(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	job := &chime.JobInfo{ID: "a", State: chime.JobDead, Attempt: 3, LastError: "no worker came", Failures: []chime.Failure{
		{At: at, Error: "first"}, {At: at.Add(time.Minute), Error: "second"}, {At: at.Add(2 * time.Minute), Error: "no worker came"}}}
	runs := []*chime.RunInfo{
		{Outcome: chime.RunDead, Ended: at.Add(2*time.Minute + 3*time.Second), Error: "no work…"},
		{Outcome: chime.RunSnoozed, Ended: at.Add(90 * time.Second), Attempt: 3},
		{Outcome: chime.RunFailed, Ended: at.Add(time.Minute), Attempt: 2, Error: "second"},
	}
	attempts, _ := (&Site{}).attemptsOf(job, runs)
	var got []string
	for _, a := range attempts {
		got = append(got, fmt.Sprintf("%d %s %s", a.Number, a.State.Word, a.Error))
	}
	if want := []string{"0 dead no worker came", "3 snoozed ", "2 failed second", "1 failed first"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinksLeadToPagesOnly(t *testing.T) {
	hooks := Hooks{Links: func(job *chime.JobInfo) []Link {
		return []Link{{"Trace", "https://trace.example/" + job.ID}, {"bad", "javascript:alert(1)"}, {"data", "data:text/html,x"}, {"here", "/jobs"}, {"http", "http://logs.example"}, {"none", "http:"}}
	}}
	var got []string
	for _, link := range hooks.links(&chime.JobInfo{ID: "a"}) {
		got = append(got, link.Text)
	}
	if strings.Join(got, " ") != "Trace http" {
		t.Errorf("got %v, want those of https and http", got)
	}
}

func TestWhatAJobHoldsIsShownToWhoAsks(t *testing.T) {
	encode := func(v any) []byte {
		data, err := chime.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	big := strings.Repeat("x", maxRevealed)
	hide := func(_ *chime.JobInfo, payload any) any {
		if fields, ok := payload.(map[string]any); ok {
			delete(fields, "password")
			return fields
		}
		return "hidden"
	}
	for name, c := range map[string]struct {
		data             []byte
		redact           func(*chime.JobInfo, any) any
		form, text, note string
	}{
		"msgpack":           {encode(map[string]any{"id": int64(9007199254740993)}), nil, "JSON", "{\n  \"id\": 9007199254740993\n}", ""},
		"JSON":              {[]byte(`{"id":9007199254740993,"a":"<b>"}`), nil, "JSON", `"id": 9007199254740993`, ""},
		"JSON of one digit": {encode(json.RawMessage("5")), nil, "JSON", "5", ""},
		"the byte of 5":     {encode(53), nil, "JSON", "53", ""},
		"number keys":       {encode(map[int]string{7: "a"}), nil, "JSON", `"7": "a"`, ""},
		"neither":           {[]byte{0xc1, 0xff}, nil, "hexadecimal", "c1ff", ""},
		"long":              {encode(big), nil, "JSON", `"xxx`, "These are the first 65,536 of 65,538 bytes"},
		"long bytes":        {append([]byte{0xc1}, big...), nil, "hexadecimal", "c178", "These are the first 32,768 of 65,537 bytes"},
		"redacted":          {encode(map[string]any{"id": 1, "password": "canary"}), hide, "JSON", "{\n  \"id\": 1\n}", ""},
		"redacted, neither": {append([]byte{0xc1}, "canary"...), hide, "", "", "is not shown"},
		"redacted wrongly":  {encode("canary"), func(*chime.JobInfo, any) any { return func() {} }, "", "", "is not shown"},
	} {
		form, text, note := Hooks{Redact: c.redact}.shown(&chime.JobInfo{}, c.data)
		if form != c.form || !strings.Contains(text, c.text) || !strings.Contains(note, c.note) || (note == "") != (c.note == "") || len(text) > maxRevealed+3 || strings.Contains(text, "canary") {
			t.Errorf("%s: got %q, %.80q, %q; want %+v", name, form, text, note, c.form+" "+c.text+" "+c.note)
		}
	}
}
