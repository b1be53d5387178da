package service

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/recurrence"
)

// Preview returns for a job the same as next after the job is put.
func TestPreviewEqualsNext(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		time.Sleep(10*time.Minute + 300*time.Millisecond) // fake time
		made := 0
		for name, j := range map[string]*resource.Job{
			"by the hour":                job(hourly),
			"starting now":               job(`{"frequency": "hour"}`),
			"not now":                    with(job(`{"frequency": "hour"}`), func(j *resource.Job) { j.NoImmediateRun = true }),
			"cron, not now":              with(job(`{"cron": "*/5 * * * *"}`), func(j *resource.Job) { j.NoImmediateRun = true }),
			"cron":                       job(`{"cron": "*/5 * * * *"}`),
			"four times":                 job(`{"frequency": "hour", "count": 4}`),
			"four times, not now":        with(job(`{"frequency": "hour", "count": 4}`), func(j *resource.Job) { j.NoImmediateRun = true }),
			"once":                       job(`{"startTime": "2000-01-02"}`),
			"once, in the past":          job(`{"startTime": "1999-01-02"}`),
			"once, now":                  job(``),
			"once, now, not now":         with(job(``), func(j *resource.Job) { j.NoImmediateRun = true }),
			"once, in the past, not now": with(job(`{"startTime": "1999-01-02"}`), func(j *resource.Job) { j.NoImmediateRun = true }),
			"once, later, not now":       with(job(`{"startTime": "2001-01-02"}`), func(j *resource.Job) { j.NoImmediateRun = true }),
			"ended":                      job(`{"frequency": "hour", "startTime": "1999-01-01", "endTime": "1999-02-01"}`),
		} {
			next, words, err := f.Preview(t.Context(), j, 5)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			made++
			n := jobIn("demo", made)
			f.put(n, j)
			stored, text, err := f.NextOf(t.Context(), n, 5)
			same := func(a, b time.Time) bool { return a.Equal(b) }
			if err != nil || !slices.EqualFunc(next, stored, same) || words != text || text == "" {
				t.Errorf("%s: preview %v (%s), next %v (%s), %v", name, next, words, stored, text, err)
			}
		}
		_, _, err := f.Preview(t.Context(), with(job(hourly), func(j *resource.Job) { j.Action.Request.URI = "ftp://x" }), 5)
		wantCode(t, "a bad uri", err, "uri")
		_, _, err = f.Preview(t.Context(), with(job(hourly), func(j *resource.Job) {
			j.Action.Request.SecretHeaders = map[string]action.Secret{"X": action.Plain("canary")}
		}), 5)
		wantCode(t, "a secret without keys", err, problem.SecretKeysMissing)
		_, _, err = f.Preview(t.Context(), with(job(hourly), func(j *resource.Job) {
			j.Rule = recurrence.Recurrence{Frequency: recurrence.Month, StartTime: time.Now(), MonthDays: []int{31}, Months: []time.Month{time.February}}
		}), 5)
		wantCode(t, "a rule that never fires", err, "never_fires")
	})
}

// Anybody may send previews, so a preview does not open a file of PKCS #12, which can take any time.
func TestAPreviewOpensNoPFX(t *testing.T) {
	opened := 0
	open := func(context.Context, []byte, string) ([]byte, []byte, error) {
		opened++
		return nil, nil, errors.New("not a certificate")
	}
	ring, err := action.ParseRing("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	withPFX := with(job(hourly), func(j *resource.Job) {
		j.Action.Request.URI = "https://example.com/r"
		j.Action.Request.Authentication = &action.Authentication{Type: action.ClientCertificate, PFX: action.Plain("AAAA"), Password: action.Plain("pass")}
	})
	onService(t, Options{Secrets: ring, OpenPFX: open}, func(t *testing.T, f *fixture) {
		if next, _, err := f.Preview(t.Context(), withPFX, 5); err != nil || len(next) != 5 || opened != 0 {
			t.Errorf("the preview has %d runs, %v; %d files were opened, want none", len(next), err, opened)
		}
		_, _, err := f.tryPut(report, withPFX)
		wantCode(t, "a put opens it", err, "pfx")
		if opened != 1 {
			t.Errorf("a put has opened %d files, want 1", opened)
		}
	})
	onService(t, Options{Secrets: ring}, func(t *testing.T, f *fixture) {
		_, _, err := f.Preview(t.Context(), withPFX, 5)
		wantCode(t, "a server that opens none", err, "pfx")
	})
}

func TestARuleThatNeverFiresIsRefusedAndLeavesNoName(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		j := job(hourly)
		j.Rule.Interval = 5000
		_, _, err := f.tryPut(report, j)
		wantCode(t, "an interval of 5000", err, "interval_range")
		f.checkInvariant("afterwards")
	})
}
