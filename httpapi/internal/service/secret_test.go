package service

import (
	"testing"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A writer cannot make the service send a stored password to another host, neither by a put nor by a patch.
func TestAStoredSecretIsSentToNobodyElse(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		first := f.put(report, with(job(hourly), func(j *resource.Job) {
			j.Action.Request.Authentication = &action.Authentication{Type: action.Basic, Username: "u", Password: action.Plain("canary")}
			j.Action.Request.Signing = &action.Signing{Secret: action.Plain("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
				PreviousSecret: action.Plain("whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=")}
		}))
		patch := func(text string) (*Job, error) {
			j, _, err := f.PutJob(t.Context(), report, Condition{}, true, func(old *Job) (*resource.Job, error) {
				patched, mistakes := old.Job.Patch([]byte(text), report)
				if len(mistakes) > 0 {
					return nil, problem.Invalid(mistakes)
				}
				return patched, nil
			})
			return j, err
		}
		for _, text := range []string{
			`{"action": {"request": {"uri": "https://evil.example/"}}}`,
			`{"action": {"request": {"authentication": {"username": "other"}}}}`,
			`{"action": {"request": {"authentication": {"password": null}}}}`,
		} {
			_, err := patch(text)
			wantCode(t, text, err, "secret_required")
		}
		_, _, err := f.tryPut(report, with(job(hourly), func(j *resource.Job) {
			j.Action.Request.URI = "https://evil.example/"
			j.Action.Request.Authentication = &action.Authentication{Type: action.Basic, Username: "u"}
		}))
		wantCode(t, "a put without the password", err, "secret_required")
		if j, err := patch(`{"chime": {"history": {"keep": 100}}}`); err != nil || j.Revision != first.Revision {
			t.Errorf("a patch that changes nothing: %s, %v; want revision %d", text(j), err, first.Revision)
		}
		if j, err := patch(`{"action": {"request": {"signing": {"previousSecret": null}}}}`); err != nil || !j.Job.Action.Request.Signing.PreviousSecret.IsZero() || j.Job.Action.Request.Signing.Secret.IsZero() {
			t.Errorf("the end of a rotation: %s, %v", text(j), err)
		}
		if j, err := patch(`{"state": "disabled"}`); err != nil || j.State != resource.Disabled {
			t.Errorf("a state: %s, %v", text(j), err)
		}
		if j, err := patch(`{"recurrence": {"frequency": "day"}}`); err != nil || j.State != resource.Disabled || j.Job.Action.Request.Authentication.Password.IsZero() {
			t.Errorf("a rule: %s, %v; want it still disabled", text(j), err)
		}
	})
}
