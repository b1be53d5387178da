package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// xored is a cipher for tests.
func xored(b []byte) []byte {
	out := make([]byte, len(b), len(b)+1)
	for i := range b {
		out[i] = b[i] ^ 0x55
	}
	return append(out, 0)
}

func failedJob() Envelope {
	at := time.UnixMilli(1_780_000_000_000).UTC()
	return Envelope{
		Name: "a", Payload: []byte("canary"), Planned: at, MaxAttempts: 3, Failures: 3, LastError: "canary 3", Stack: "canary\n\tat", Expires: at,
		Details: &Details{Failures: []Failure{{at, "w1", "canary 1"}, {at, "w2", "canary 2"}, {at.Add(1e9), "w1", "canary 3"}}, Keep: time.Second},
	}
}

func TestASealedEnvelopeHasNoPlainTextAndOpens(t *testing.T) {
	job, want := failedJob(), failedJob()
	plain := want.Encode()
	failures := job.Details.Failures
	texts := job.TakeErrors()
	job.Sealed, job.Payload, job.Details.Sealed = xored(job.Payload), nil, xored(texts)
	if failures[0].Error != "canary 1" {
		t.Error("taking the errors has changed memory that others share")
	}
	body := job.Encode()
	if bytes.Contains(body, []byte("canary")) || body[0] != ExpiringVersion|SealedFlag {
		t.Fatalf("the body is %q", body)
	}
	got, err := DecodeEnvelope(body)
	if err != nil || got.Payload != nil || got.LastError != "" || got.Failures != 3 || len(got.Details.Failures) != 3 || got.Details.Failures[1].Worker != "w2" || got.Expires.IsZero() {
		t.Fatalf("read as %+v, %v", got, err)
	}
	if again := got.Encode(); !bytes.Equal(again, body) {
		t.Errorf("written again as %q, want %q", again, body)
	}
	got.Payload, got.Sealed = xored(got.Sealed[:len(got.Sealed)-1]), nil
	got.Payload = got.Payload[:len(got.Payload)-1]
	sealed := got.Details.Sealed
	got.Details.Sealed = nil
	opened := xored(sealed[:len(sealed)-1])
	if err := got.GiveErrors(opened[:len(opened)-1]); err != nil {
		t.Fatal(err)
	}
	if again := got.Encode(); !bytes.Equal(again, plain) {
		t.Errorf("opened as %q, want %q", again, plain)
	}
}

// A sweeper without the key adds a failure, and drops the oldest one.
func TestTextsFindTheirFailures(t *testing.T) {
	job := failedJob()
	texts := job.TakeErrors()
	job.LastError = "no worker"
	for range 3 {
		job.Details.AddFailure(Failure{At: time.UnixMilli(1_780_000_009_000).UTC(), Error: "no worker"})
	}
	if err := job.GiveErrors(texts); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range job.Details.Failures {
		got = append(got, f.Error)
	}
	if strings.Join(got, ", ") != "canary 1, canary 3, no worker, no worker, no worker" && strings.Join(got, ", ") != "canary 2, canary 3, no worker, no worker, no worker" || job.LastError != "no worker" {
		t.Errorf("the failures are %q, the last error %q", got, job.LastError)
	}
}

func TestASealedResultIsANewerOneForProgramsThatDoNotKnowIt(t *testing.T) {
	r := &Result{Name: "a", Attempt: 1, Error: "canary", Note: "canary", Value: []byte("canary"), Ended: time.UnixMilli(5).UTC()}
	secrets := r.TakeSecrets()
	r.Sealed = xored(secrets)
	body := r.Encode()
	if bytes.Contains(body, []byte("canary")) || body[0] <= Version {
		t.Fatalf("the body is %q", body)
	}
	got, err := DecodeResult(body)
	if err != nil || got.Value != nil || got.Note != "" || !bytes.Equal(got.Sealed, r.Sealed) || got.Name != "a" {
		t.Fatalf("read as %+v, %v", got, err)
	}
	if err := got.GiveSecrets(secrets); err != nil || string(got.Value) != "canary" || got.Note != "canary" || got.Error != "canary" {
		t.Errorf("opened as %+v, %v", got, err)
	}
	if _, err := DecodeResult(append([]byte{Version}, body[1:]...)); err == nil {
		t.Error("a sealed result without its version was read, without a value")
	}
	if _, err := DecodeResult([]byte{Version + 1}); !errors.Is(err, ErrNewerVersion) {
		t.Errorf("a newer result: %v", err)
	}
}

func TestASealedBodyOfAnotherVersionIsNewer(t *testing.T) {
	job := Envelope{Name: "a", Sealed: []byte{1}}
	body := job.Encode()
	for _, version := range []byte{3, 15, 3 | SealedFlag, 32, 32 | SealedFlag, 255} {
		body[0] = version
		if got, err := DecodeEnvelope(body); !errors.Is(err, ErrNewerVersion) || got.Name != "a" {
			t.Errorf("version %d: %+v, %v", version, got, err)
		}
	}
	body[0] = SealedFlag
	if _, err := DecodeEnvelope(body); err == nil || errors.Is(err, ErrNewerVersion) {
		t.Errorf("version %d: %v", SealedFlag, err)
	}
	empty := Envelope{Name: "a", Sealed: []byte{}}
	if got, err := DecodeEnvelope(empty.Encode()); err == nil {
		t.Errorf("a sealed body without anything sealed was read as %+v", got)
	}
}

func TestProgressIsMarkedAsSealed(t *testing.T) {
	for _, v := range []any{nil, 0.5, "cs1", []byte("cs1"), map[string]int{"a": 1}} {
		progress, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := CutSealedProgress(progress); ok {
			t.Errorf("%v is taken for sealed progress", v)
		}
	}
	if sealed, ok := CutSealedProgress(SealedProgress([]byte("x"))); !ok || !reflect.DeepEqual(sealed, []byte("x")) {
		t.Errorf("got %q, %v", sealed, ok)
	}
}
