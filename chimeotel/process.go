package chimeotel

import (
	"context"
	"runtime/debug"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
)

var processAttributes = []attribute.KeyValue{
	keySystem.String(system), keyOperationName.String(processing), keyOperationType.String(processing),
}

// Handle returns middleware for [chime.Worker.Use]. Put it first, so that the attempt includes other middleware.
func (t *Telemetry) Handle() func(chime.Handler) chime.Handler {
	return func(next chime.Handler) chime.Handler {
		return func(ctx context.Context, job *chime.Job) error { return t.process(ctx, job, next) }
	}
}

func (t *Telemetry) process(ctx context.Context, job *chime.Job, next chime.Handler) (err error) {
	a := t.begin(ctx, job)
	returned := false
	defer func() {
		if returned {
			a.end(err, nil)
			return
		}
		v := recover() // nil: runtime.Goexit
		a.end(&panicError{v}, debug.Stack())
		if v != nil {
			panic(v) // the worker handles it; the stack still has the handler
		}
	}()
	err = next(a.traced, job)
	returned = true
	return err
}

// An attempt is a handler's call with its span.
type attempt struct {
	*Telemetry
	job    *chime.Job
	ctx    context.Context // the worker's
	traced context.Context // with the span
	span   trace.Span
	began  time.Time
}

func (t *Telemetry) begin(ctx context.Context, job *chime.Job) *attempt {
	a := &attempt{Telemetry: t, job: job, ctx: ctx, began: time.Now()}
	remote := t.remote(ctx, job)
	options := make([]trace.SpanStartOption, 0, 4)
	options = append(options, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(processAttributes...))
	links := t.linksTo(job)
	if creation := trace.SpanContextFromContext(remote); !t.parent || !creation.IsValid() {
		options = append(options, trace.WithNewRoot())
		if creation.IsValid() {
			links = append([]trace.Link{{SpanContext: creation}}, links...)
		}
	}
	if len(links) > 0 {
		options = append(options, trace.WithLinks(links...))
	}
	a.traced, a.span = t.tracer.Start(remote, processing+" "+job.Queue, options...)
	if a.span.IsRecording() {
		a.span.SetAttributes(attributesOf(job)...)
	}
	t.meters.consumed(a.traced, job.Queue)
	t.running.begin(attemptOf{spanOf{job.Queue, job.ID}, job.Attempt})
	return a
}

// linksTo returns the predecessors of this attempt that this process knows: the previous attempt, or the placing of the occurrence.
func (t *Telemetry) linksTo(job *chime.Job) (links []trace.Link) {
	of := spanOf{job.Queue, job.ID}
	if before, ok := t.attempts.take(of); ok {
		links = append(links, trace.Link{SpanContext: before})
	}
	if job.Schedule != "" {
		if place, ok := t.places.take(of); ok {
			links = append(links, trace.Link{SpanContext: place})
		}
	}
	return links
}

func attributesOf(job *chime.Job) []attribute.KeyValue {
	attributes := make([]attribute.KeyValue, 0, 16)
	attributes = append(attributes,
		keyDestination.String(job.Queue), keyPartition.String(strconv.Itoa(job.Partition)), keyMessageID.String(job.ID),
		keyBodySize.Int(len(job.Payload)), keyClientID.String(job.Worker), keyJobName.String(job.Name), keyAttempt.Int(job.Attempt),
		keyMaxAttempts.Int(job.MaxAttempts), keyCrashes.Int(job.Crashes), keyFence.Int64(job.Fence))
	if job.Schedule != "" {
		attributes = append(attributes, keySchedule.String(job.Schedule), keyPlanned.String(job.Planned.UTC().Format(time.RFC3339Nano)))
		if job.Origin != backfilled { // it was planned long ago, but is not late
			attributes = append(attributes, keyLateness.Float64(job.Lateness().Seconds()))
		}
		attributes = append(attributes, keyTrigger.String(job.Origin))
	}
	return attributes
}

// end ends the span. stack is the stack of a panic.
func (a *attempt) end(err error, stack []byte) {
	defer a.span.End()
	outcome, lost := outcomeOf(a.ctx, a.job, err)
	settled := a.running.end(attemptOf{spanOf{a.job.Queue, a.job.ID}, a.job.Attempt})
	if settled != nil {
		outcome, err = string(settled.Outcome), settled.Err
	}
	failed := outcome == string(chime.RunFailed) || outcome == string(chime.RunDead)
	if failed {
		a.meters.processed(a.traced, a.job.Queue, typeOf(a.ctx, err), time.Since(a.began))
	} else {
		a.meters.processed(a.traced, a.job.Queue, "", time.Since(a.began))
	}
	if again(outcome) && a.span.SpanContext().IsSampled() {
		a.attempts.put(spanOf{a.job.Queue, a.job.ID}, a.span.SpanContext())
	}
	if !a.span.IsRecording() {
		return
	}
	a.span.SetAttributes(keyOutcome.String(outcome))
	if lost {
		a.span.AddEvent(eventSessionLost)
	}
	if settled != nil || lost && outcome != outcomeReturned {
		a.span.AddEvent(eventSettleRefused)
	}
	if failed {
		a.fail(err, stack, outcome)
	}
}

// fail records in the span how the attempt failed, and what happens to the job.
func (a *attempt) fail(err error, stack []byte, outcome string) {
	consequence := "retried"
	if outcome == string(chime.RunDead) {
		consequence = "dead"
	}
	failAs(a.span, err, typeOf(a.ctx, err), stack, consequence)
}
