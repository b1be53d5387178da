package chimeotel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

// attributeOf returns an attribute of a span as text; empty: it has none.
func attributeOf(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func eventsOf(s sdktrace.ReadOnlySpan) string {
	var names []string
	for _, event := range s.Events() {
		names = append(names, event.Name)
	}
	return strings.Join(names, " ")
}

type quotaError struct{}

func (quotaError) Error() string { return "no quota is left" }

func TestHowAnAttemptEnds(t *testing.T) {
	for _, c := range []struct {
		ends    string
		cause   error // of the handler's ctx; nil: it has not ended
		returns error
		attempt int

		outcome, status, failure, events string
	}{
		{ends: "done", outcome: "done"},
		{ends: "fails", returns: io.ErrUnexpectedEOF, outcome: "failed", status: "retried", failure: "*errors.errorString", events: "exception"},
		{ends: "fails with a type", returns: fmt.Errorf("call: %w", quotaError{}), outcome: "failed", status: "retried", failure: "chimeotel_test.quotaError", events: "exception"},
		{ends: "fails, later", returns: chime.RetryAfter(time.Hour, quotaError{}), outcome: "failed", status: "retried", failure: "chimeotel_test.quotaError", events: "exception"},
		{ends: "fails for the last time", returns: quotaError{}, attempt: 25, outcome: "dead", status: "dead", failure: "chimeotel_test.quotaError", events: "exception"},
		{ends: "discarded", returns: chime.Discard(quotaError{}), outcome: "dead", status: "dead", failure: "chimeotel_test.quotaError", events: "exception"},
		{ends: "snoozed", returns: chime.Snooze(time.Hour), outcome: "snoozed"},
		{ends: "timed out", cause: chime.ErrTimeout, returns: context.DeadlineExceeded, outcome: "failed", status: "retried", failure: "timeout", events: "exception"},
		{ends: "timed out, and done", cause: chime.ErrTimeout, outcome: "done"},
		{ends: "cancelled", cause: chime.ErrCancelled, returns: context.Canceled, outcome: "cancelled"},
		{ends: "cancelled, and done", cause: chime.ErrCancelled, outcome: "cancelled"},
		{ends: "cut off", cause: chime.ErrShutdown, returns: context.Canceled, outcome: "returned"},
		{ends: "cut off, and discarded", cause: chime.ErrShutdown, returns: chime.Discard(quotaError{}), outcome: "dead", status: "dead", failure: "chimeotel_test.quotaError", events: "exception"},
		{ends: "replaced", cause: chime.ErrReplaced, returns: context.Canceled, outcome: "superseded"},
		{ends: "lost", cause: chime.ErrSessionLost, returns: context.Canceled, outcome: "returned", events: "chime.session.lost"},
		{ends: "lost, and done", cause: chime.ErrSessionLost, outcome: "done", events: "chime.session.lost chime.settle.refused"},
	} {
		r := record(t, chimeotel.Options{})
		job := chimetest.NewJob(t, chime.Item{Name: "job"})
		job.Attempt = max(c.attempt, 1)
		ctx, end := context.WithCancelCause(t.Context())
		if c.cause != nil {
			end(c.cause)
		}
		err := r.Handle()(func(ctx context.Context, _ *chime.Job) error {
			if !trace.SpanFromContext(ctx).IsRecording() {
				t.Errorf("%s: the handler's ctx has no span", c.ends)
			}
			return c.returns
		})(ctx, job)
		end(nil)
		if err != c.returns {
			t.Errorf("%s: the middleware returns %v, want what the handler returned", c.ends, err)
		}
		s := r.spans.Ended()[0]
		if got := attributeOf(s, "chime.job.outcome"); got != c.outcome {
			t.Errorf("%s: the outcome is %q, want %q", c.ends, got, c.outcome)
		}
		if got := s.Status(); got.Description != c.status || (got.Code == codes.Error) != (c.status != "") {
			t.Errorf("%s: the status is %v, want %q", c.ends, got, c.status)
		}
		if got := attributeOf(s, "error.type"); got != c.failure {
			t.Errorf("%s: error.type is %q, want %q", c.ends, got, c.failure)
		}
		if got := eventsOf(s); got != c.events {
			t.Errorf("%s: the events are %q, want %q", c.ends, got, c.events)
		}
		series := "messaging.process.duration{"
		if c.failure != "" {
			series += "error.type=" + c.failure + ","
		}
		series += "messaging.destination.name=default,messaging.operation.name=process,messaging.operation.type=process,messaging.system=chime}"
		if got := r.metrics()[series]; got != 1 {
			t.Errorf("%s: %s has %d, want 1 of %v", c.ends, series, got, r.metrics())
		}
	}
}

// The outcomes that the middleware derives from a handler's result are the ones that the store records in the end.
func TestOutcomesAreThoseOfTheHistory(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker := r.worker(c, "default")
		worker.Handle("job", func(ctx context.Context, job *chime.Job) error {
			var act string
			if err := job.Decode(&act); err != nil {
				return err
			}
			switch {
			case job.Attempt > 1:
				return nil
			case act == "fail":
				return chime.RetryAfter(time.Second, errors.New("no"))
			case act == "discard":
				return chime.Discard(errors.New("no"))
			case act == "snooze" && time.Since(job.Planned) < time.Second:
				return chime.Snooze(time.Minute)
			case act == "panic":
				panic("no")
			case act == "goexit":
				runtime.Goexit()
			case act == "hang":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, chime.MaxAttempts(2), chime.Timeout(time.Minute), chime.Backoff(func(int) time.Duration { return time.Second }))
		c.Start(worker)
		enqueuer := r.enqueuer(c)
		for _, act := range []string{"succeed", "fail", "discard", "snooze", "panic", "goexit", "hang", "cancel"} {
			args := act
			if act == "cancel" {
				args = "hang"
			}
			if _, err := enqueuer.Enqueue(t.Context(), "job", args, chime.ID(act)); err != nil {
				t.Fatal(err)
			}
		}
		runs := c.Advance(time.Second)
		if got, err := chime.NewJobs(c.Store()).Cancel(t.Context(), "default", "cancel"); got != chime.CancelAsked || err != nil {
			t.Fatalf("cancel: %v, %v", got, err)
		}
		runs = append(runs, c.Advance(time.Hour)...)
		want := map[string]int{}
		for _, run := range runs {
			want[fmt.Sprint(run.ID, run.Attempt, run.Outcome)]++
		}
		got := map[string]int{}
		for _, s := range r.spans.Ended() {
			if s.SpanKind() == trace.SpanKindConsumer {
				got[attributeOf(s, "messaging.message.id")+attributeOf(s, "chime.job.attempt")+attributeOf(s, "chime.job.outcome")]++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 12 {
			t.Errorf("the spans have\n %v\nthe history has\n %v", got, want)
		}
	})
}

func TestAPanicIsRecordedAndContinues(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		var logged bytes.Buffer
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		worker.Use(r.Handle())
		worker.Handle("job", func(context.Context, *chime.Job) error { return slip(3) }, chime.MaxAttempts(1))
		c.Start(worker)
		if _, err := r.enqueuer(c).Enqueue(t.Context(), "job", nil, chime.ID("slips")); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		job, err := chime.NewJobs(c.Store()).Get(t.Context(), "default", "slips")
		if err != nil || !strings.Contains(job.LastError, "index out of range [3]") || !strings.Contains(logged.String(), "chimeotel_test.slip") {
			t.Errorf("the job has the error %q (%v), and the log has\n%s\nwant the place of the panic", job.LastError, err, logged.String())
		}
		spans := r.spans.Ended()
		s := spans[slices.IndexFunc(spans, func(s sdktrace.ReadOnlySpan) bool { return s.SpanKind() == trace.SpanKindConsumer })] // the enqueuing may end later
		if len(s.Events()) != 1 {
			t.Fatalf("events %v, want one", s.Events())
		}
		event := attribute.NewSet(s.Events()[0].Attributes...)
		stack, _ := event.Value("exception.stacktrace")
		message, _ := event.Value("exception.message")
		if !strings.Contains(stack.AsString(), "chimeotel_test.slip") || !strings.Contains(message.AsString(), "index out of range [3]") || attributeOf(s, "error.type") != "panic" {
			t.Errorf("the exception is %q of type %q, with the stack %q", message.AsString(), attributeOf(s, "error.type"), stack.AsString())
		}
	})
}

//go:noinline
func slip(i int) error { return []error{nil}[i] }

func TestWhatMadeTheJobOfASchedule(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker, scheduler := r.worker(c, "default"), r.scheduler(c)
		worker.Handle("report", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 1 && job.Origin == "backfill" {
				return chime.RetryAfter(time.Second, errors.New("no"))
			}
			return chime.Discard(errors.New("no"))
		})
		worker.Handle("alert", func(context.Context, *chime.Job) error { return nil })
		begin := time.Now()
		if err := scheduler.Schedule("r", recurrence.Recurrence{StartTime: begin.Add(time.Minute)}, chime.JobName("report"), chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
			t.Fatal(err)
		}
		c.Start(scheduler, worker)
		if _, err := chime.NewSchedules(c.Store()).Trigger(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		if _, err := chime.NewSchedules(c.Store()).Backfill(t.Context(), "r", begin, begin.Add(2*time.Minute)); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		got := map[string]int{}
		for _, s := range r.spans.Ended() {
			if s.SpanKind() != trace.SpanKindConsumer {
				continue
			}
			trigger := attributeOf(s, "chime.schedule.trigger")
			got[attributeOf(s, "chime.job.name")+" "+trigger]++
			if late := attributeOf(s, "chime.schedule.lateness_s") != ""; late != (trigger != "backfill") {
				t.Errorf("the span of a job by %s has a lateness: %v", trigger, late)
			}
		}
		if want := "map[alert death:3 report backfill:2 report manual:1 report occurrence:1]"; fmt.Sprint(got) != want {
			t.Errorf("jobs by origin: %v, want %v", got, want)
		}
	})
}

