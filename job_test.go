package chime

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/wire"
)

func TestPayloadIsNeverLogged(t *testing.T) {
	var out bytes.Buffer
	job := &Job{ID: "1", Name: "report", Schedule: "nightly", Payload: []byte("canary")}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "job", job)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "job", job)
	fmt.Fprintf(&out, "%v %+v %s", job, job, job)
	if strings.Contains(out.String(), "canary") || strings.Contains(out.String(), "99 97 110") {
		t.Errorf("logged: %s", out.String())
	}
	if !strings.Contains(out.String(), "nightly") || !strings.Contains(out.String(), "report") {
		t.Errorf("logged: %s", out.String())
	}
}

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

type kindArgs struct{ Customer string }

func TestKindBindsANameToItsArguments(t *testing.T) {
	report := Define[kindArgs]("kind.report")
	store := newEnqueueStore(t, 1)
	receipt, err := report.Enqueue(t.Context(), quietEnqueuer(store, EnqueuerOptions{}), kindArgs{"a"}, MaxAttempts(2))
	if err != nil {
		t.Fatal(err)
	}
	env, err := wire.DecodeEnvelope(store.jobs[receipt.ID].Body)
	if err != nil || env.Name != "kind.report" || env.MaxAttempts != 2 {
		t.Errorf("sent %+v, %v", env, err)
	}
	if item := report.Item(kindArgs{"b"}); item.Name != "kind.report" || item.Args != (kindArgs{"b"}) {
		t.Errorf("item %+v", item)
	}
	var settings scheduleSettings
	report.With(kindArgs{"c"}).schedule(&settings)
	if settings.jobName != "kind.report" || settings.args != (kindArgs{"c"}) {
		t.Errorf("schedule settings %+v", settings)
	}

	worker := NewWorker(asStore(store), WorkerOptions{})
	var got kindArgs
	report.Handle(worker, func(_ context.Context, _ *Job, args kindArgs) error { got = args; return nil })
	handler := worker.handlers["kind.report"].handler
	if err := handler(t.Context(), &Job{Payload: env.Payload}); err != nil || got.Customer != "a" {
		t.Errorf("handled %+v, %v", got, err)
	}
	if err := handler(t.Context(), &Job{Payload: []byte{0xc1}}); OutcomeOf(err).Action != Discarded {
		t.Errorf("arguments that do not decode: %v, want an error that discards", err)
	}
}

func TestDefineAndHandlePanicOnMistakes(t *testing.T) {
	report := Define[kindArgs]("kind.mistakes")
	if again := Define[kindArgs]("kind.mistakes"); again != report {
		t.Errorf("the same kind again is %v", again)
	}
	worker := NewWorker(asStore(newEnqueueStore(t, 1)), WorkerOptions{})
	handler := func(context.Context, *Job, kindArgs) error { return nil }
	report.Handle(worker, handler)
	for name, act := range map[string]func(){
		"no name":          func() { Define[kindArgs]("") },
		"a bad name":       func() { Define[kindArgs]("a b") },
		"another type":     func() { Define[string]("kind.mistakes") },
		"no handler":       func() { report.Handle(worker, nil) },
		"a second handler": func() { report.Handle(worker, handler) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "chime: ") {
					t.Errorf("%s: panic %v, want one that says what is wrong", name, r)
				}
			}()
			act()
		}()
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
			t.Errorf("decode %q into %T: %v, want an error that has the job %v", c.payload, c.target, err, c.want)
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
