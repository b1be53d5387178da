package chimeotel_test

import (
	"context"
	"testing"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimetest"
)

// The spans are dropped: exporting is not part of the measurement.
type dropped struct{}

func (dropped) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (dropped) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (dropped) Shutdown(context.Context) error                  { return nil }
func (dropped) ForceFlush(context.Context) error                { return nil }

// The overhead of telemetry for a job: without an SDK, with metrics and no trace, and with both.
func overhead() map[string]*chimeotel.Telemetry {
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	return map[string]*chimeotel.Telemetry{
		"off": chimeotel.New(chimeotel.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}),
		"unsampled": chimeotel.New(chimeotel.Options{MeterProvider: meters,
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()), sdktrace.WithSpanProcessor(dropped{}))}),
		"sampled": chimeotel.New(chimeotel.Options{MeterProvider: meters, TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(dropped{}))}),
	}
}

func BenchmarkHandle(b *testing.B) {
	for name, telemetry := range overhead() {
		b.Run(name, func(b *testing.B) {
			var job *chime.Job
			enqueue := telemetry.Enqueue()(func(_ context.Context, items []chime.Item) ([]chime.Receipt, error) {
				job = chimetest.NewJob(b, items[0])
				return []chime.Receipt{{ID: job.ID, Queue: job.Queue}}, nil
			})
			if _, err := enqueue(b.Context(), []chime.Item{{Name: "job"}}); err != nil {
				b.Fatal(err)
			}
			handle := telemetry.Handle()(func(context.Context, *chime.Job) error { return nil })
			b.ReportAllocs()
			for b.Loop() {
				if err := handle(b.Context(), job); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEnqueue(b *testing.B) {
	for name, telemetry := range overhead() {
		b.Run(name, func(b *testing.B) {
			receipts := []chime.Receipt{{ID: "P78fC9TSkSY8Ui", Queue: "default"}}
			enqueue := telemetry.Enqueue()(func(context.Context, []chime.Item) ([]chime.Receipt, error) { return receipts, nil })
			items := []chime.Item{{Name: "job"}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := enqueue(b.Context(), items); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
