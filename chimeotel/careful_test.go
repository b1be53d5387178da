package chimeotel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimetest"
)

// No part of a payload or a header is recorded; the text of an error is in one attribute of one event.
func TestNoSecretGetsOut(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker := r.worker(c, "default")
		worker.Handle("job", func(_ context.Context, job *chime.Job) error {
			if job.ID == "panics" {
				panic("CANARY-OF-ERROR")
			}
			return fmt.Errorf("job: %w", errors.New("CANARY-OF-ERROR"))
		}, chime.MaxAttempts(2))
		c.Start(worker)
		enqueuer := r.enqueuer(c)
		for _, id := range []string{"fails", "panics"} {
			if _, err := enqueuer.Enqueue(t.Context(), "job", map[string]string{"password": "CANARY-OF-PAYLOAD"}, chime.ID(id), chime.Header("tenant", "CANARY-OF-PAYLOAD")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := enqueuer.Enqueue(t.Context(), "job", func() string { return "CANARY-OF-PAYLOAD" }, chime.Header("CANARY\x00", "CANARY-OF-PAYLOAD"))
		if err == nil {
			t.Fatal("a function was enqueued")
		}
		c.Advance(24 * time.Hour)
		drawn := sketch(r.spans) + fmt.Sprint(r.metrics())
		for _, s := range r.spans.Ended() {
			for _, event := range s.Events() {
				for _, a := range event.Attributes {
					if a.Key == "exception.stacktrace" {
						drawn += a.Value.AsString()
					}
				}
			}
		}
		if strings.Contains(drawn, "CANARY-OF-PAYLOAD") {
			t.Errorf("a part of a payload or a header is in\n%s", drawn)
		}
		seen := 0
		for line := range strings.Lines(drawn) {
			if strings.Contains(line, "CANARY-OF-ERROR") {
				if seen++; !strings.HasPrefix(line, "    exception.message=") {
					t.Errorf("an error's text is in %q", line)
				}
			}
		}
		if seen != 4 {
			t.Errorf("the errors of %d attempts are recorded, want 4", seen)
		}
	})
}

// If a job's header is full, the job is sent without the context.
func TestATraceKeepsNoJobFromBeingEnqueued(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		enqueuer := r.enqueuer(c)
		full := chime.Header("k", strings.Repeat("x", 4<<10-1))
		if _, err := enqueuer.Enqueue(t.Context(), "job", nil, full); err != nil {
			t.Errorf("one job with a full header: %v", err)
		}
		if _, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: "job"}, {Name: "job", Options: []chime.EnqueueOption{full}}}); err != nil {
			t.Errorf("two jobs, one with a full header: %v", err)
		}
		if jobs := c.Enqueued("job"); len(jobs) != 3 {
			t.Errorf("%d jobs are enqueued, want 3", len(jobs))
		}
		odd := record(t, chimeotel.Options{Propagator: carrying{"": "empty", "line\nbreak": "a", strings.Repeat("k", 101): "a", "latin": "\xe9", "fine": "a"}})
		if _, err := odd.enqueuer(c).Enqueue(t.Context(), "odd", nil); err != nil {
			t.Errorf("with a propagator of odd keys: %v", err)
		}
		if jobs := c.Enqueued("odd"); len(jobs) != 1 || fmt.Sprint(jobs[0].Header) != "map[fine:a]" {
			t.Errorf("with a propagator of odd keys the jobs are %+v, want one with the one entry that a header may have", jobs)
		}
		calls := 0
		for _, want := range []error{errors.New("connection refused"), &chime.InvalidError{Field: "queue"}} {
			calls = 0
			_, err := r.Enqueue()(func(context.Context, []chime.Item) ([]chime.Receipt, error) { calls++; return nil, want })(t.Context(), []chime.Item{{Name: "job"}})
			if err != want || calls != 1 {
				t.Errorf("after %d calls the error is %v, want one call and %v", calls, err, want)
			}
		}
	})
}

