package action

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

var demoReport = Place{"demo", "report"}

// sealedAction is a sealed action with a password and an error action with a secret header. Its destination is allowed.
func sealedAction(t *testing.T, ring *Ring, uri string) *Action {
	t.Helper()
	a := to(uri, func(r *Request) {
		r.Body, r.Authentication, r.Timeout = "pay 1 EUR", &Authentication{Type: Basic, Username: "anna", Password: Plain("canary")}, Interval(time.Minute)
		r.SecretHeaders = map[string]Secret{"X-Key": Plain("canary"), "X-Other": Plain("canary")}
	})
	a.RetryPolicy = &RetryPolicy{Type: RetryNone}
	a.ErrorAction = to(uri, func(r *Request) { r.SecretHeaders = map[string]Secret{"X-Key": Plain("canary")} })
	if problems := a.Prepare(t.Context(), nil); len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := a.Seal(ring, demoReport, nil); err != nil {
		t.Fatal(err)
	}
	return a
}

// Each of these is what somebody can do with a sealed secret who may write to Redis, or run a schedule with other arguments.
func TestASealedSecretOpensInNoOtherAction(t *testing.T) {
	r, other := receive(t, nil), receive(t, nil)
	sender := senderTo(t, r.Server, other.Server)
	for name, change := range map[string]func(*Action){
		"another host":            func(a *Action) { a.Request.URI = other.URL },
		"another path":            func(a *Action) { a.Request.URI += "/users" },
		"another query":           func(a *Action) { a.Request.URI += "?all=1" },
		"another method":          func(a *Action) { a.Request.Method = "DELETE" },
		"another body":            func(a *Action) { a.Request.Body = "pay 1,000,000 EUR" },
		"another header":          func(a *Action) { a.Request.Headers = map[string]string{"X-Forwarded-To": "me"} },
		"another user":            func(a *Action) { a.Request.Authentication.Username = "root" },
		"the secrets swapped":     func(a *Action) { h := a.Request.SecretHeaders; h["X-Key"], h["X-Other"] = h["X-Other"], h["X-Key"] },
		"without another secret":  func(a *Action) { delete(a.Request.SecretHeaders, "X-Other") },
		"in the query":            func(a *Action) { a.Request.SecretQuery = map[string]Secret{"key": a.Request.SecretHeaders["X-Key"]} },
		"redirects":               func(a *Action) { a.Request.Redirects = 5 },
		"other success codes":     func(a *Action) { a.Request.SuccessCodes = []string{"200-499"} },
		"another timeout":         func(a *Action) { a.Request.Timeout = 0 },
		"another type":            func(a *Action) { a.Type = HTTP },
		"another retry policy":    func(a *Action) { a.RetryPolicy = nil },
		"the body of the answer":  func(a *Action) { a.Excerpt = ExcerptAlways },
		"the error action's text": func(a *Action) { a.Request.SecretHeaders["X-Key"] = a.ErrorAction.Request.SecretHeaders["X-Key"] },
		"as the error action":     func(a *Action) { *a = *a.follow() },
	} {
		t.Run(name, func(t *testing.T) {
			a := sealedAction(t, testRing(t), r.URL)
			change(a)
			a.ErrorAction = nil
			job := jobOf(t, to(r.URL, nil))
			job.Payload = []byte(encoded(t, a))
			w := chimetest.Work(t, sender.Handle, job)
			if failed := (*SealedError)(nil); !errors.As(w.Err, &failed) || !strings.HasPrefix(failed.Field, mainPath) || w.Note != "" {
				t.Errorf("%v, note %q", w.Outcome, w.Note)
			}
		})
	}
	for _, r := range []*receiver{r, other} {
		if requests, _ := r.requests(); len(requests) > 0 {
			t.Errorf("%d requests were sent", len(requests))
		}
	}
	a := sealedAction(t, testRing(t), r.URL)
	main, follow := jobOf(t, to(r.URL, nil)), jobOf(t, to(r.URL, nil))
	stored := *a
	stored.ErrorAction = nil
	main.Payload, follow.Payload = []byte(encoded(t, &stored)), []byte(encoded(t, a.follow()))
	follow.Schedule, follow.Death = "", &chime.JobInfo{Schedule: "demo:report"}
	for name, job := range map[string]*chime.Job{"the action": main, "its error action, which inherits the retry policy": follow} {
		if w := chimetest.Work(t, sender.Handle, job); w.Action != chime.Succeeded {
			t.Errorf("%s: %v", name, w.Err)
		}
	}
}