// Ten seconds after its timeout an attempt is settled without its handler: a later result does not count, and the span records that.
func TestAResultThatComesAfterItsAttemptWasSettledIsRefused(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		for hangs, want := range map[time.Duration]struct{ outcome, events, failure string }{
			5 * time.Second:  {"done", "", ""},
			30 * time.Second: {"dead", "chime.settle.refused exception", "timeout"},
		} {
			r := record(t, chimeotel.Options{})
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler), Observers: []*chime.Observer{r.Observer()}})
			worker.Use(r.Handle())
			worker.Handle("job", func(context.Context, *chime.Job) error {
				time.Sleep(hangs) // fake time: the handler ignores its ctx
				return nil
			}, chime.Timeout(time.Second), chime.MaxAttempts(1))
			stop := c.Start(worker)
			if _, err := r.enqueuer(c).Enqueue(t.Context(), "job", nil); err != nil {
				t.Fatal(err)
			}
			c.Advance(time.Minute)
			stop()
			spans := r.spans.Ended()
			s := spans[len(spans)-1]
			if got := attributeOf(s, "chime.job.outcome"); got != want.outcome || eventsOf(s) != want.events || attributeOf(s, "error.type") != want.failure {
				t.Errorf("a handler of %s: outcome %q, events %q, error %q; want %+v", hangs, got, eventsOf(s), attributeOf(s, "error.type"), want)
			}
		}
	})
}
