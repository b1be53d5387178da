package service

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

const (
	oldKey = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	newKey = "k2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
)

func ringOf(t *testing.T, text string) *action.Ring {
	t.Helper()
	ring, err := action.ParseRing(text)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestRekeySealsTheSecretsOfAllJobs(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		secret := with(job(hourly), func(j *resource.Job) {
			j.Action.ErrorAction = post()
			for _, a := range []*action.Action{j.Action, j.Action.ErrorAction} {
				a.Request.SecretHeaders = map[string]action.Secret{"X-Api": action.Plain("canary")}
			}
		})
		f.collect("other", &resource.Collection{})
		f.put(report, with(secret, func(j *resource.Job) { j.State = resource.Disabled }))
		f.put(jobIn("other", 1), secret)
		f.put(jobIn("other", 2), job(hourly))
		both := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey+" ,"+oldKey)})
		for run, want := range []int{2, 0} {
			if changed, err := both.Rekey(t.Context()); err != nil || changed != (Rekeyed{Changed: want}) {
				t.Errorf("call %d changed %+v, %v; want %d jobs", run, changed, err, want)
			}
		}
		if s, err := f.schedules.Get(t.Context(), report.Schedule()); err != nil || strings.Contains(string(s.Payload), "k1.") || !strings.Contains(string(s.Payload), "k2.") {
			t.Errorf("the payload is not sealed by the new key: %v", err)
		}
		if j := f.get(report); j.State != resource.Disabled {
			t.Errorf("afterwards %s, want it still disabled", text(j))
		}
		alone := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey)})
		before := f.get(report).Revision
		if j, _, err := alone.PutJob(t.Context(), report, Condition{}, false, func(*Job) (*resource.Job, error) { return secret, nil }); err != nil || j.Revision != before {
			t.Errorf("the same secrets, with the new key alone: %s, %v; want no change", text(j), err)
		}
		old := New(Options{Store: f.server.Store(), Secrets: ringOf(t, oldKey)})
		if _, err := old.Rekey(t.Context()); err == nil {
			t.Error("without the new key no secret can be opened, but there is no error")
		}
		_, err := New(Options{Store: f.server.Store()}).Rekey(t.Context())
		wantCode(t, "without keys", err, problem.SecretKeysMissing)
	})
}

func TestRekeyWakesNoJobThatHasEnded(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		f.work()
		for i, rule := range []string{"", `{"startTime": "2000-01-01T00:05:00Z"}`, `{"frequency": "minute", "count": 2}`, `{"frequency": "minute", "endTime": "2000-01-01T00:03:00Z"}`} {
			f.put(jobIn("demo", i), with(job(rule), func(j *resource.Job) {
				j.Action.Request.SecretHeaders = map[string]action.Secret{"X-Api": action.Plain("canary")}
			}))
		}
		time.Sleep(time.Hour) // fake time
		for i := range 4 {
			f.runs(jobIn("demo", i))
		}
		if changed, err := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey+" ,"+oldKey)}).Rekey(t.Context()); err != nil || changed != (Rekeyed{Changed: 4}) {
			t.Errorf("changed %+v, %v; want 4 jobs", changed, err)
		}
		time.Sleep(time.Hour) // fake time
		for i := range 4 {
			if ran, j := f.runs(jobIn("demo", i)), f.get(jobIn("demo", i)); len(ran) > 0 || j.State != resource.Completed {
				t.Errorf("job %d ran %v, and is %s; want it completed", i, ran, text(j))
			}
		}
	})
}