// A client changes an action and leaves the secret out: it is sealed again for the changed action, and the stored text of the old one no longer fits.
func TestAKeptSecretIsSealedForTheChangedAction(t *testing.T) {
	for name, change := range map[string]func(*Action){
		"the path":                         func(a *Action) { a.Request.URI += "/users" },
		"the body":                         func(a *Action) { a.Request.Body = "" },
		"the retry policy, which both use": func(a *Action) { a.RetryPolicy = nil },
	} {
		ring := testRing(t)
		stored := sealedAction(t, ring, "https://example.com/")
		changed := stored.Public()
		change(changed)
		if problems := changed.Keep(stored); len(problems) > 0 {
			t.Fatal(problems)
		}
		if err := changed.Seal(ring, demoReport, stored); err != nil {
			t.Fatal(err)
		}
		for path, a := range map[string]*Action{mainPath: changed, errorPath: changed.follow()} {
			opened, err := a.open(ring, demoReport, path)
			if err != nil || opened.Request.SecretHeaders["X-Key"].text != "canary" {
				t.Errorf("%s changes: %s: %v", name, path, err)
			}
		}
		if changed.Request.Authentication.Password == stored.Request.Authentication.Password {
			t.Errorf("%s changes: the password has the old seal", name)
		}
		lost := changed.Public()
		change(lost)
		lost.Request.Body = "again another"
		lost.Keep(changed)
		failed := (*SealedError)(nil)
		if err := lost.Seal(testRing(t, keyText("k9", 9)), demoReport, changed); !errors.As(err, &failed) {
			t.Errorf("%s changes: without the key: %v", name, err)
		}
	}
}

// The versions of seals × what a process writes and opens: release is the one before, which knows version 1 only.
func TestAProcessOpensTheSealsOfEveryVersionThatItAllows(t *testing.T) {
	ring := testRing(t)
	for _, test := range []struct {
		name            string
		writes, opens   int // the process that seals
		version         int
		atNew, atLatest bool // opened by a process that allows both versions, and by one that wants version 2
	}{
		{"before rekey", 1, 1, 1, true, false},
		{"after rekey", 2, 1, 2, true, true},
		{"with -sealed 2, before rekey", 1, 2, 2, true, true},
		{"with -sealed 2, after rekey", 2, 2, 2, true, true},
	} {
		a := sealedAction(t, ring.Sealing(test.writes, test.opens), "https://example.com/")
		if got := a.Request.Authentication.Password.version(); got != test.version {
			t.Errorf("%s: version %d, want %d", test.name, got, test.version)
		}
		if _, err := a.open(ring.Sealing(1, 1), demoReport, mainPath); (err == nil) != test.atNew {
			t.Errorf("%s: a process that allows both versions: %v", test.name, err)
		}
		if _, err := a.open(ring.Sealing(2, 2), demoReport, mainPath); (err == nil) != test.atLatest || !test.atLatest && !errors.Is(err, errOldSeal) {
			t.Errorf("%s: a process that wants version 2: %v", test.name, err)
		}
		again := a.Clone()
		changed, err := again.Rekey(ring, demoReport)
		if err != nil || changed != (test.version == 1) || a.Outdated(ring) != changed || again.Outdated(ring) || again.Request.Authentication.Password.version() != 2 {
			t.Errorf("%s: rekey has changed it: %v, %v", test.name, changed, err)
		}
		if _, err := again.open(ring.Sealing(2, 2), demoReport, mainPath); err != nil {
			t.Errorf("%s: after rekey: %v", test.name, err)
		}
	}
}

// If the store has lost that rekey was run, version 1 is written again. What has version 2 keeps it, also after a change.
func TestASecretNeverGoesBackToAnOlderVersion(t *testing.T) {
	ring := testRing(t)
	stored := sealedAction(t, ring, "https://example.com/")
	changed := stored.Public()
	changed.Request.Body = "another"
	changed.Keep(stored)
	if err := changed.Seal(ring.Sealing(1, 1), demoReport, stored); err != nil || changed.Request.Authentication.Password.version() != 2 {
		t.Errorf("version %d, %v", changed.Request.Authentication.Password.version(), err)
	}
}

// An equal PUT stores equal bytes, in each version, also between the two.
func TestAnEqualActionKeepsItsSeals(t *testing.T) {
	ring := testRing(t)
	for _, versions := range [][2]int{{1, 1}, {2, 2}, {1, 2}, {2, 1}} {
		stored := sealedAction(t, ring.Sealing(versions[0], 1), "https://example.com/")
		kept := stored.Public()
		kept.Keep(stored)
		plain := sealedAction(t, ring, "https://example.com/") // to be replaced by plain texts
		for path, a := range map[string]*Action{mainPath: plain, errorPath: plain.ErrorAction} {
			for name := range a.Request.SecretHeaders {
				a.Request.SecretHeaders[name] = Plain("canary")
			}
			if path == mainPath {
				a.Request.Authentication.Password = Plain("canary")
			}
		}
		for name, a := range map[string]*Action{"kept": kept, "given again": plain} {
			if err := a.Seal(ring.Sealing(versions[1], 1), demoReport, stored); err != nil || encoded(t, a) != encoded(t, stored) {
				t.Errorf("sealed in version %d, %s in version %d: the bytes differ, %v", versions[0], name, versions[1], err)
			}
		}
	}
}