// carrying is a propagator that writes fixed entries.
type carrying map[string]string

func (c carrying) Inject(_ context.Context, carrier propagation.TextMapCarrier) {
	for key, value := range c {
		carrier.Set(key, value)
	}
}
func (carrying) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context {
	return ctx
}
func (carrying) Fields() []string { return nil }

// If a header is invalid even without the context, there is no second attempt: other middleware is called once.
func TestAHeaderThatIsTooLongByItselfIsTriedOnce(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		const room = 4 << 10
		for _, own := range []struct{ bytes, calls int }{{room - 300, 1}, {room, 2}, {room + 1, 1}, {room + 30, 1}, {room + 300, 1}, {10 * room, 1}} {
			r := record(t, chimeotel.Options{})
			enqueuer, calls := r.enqueuer(c), 0
			enqueuer.Use(func(next chime.EnqueueFunc) chime.EnqueueFunc {
				return func(ctx context.Context, items []chime.Item) ([]chime.Receipt, error) {
					calls++
					return next(ctx, items)
				}
			})
			item := chime.Item{Name: "job", Options: []chime.EnqueueOption{chime.Header("k", "-"), chime.Header("k", strings.Repeat("x", own.bytes-1))}}
			_, err := enqueuer.Enqueue(t.Context(), item.Name, nil, item.Options...)
			if fits := own.bytes <= room; calls != own.calls || (err == nil) != fits {
				t.Errorf("a header of %d bytes: %d calls and %v, want %d", own.bytes, calls, err, own.calls)
			}
			calls = 0
			if _, err = enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: "job"}, item}); calls != own.calls || (err == nil) != (own.bytes <= room) {
				t.Errorf("two jobs, one with a header of %d bytes: %d calls and %v, want %d", own.bytes, calls, err, own.calls)
			}
		}
	})
}

func TestAnEnqueueingThatFailsIsAnError(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		if _, err := r.enqueuer(c).Enqueue(t.Context(), "job", nil, chime.Queue("no such name")); err == nil {
			t.Fatal("it was enqueued")
		}
		s := r.spans.Ended()[0]
		if attributeOf(s, "error.type") != "*chime.InvalidError" || s.Status().Description != "not enqueued" || eventsOf(s) != "exception" {
			t.Errorf("the span is %s", sketch(r.spans))
		}
		for series, n := range r.metrics() {
			if !strings.HasPrefix(series, "messaging.client.sent.messages{error.type=") || n != 1 {
				t.Errorf("%s is %d", series, n)
			}
		}
	})
}

func TestManage(t *testing.T) {
	r := record(t, chimeotel.Options{})
	refused := errors.New("refused")
	for _, want := range []error{nil, refused} {
		if err := r.Manage(t.Context(), "pause", func(context.Context) error { return want }); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	r.want(`
manage pause, internal
  messaging.system=chime
manage pause (2), internal, Error: failed
  messaging.system=chime
  error.type=*errors.errorString
  event exception
    exception.type=*errors.errorString
    exception.message=refused
`)
}

// A program may set the global providers after it has created its roles.
func TestNilProvidersAreTheGlobalOnes(t *testing.T) {
	telemetry := chimeotel.New(chimeotel.Options{})
	spans, meters := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(meters)))
	if err := telemetry.Handle()(func(context.Context, *chime.Job) error { return nil })(t.Context(), chimetest.NewJob(t, chime.Item{Name: "job"})); err != nil {
		t.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	if err := meters.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if len(spans.Ended()) != 1 || len(all.ScopeMetrics) != 1 {
		t.Errorf("%d spans and %d scopes of metrics reached the global providers, want 1 and 1", len(spans.Ended()), len(all.ScopeMetrics))
	}
	if got := spans.Ended()[0].InstrumentationScope(); got.Name != "github.com/chimejobs/chime/chimeotel" || got.SchemaURL != "https://opentelemetry.io/schemas/1.43.0" {
		t.Errorf("the scope is %+v", got)
	}
}
