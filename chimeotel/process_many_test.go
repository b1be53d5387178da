package chimeotel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimetest"
)

// A call of several jobs has one span, which links to the span that enqueued each of them. The metrics count each job.
func TestACallOfSeveralJobsHasOneSpan(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker := r.worker(c, "default")
		worker.UseMany(r.HandleMany())
		worker.HandleMany("job", chime.Many{Size: 3, Wait: time.Second}, func(ctx context.Context, jobs []*chime.Job) error {
			if !trace.SpanFromContext(ctx).IsRecording() {
				t.Error("the handler's ctx has no span")
			}
			if jobs[0].Attempt > 1 {
				return nil
			}
			return chime.Each{jobs[1].ID: errors.New("bad")}
		})
		c.Start(worker)
		enqueuer := r.enqueuer(c)
		for range 3 {
			if _, err := enqueuer.Enqueue(t.Context(), "job", nil); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(time.Minute)
		producers, calls := map[trace.SpanID]bool{}, []sdktrace.ReadOnlySpan{}
		for _, s := range r.spans.Ended() {
			switch s.SpanKind() {
			case trace.SpanKindProducer:
				producers[s.SpanContext().SpanID()] = true
			case trace.SpanKindConsumer:
				calls = append(calls, s)
			}
		}
		if len(calls) != 2 || len(producers) != 3 {
			t.Fatalf("%d spans of calls and %d of enqueuing, want 2 and 3", len(calls), len(producers))
		}
		first, second := calls[0], calls[1]
		for _, link := range first.Links() {
			delete(producers, link.SpanContext.SpanID())
		}
		if first.Name() != "process default" || len(producers) > 0 || attributeOf(first, "messaging.batch.message_count") != "3" ||
			attributeOf(first, "chime.job.outcome.done") != "2" || attributeOf(first, "chime.job.outcome.failed") != "1" {
			t.Errorf("span %s with %v and %d links", first.Name(), first.Attributes(), len(first.Links()))
		}
		if s := first.Status(); s.Code != codes.Error || s.Description != "retried: 1 of 3 jobs" {
			t.Errorf("status %v", s)
		}
		if last := second.Links(); len(last) != 2 || last[1].SpanContext.SpanID() != first.SpanContext().SpanID() {
			t.Errorf("the call of the second attempt has the links %v, want one to the first attempt", last)
		}
		ok := "{messaging.destination.name=default,messaging.operation.name=process,messaging.operation.type=process,messaging.system=chime}"
		if got := r.metrics(); got["messaging.client.consumed.messages"+ok] != 4 || got["messaging.process.duration"+ok] != 3 {
			t.Errorf("metrics %v, want four jobs, three of them done", got)
		}
	})
}

// A job that an Each does not name has not been done if ctx has ended: the worker hands it back, or it has failed with the timeout.
func TestAJobThatNoEachNamesIsNotDoneIfCtxHasEnded(t *testing.T) {
	const outcome = "chime.job.outcome."
	for _, c := range []struct {
		cause error
		err   error
		want  map[string]string
	}{
		{chime.ErrShutdown, chime.Each{"a": nil}, map[string]string{"done": "1", "returned": "2"}},
		{chime.ErrSessionLost, chime.Each{"a": nil}, map[string]string{"done": "1", "returned": "2"}},
		{chime.ErrTimeout, chime.Each{"a": nil}, map[string]string{"done": "1", "failed": "2"}},
		{chime.ErrShutdown, nil, map[string]string{"done": "3"}},
		{nil, chime.Each{"a": nil}, map[string]string{"done": "3"}},
	} {
		r := record(t, chimeotel.Options{})
		var jobs []*chime.Job
		for _, id := range []string{"a", "b", "c"} {
			job := chimetest.NewJob(t, chime.Item{Name: "job"})
			job.ID, job.Attempt = id, 1
			jobs = append(jobs, job)
		}
		ctx, end := context.WithCancelCause(t.Context())
		if c.cause != nil {
			end(c.cause)
		}
		_ = r.HandleMany()(func(context.Context, []*chime.Job) error { return c.err })(ctx, jobs)
		end(nil)
		s := r.spans.Ended()[0]
		for _, name := range []string{"done", "returned", "failed"} {
			if got := attributeOf(s, outcome+name); got != c.want[name] {
				t.Errorf("%v, %v: %s is %q, want %q", c.cause, c.err, name, got, c.want[name])
			}
		}
	}
}
