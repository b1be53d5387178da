package chime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

func TestLatenessIsNeverNegative(t *testing.T) {
	planned := time.Unix(1000, 0)
	for _, test := range []struct {
		job  Job
		want time.Duration
	}{
		{Job{Planned: planned, Started: planned.Add(time.Second)}, time.Second},
		{Job{Planned: planned, Started: planned.Add(-time.Second)}, 0},
		{Job{Started: planned}, 0},
		{Job{Planned: planned}, 0},
	} {
		if got := test.job.Lateness(); got != test.want {
			t.Errorf("planned %v, started %v: %v late, want %v", test.job.Planned, test.job.Started, got, test.want)
		}
	}
}

func TestOnlyPayloadsThatNeverDecodeDiscardTheJob(t *testing.T) {
	for _, c := range []struct {
		payload []byte
		target  any
		want    Action
	}{
		{[]byte{0xc1}, new(any), Discarded},
		{[]byte(`{"a":1}`), new([]string), Discarded},
		{[]byte{0x80}, nil, Retried},
		{[]byte{0x80}, struct{}{}, Retried},
	} {
		err := (&Job{Payload: c.payload}).Decode(c.target)
		if err == nil || OutcomeOf(err).Action != c.want {
			t.Errorf("decode %q into %T: %v, want an error that makes the job %v", c.payload, c.target, err, c.want)
		}
	}
}

