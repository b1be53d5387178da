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
//   - "process <queue>", of a consumer: an attempt. It is a root with links to the span that enqueued the job and, if this process knows it,
//     to the attempt before; with Options.Parent it is a child of the former. So an attempt days later is a trace of its own, and a batch
//     does not make one trace of a thousand jobs.
//   - "place <queue>", internal: occurrences of schedules that this process has placed, those of one call to the store and one queue
//     together. The first attempt has a link to it if the same process runs it.
//   - "manage <act>", internal: see [Telemetry.Manage].
//
// An attempt that is retried, or after which the job is dead, has the status Error and an event "exception", and so has a call that failed.
// Other outcomes are no errors: the attribute chime.job.outcome has them. If the worker has lost its session meanwhile, the span has the event
// chime.session.lost, and chime.settle.refused if the handler returned a result all the same: it does not count. Nor does one that comes more
// than ten seconds after the timeout: the span has then the outcome that the attempt was settled with, and chime.settle.refused.
//
// # What is in them
//
// The names are those of the semantic conventions for messaging, version 1.43, which are not stable yet, and those that begin with "chime.".
// No span, link or metric has anything of a payload or of a header. What an error says is in the event "exception" alone, as
// exception.message, 2 KiB at most; IDs of jobs are in spans and not in metrics.
package chimeotel

import (
	"cmp"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/chimejobs/chime/chimeotel"

// Options are the options of New. The zero value is good.
type Options struct {
	// TracerProvider makes the spans. Nil means the global one, also if that is set later.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Nil means the global one, also if that is set later.
	MeterProvider metric.MeterProvider
	// Propagator writes the context of a span into the headers of jobs and reads it from there. Nil means W3C Trace Context. What it writes
	// is stored with the job: 1 KiB at most, the longest entries are left out first.
	Propagator propagation.TextMapPropagator
	// Parent makes an attempt a child of the span that has enqueued the job, in the same trace, in place of a root with a link to it.
	Parent bool
}

// Telemetry makes the spans and metrics. New makes one; it is safe for concurrent use, and one serves all roles of a process.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	parent     bool
	meters     *meters

	attempts *recentSpans // those that did not end their jobs
	places   *recentSpans // of occurrences that have not begun
	running  *runningAttempts
}

// New returns what makes spans and metrics. It starts nothing.
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
