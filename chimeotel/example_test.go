package chimeotel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A job that fails once, from the call that enqueued it to its end.
func Example() {
	exporter := tracetest.NewInMemoryExporter() // a real program uses an exporter of go.opentelemetry.io/otel/exporters/otlp
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	telemetry := chimeotel.New(chimeotel.Options{TracerProvider: provider})

	server := embedded.StartInMemory()
	defer server.Close()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: quiet})
	enqueuer.Use(telemetry.Enqueue())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: quiet, Observers: []*chime.Observer{telemetry.Observer()}})
	worker.Use(telemetry.Handle())

	ctx, stop := context.WithCancel(context.Background())
	worker.Handle("invoice", func(_ context.Context, job *chime.Job) error {
		if job.Attempt == 1 {
			return chime.RetryAfter(time.Millisecond, errors.New("the printer is out of paper"))
		}
		stop()
		return nil
	})
	if _, err := enqueuer.Enqueue(ctx, "invoice", "for anna"); err != nil {
		log.Fatal(err)
	}
	if err := chime.Run(ctx, worker); err != nil {
		log.Fatal(err)
	}

	names := map[trace.SpanID]string{}
	for i, span := range exporter.GetSpans() {
		names[span.SpanContext.SpanID()] = fmt.Sprintf("%d. %s", i+1, span.Name)
		fmt.Println(names[span.SpanContext.SpanID()])
		for _, link := range span.Links {
			fmt.Println("   after", names[link.SpanContext.SpanID()])
		}
		for _, a := range span.Attributes {
			if a.Key == "chime.job.outcome" {
				fmt.Println("  ", a.Value.AsString())
			}
		}
		for _, event := range span.Events {
			fmt.Println("  ", event.Name, event.Attributes[1].Value.AsString())
		}
	}
	// Output:
	// 1. enqueue default
	// 2. process default
	//    after 1. enqueue default
	//    failed
	//    exception the printer is out of paper
	// 3. process default
	//    after 1. enqueue default
	//    after 2. process default
	//    done
}