func TestEncodeIsTheOtherHalfOfDecode(t *testing.T) {
	type args struct {
		Customer string `json:"customer"`
	}
	payload, err := Encode(args{"c1"})
	if err != nil {
		t.Fatal(err)
	}
	var got args
	if err := (&Job{Payload: payload}).Decode(&got); err != nil || got.Customer != "c1" {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if _, err := Encode(func() {}); err == nil || !strings.HasPrefix(err.Error(), "chime: encode func(): ") {
		t.Errorf("encode a function: %v, want an error that names its type", err)
	}
}

// A handler that runs for long keeps a few KiB, and not the memory of the jobs that ran beside it.
func TestALongJobKeepsNothingOfTheOthers(t *testing.T) {
	const others = 5_000
	store := newBenchStore(others + 1)
	w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2})
	ctx, stop := context.WithCancel(t.Context())
	var ran, freed atomic.Int64
	enough, long := make(chan struct{}), make(chan struct{})
	w.Handle("work", func(ctx context.Context, job *Job) error {
		n := ran.Add(1)
		if n == 1 {
			<-long
			runtime.KeepAlive(ctx)
			runtime.KeepAlive(job)
			return nil
		}
		runtime.AddCleanup(&job.Payload[0], func(*atomic.Int64) { freed.Add(1) }, &freed)
		if n == others+1 {
			close(enough)
		}
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-enough
	limit := time.After(20 * time.Second)
	for freed.Load() < others*9/10 {
		runtime.GC()
		select {
		case <-limit:
			t.Fatalf("while one job runs, %d of %d others are free, want nine of ten", freed.Load(), others)
		case <-time.After(time.Millisecond):
		}
	}
	close(long)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

const canary = "canary-4711"

// leaks reports whether a text has the canary, in any form in which fmt or JSON write bytes.
func leaks(text string) bool {
	for _, form := range []string{canary, "99 97 110", "0x63, 0x61", "63616e617279", "63616E617279", "Y2FuYXJ5"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// The arguments of a job, a schedule or an item are never printed, by value or by pointer, alone or inside something else.
func TestNothingPrintedHasThePayload(t *testing.T) {
	job := Job{ID: "1", Name: "report", Queue: "default", Schedule: "nightly", Payload: []byte(canary)}
	schedule := Schedule{Name: "nightly", JobName: "report", Recurrence: recurrence.Recurrence{Cron: "@daily"}, Payload: []byte(canary)}
	item := Item{Name: "report", Args: canary, Options: []EnqueueOption{Queue("low")}}
	for name, v := range map[string]any{
		"a job": job, "a pointer to a job": &job, "jobs": []Job{job}, "jobs by name": map[string]Job{"a": job}, "pointers": []*Job{&job},
		"a job in a struct": struct{ Job Job }{job}, "an embedded job": struct{ *Job }{&job},
		"a schedule": schedule, "a pointer to a schedule": &schedule, "schedules": []Schedule{schedule}, "a schedule in a struct": struct{ S *Schedule }{&schedule},
		"an item": item, "a pointer to an item": &item, "items": []Item{item},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%10.3v"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("x", "v", v)
			slog.New(handler).Info("x", slog.Group("g", "v", v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out.Write(text)
		if leaks(out.String()) {
			t.Errorf("%s: %s", name, out.String())
		}
		if !strings.Contains(out.String(), "report") {
			t.Errorf("%s: the text does not identify it: %s", name, out.String())
		}
	}
}

func TestADelayedJobThatHasFailedOrCrashedIsRetrying(t *testing.T) {
	at := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state             string
		failures, crashes int
		want              JobState
		attempt           int
	}{
		{protocol.JobDelayed, 0, 0, JobDelayed, 1},
		{protocol.JobDelayed, 2, 0, JobRetrying, 3},
		{protocol.JobDelayed, 0, 1, JobRetrying, 1},
		{protocol.JobWaiting, 2, 1, JobWaiting, 3},
		{protocol.JobRunning, 2, 1, JobRunning, 3},
		{protocol.JobDead, 5, 0, JobDead, 5},
		{protocol.JobDead, 0, 3, JobDead, 1}, // crashes use up no attempt
	} {
		envelope := wire.Envelope{Name: "mail", Planned: at, Failures: c.failures}
		got := newJobInfo("q", &protocol.FoundJob{ID: "a", State: c.state, Body: envelope.Encode(), At: at, Crashes: c.crashes})
		if got.State != c.want || got.Attempt != c.attempt || got.Crashes != c.crashes || got.Err != nil {
			t.Errorf("%s after %d failures and %d crashes: %s, attempt %d (%v); want %s, attempt %d", c.state, c.failures, c.crashes, got.State, got.Attempt, got.Err, c.want, c.attempt)
		}
		if got.Due.IsZero() == (c.state == protocol.JobDelayed) || got.Ended.IsZero() == (c.state == protocol.JobDead) {
			t.Errorf("%s: due %v, ended %v", c.state, got.Due, got.Ended)
		}
	}
}

// A bulk change reports each problem of its filter once.
func TestABulkChangeReportsEachProblemOnce(t *testing.T) {
	for _, filter := range []JobFilter{{Queue: "q", State: JobDead, Limit: -1}, {Queue: "q", State: "ready"}, {Queue: "q", State: JobRunning}} {
		b := bulk{filter: filter, states: []JobState{JobDelayed, JobDead}}
		problems, ok := b.validate().(interface{ Unwrap() []error })
		if !ok || len(problems.Unwrap()) != 1 {
			t.Errorf("%+v: %v, want one error", filter, b.validate())
		}
	}
}

// The kept result of a cancelled job counts the attempt that is cancelled, if one runs.
func TestTheResultOfACancelledJobCountsTheAttemptThatRuns(t *testing.T) {
	job := wire.Envelope{Name: "j", Failures: 2, Details: &wire.Details{Keep: time.Hour}}
	for state, want := range map[string]int{protocol.JobRunning: 3, protocol.JobTaken: 2, protocol.JobDelayed: 2} {
		kept := cancelledResult(&protocol.FoundJob{ID: "a", State: state, Body: job.Encode()})
		if kept == nil {
			t.Fatalf("%s: nothing is kept", state)
		}
		if r, err := wire.DecodeResult(kept.Body); err != nil || r.Attempt != want {
			t.Errorf("%s: %+v, %v; want attempt %d", state, r, err, want)
		}
	}
}
