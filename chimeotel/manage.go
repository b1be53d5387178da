package chimeotel

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Manage calls f within a span "manage <act>". It is for actions on schedules, jobs and queues other than enqueuing, such as "pause" or
// "requeue". act is the name of a method, never of its target. Manage returns the result of f.
//
//	err := telemetry.Manage(ctx, "pause", func(ctx context.Context) error { return queues.Pause(ctx, "mail", note) })
func (t *Telemetry) Manage(ctx context.Context, act string, f func(context.Context) error) error {
	ctx, span := t.tracer.Start(ctx, managing+" "+act, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(keySystem.String(system)))
	defer span.End()
	err := f(ctx)
	if err != nil && span.IsRecording() {
		fail(span, err, "failed")
	}
	return err
}
