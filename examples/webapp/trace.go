package main

import (
	"context"
	"fmt"
	"io"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// tracing prints each ended span on one line. A program in production sends them to a collector.
func tracing(out io.Writer) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(printer{out}))
}

// A printer is an exporter of spans.
type printer struct{ out io.Writer }

func (p printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, span := range spans {
		took := span.EndTime().Sub(span.StartTime()).Round(time.Microsecond)
		if _, err := fmt.Fprintf(p.out, "trace %s %s %s %s\n", span.SpanContext().TraceID(), span.Name(), took, span.Status().Description); err != nil {
			return err
		}
	}
	return nil
}

func (p printer) Shutdown(context.Context) error { return nil }
