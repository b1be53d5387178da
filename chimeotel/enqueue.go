package chimeotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
)

var enqueueStart = []trace.SpanStartOption{
	trace.WithSpanKind(trace.SpanKindProducer),
	trace.WithAttributes(keySystem.String(system), keyOperationName.String(enqueuing), keyOperationType.String(operationSend)),
}

// Enqueue returns middleware for [chime.Enqueuer.Use]. Put it first, so that the span includes other middleware.
//
// The span gets its queue when the jobs have theirs, so a sampler sees it as "enqueue". A problem with a trace never stops a job from
// being enqueued: if a job's header has no room for the context, the job is sent without it.
func (t *Telemetry) Enqueue() func(chime.EnqueueFunc) chime.EnqueueFunc {
	return func(next chime.EnqueueFunc) chime.EnqueueFunc {
		return func(ctx context.Context, items []chime.Item) ([]chime.Receipt, error) {
			if len(items) == 0 {
				return next(ctx, items)
			}
			return t.enqueue(ctx, items, next)
		}
	}
}

func (t *Telemetry) enqueue(ctx context.Context, items []chime.Item, next chime.EnqueueFunc) ([]chime.Receipt, error) {
	ctx, span := t.tracer.Start(ctx, enqueuing, enqueueStart...)
	defer span.End()
	receipts, err := t.send(ctx, items, next)
	t.meters.sent(ctx, receipts, len(items), err)
	if span.IsRecording() {
		describeItems(span, items, receipts)
		if err != nil {
			fail(span, err, "not enqueued")
		}
	}
	return receipts, err
}

// send passes items on with the context of the span in their headers, or without it if that is too long for them.
func (t *Telemetry) send(ctx context.Context, items []chime.Item, next chime.EnqueueFunc) ([]chime.Receipt, error) {
	headers, size := t.headers(ctx)
	if len(headers) == 0 {
		return next(ctx, items)
	}
	traced := make([]chime.Item, len(items))
	for i, item := range items {
		options := make([]chime.EnqueueOption, 0, len(item.Options)+len(headers))
		item.Options = append(append(options, item.Options...), headers...)
		traced[i] = item
	}
	receipts, err := next(ctx, traced)
	if err == nil {
		return receipts, nil
	}
	if over := excess(err); over > 0 && over <= size { // nothing was sent, and without the context the header is short enough
		return next(ctx, items)
	}
	return receipts, err
}

// describeItems adds the values that are the same for all items.
func describeItems(span trace.Span, items []chime.Item, receipts []chime.Receipt) {
	attributes := make([]attribute.KeyValue, 0, 4)
	if queue, ok := same(receipts, func(r chime.Receipt) string { return r.Queue }); ok {
		span.SetName(enqueuing + " " + queue)
		attributes = append(attributes, keyDestination.String(queue))
	}
	if name, ok := same(items, func(i chime.Item) string { return i.Name }); ok {
		attributes = append(attributes, keyJobName.String(name))
	}
	switch {
	case len(items) > 1:
		attributes = append(attributes, keyBatchCount.Int(len(items)))
	case len(receipts) == 1 && receipts[0].ID != "":
		attributes = append(attributes, keyMessageID.String(receipts[0].ID))
	}
	span.SetAttributes(attributes...)
}

// same returns the value that all of list have; ok is false if they differ, or have none.
func same[T any](list []T, of func(T) string) (value string, ok bool) {
	for i, one := range list {
		if v := of(one); i == 0 {
			value = v
		} else if v != value {
			return "", false
		}
	}
	return value, value != ""
}
