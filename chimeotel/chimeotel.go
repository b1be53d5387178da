// Package chimeotel traces and counts jobs with OpenTelemetry.
//
//	telemetry := chimeotel.New(chimeotel.Options{})
//	enqueuer.Use(telemetry.Enqueue())
//	worker.Use(telemetry.Handle())
//	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Observers: []*chime.Observer{telemetry.Observer()}})
//
// # Spans
//
//   - "enqueue <queue>", of a producer: a call of Enqueue or EnqueueMany. Its context travels with the jobs, in their headers.
//   - "process <queue>", of a consumer: an attempt. It is a root with a link to the span that enqueued the job and, if this process knows it,
//     a link to the previous attempt; with Options.Parent it is a child of the former. So an attempt days later is a separate trace, and a
//     batch does not put a thousand jobs into one trace.
//   - "place <queue>", internal: occurrences of schedules that this process has placed. One span has all occurrences of one call to the store
//     and one queue. The first attempt has a link to it if the same process runs it.
//   - "manage <act>", internal: see [Telemetry.Manage].
//
// An attempt that is retried, or after which the job is dead, has the status Error and an event "exception", and so has a call that failed.
// Other outcomes are not errors: the attribute chime.job.outcome has them. If the worker has lost its session meanwhile, the span has the event
// chime.session.lost. If the handler then still returned a result, the result does not count, and the span has chime.settle.refused. The same
// is true for a result that comes more than ten seconds after the timeout: the span has the outcome that was settled, and chime.settle.refused.
//
// # Content
//
// The names are the names of the semantic conventions for messaging, version 1.43, which are not stable yet, and names that begin with "chime.".
// No span, link or metric contains any part of a payload or of a header. The text of an error is only in the event "exception", as
// exception.message, at most 2 KiB; IDs of jobs are in spans and not in metrics.
package chimeotel

import (
	"cmp"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/chimejobs/chime/chimeotel"

// Options are the options of New. The zero value is useful.
type Options struct {
	// TracerProvider creates the spans. Nil means the global one, even if it is set later.
	TracerProvider trace.TracerProvider
	// MeterProvider creates the metrics. Nil means the global one, even if it is set later.
	MeterProvider metric.MeterProvider
	// Propagator writes the context of a span into the headers of jobs and reads it from there. Nil means W3C Trace Context. Its entries are
	// stored with the job: at most 1 KiB; if they are longer, the longest ones are left out.
	Propagator propagation.TextMapPropagator
	// Parent makes an attempt a child of the span that has enqueued the job, in the same trace, instead of a root with a link to it.
	Parent bool
}

// Telemetry creates the spans and metrics. New returns one; it is safe for concurrent use, and one is enough for all roles of a process.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	parent     bool
	meters     *meters

	attempts *recentSpans // spans of attempts that did not end their jobs
	places   *recentSpans // spans of occurrences that have not begun
	running  *runningAttempts
}

// New returns a Telemetry. It starts nothing.
func New(options Options) *Telemetry {
	tracers := cmp.Or(options.TracerProvider, otel.GetTracerProvider())
	return &Telemetry{
		tracer:     tracers.Tracer(scope, trace.WithSchemaURL(schemaURL)),
		propagator: cmp.Or[propagation.TextMapPropagator](options.Propagator, propagation.TraceContext{}),
		parent:     options.Parent,
		meters:     newMeters(cmp.Or(options.MeterProvider, otel.GetMeterProvider())),
		attempts:   newRecentSpans(), places: newRecentSpans(), running: newRunningAttempts(),
	}
}
