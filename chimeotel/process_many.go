package chimeotel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
)

// HandleMany returns middleware for [chime.Worker.UseMany]. Put it first, so that the span includes other middleware. A call has one span, with the number
// of its jobs and a link to the span that enqueued each of them; the number of links is limited by the SDK, 128 by default. The metrics count each job.
func (t *Telemetry) HandleMany() func(chime.ManyHandler) chime.ManyHandler {
	return func(next chime.ManyHandler) chime.ManyHandler {
		return func(ctx context.Context, jobs []*chime.Job) error { return t.processMany(ctx, jobs, next) }
	}
}

func (t *Telemetry) processMany(ctx context.Context, jobs []*chime.Job, next chime.ManyHandler) (err error) {
	if len(jobs) == 0 {
		return next(ctx, jobs)
	}
	c := t.beginMany(ctx, jobs)
	returned := false
	defer func() {
		if returned {
			c.end(err, nil)
			return
		}
		v := recover() // nil: runtime.Goexit
		c.end(&panicError{v}, debug.Stack())
		if v != nil {
			panic(v) // the worker handles it; the stack still has the handler
		}
	}()
	err = next(c.traced, jobs)
	returned = true
	return err
}

// A manyAttempt is the call of a handler of several jobs, with its span.
type manyAttempt struct {
	*Telemetry
	jobs   []*chime.Job
	ctx    context.Context // the worker's
	traced context.Context // with the span
	span   trace.Span
	began  time.Time
}

func (t *Telemetry) beginMany(ctx context.Context, jobs []*chime.Job) *manyAttempt {
	c := &manyAttempt{Telemetry: t, jobs: jobs, ctx: ctx, began: time.Now()}
	var links []trace.Link
	for _, job := range jobs {
		if creation := trace.SpanContextFromContext(t.remote(ctx, job)); creation.IsValid() {
			links = append(links, trace.Link{SpanContext: creation})
		}
		links = append(links, t.linksTo(job)...)
		t.running.begin(attemptOf{spanOf{job.Queue, job.ID}, job.Attempt})
	}
	queue := jobs[0].Queue
	c.traced, c.span = t.tracer.Start(ctx, processing+" "+queue, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithNewRoot(),
		trace.WithAttributes(processAttributes...), trace.WithLinks(links...), trace.WithAttributes(
			keyDestination.String(queue), keyBatchCount.Int(len(jobs)), keyClientID.String(jobs[0].Worker), keyJobName.String(jobs[0].Name)))
	for range jobs {
		t.meters.consumed(c.traced, queue)
	}
	return c
}

// cutShort returns why ctx ended before the handler may have come to every job; nil: it has not ended for such a reason.
func (c *manyAttempt) cutShort() error {
	if c.ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(c.ctx)
	for _, reason := range []error{chime.ErrShutdown, chime.ErrSessionLost, chime.ErrTimeout} {
		if errors.Is(cause, reason) {
			return cause
		}
	}
	return nil
}

// isUnnamed reports whether an error has a [chime.Each] without an entry for the job.
func isUnnamed(job *chime.Job, err error) bool {
	var each chime.Each
	if !errors.As(err, &each) {
		return false
	}
	_, named := each[job.ID]
	return !named
}

// end ends the span. stack is the stack of a panic.
func (c *manyAttempt) end(err error, stack []byte) {
	defer c.span.End()
	took, failed, outcomes, returned := time.Since(c.began), 0, map[string]int{}, err
	var first error
	consequence := "retried"
	cause := c.cutShort()
	for i, of := range chime.OutcomesOf(err, c.jobs) {
		job, err := c.jobs[i], of.Err
		if err == nil && cause != nil && isUnnamed(job, returned) {
			err = cause
		}
		outcome, _ := outcomeOf(c.ctx, job, err)
		if settled := c.running.end(attemptOf{spanOf{job.Queue, job.ID}, job.Attempt}); settled != nil {
			outcome, err = string(settled.Outcome), settled.Err
		}
		outcomes[outcome]++
		if again(outcome) && c.span.SpanContext().IsSampled() {
			c.attempts.put(spanOf{job.Queue, job.ID}, c.span.SpanContext())
		}
		kind := ""
		if outcome == string(chime.RunFailed) || outcome == string(chime.RunDead) {
			kind = typeOf(c.ctx, err)
			if failed++; first == nil {
				first = err
			}
			if outcome == string(chime.RunDead) {
				consequence = "dead"
			}
		}
		c.meters.processed(c.traced, job.Queue, kind, took)
	}
	if !c.span.IsRecording() {
		return
	}
	for outcome, n := range outcomes {
		c.span.SetAttributes(attribute.Int(string(keyOutcome)+"."+outcome, n))
	}
	if failed > 0 {
		failAs(c.span, first, typeOf(c.ctx, first), stack, fmt.Sprintf("%s: %d of %d jobs", consequence, failed, len(c.jobs)))
	}
}
