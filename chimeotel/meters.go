package chimeotel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/chimejobs/chime"
)

// maxSeries is the maximum number of attribute sets in the cache; others are created each time.
const maxSeries = 1024

// meters are the metrics. Their attributes are the operation, the queue and the type of the error.
type meters struct {
	sentMessages, consumedMessages metric.Int64Counter
	processDuration                metric.Float64Histogram

	kept   sync.Map // seriesOf -> *series
	number atomic.Int64
}

// A seriesOf identifies a set of attributes.
type seriesOf struct{ operation, queue, failure string }

// A series is a set of attributes in the form of the instruments.
type series struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newMeters(provider metric.MeterProvider) *meters {
	m, meter := new(meters), provider.Meter(scope, metric.WithSchemaURL(schemaURL))
	var errs [3]error
	m.sentMessages, errs[0] = meter.Int64Counter(metricSent, metric.WithUnit("{message}"),
		metric.WithDescription("Number of messages producer attempted to send to the broker."))
	m.consumedMessages, errs[1] = meter.Int64Counter(metricConsumed, metric.WithUnit("{message}"),
		metric.WithDescription("Number of messages that were delivered to the application."))
	m.processDuration, errs[2] = meter.Float64Histogram(metricDuration, metric.WithUnit("s"), metric.WithDescription("Duration of processing operation."),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300))
	for _, err := range errs {
		if err != nil { // the instrument then does nothing
			otel.Handle(err)
		}
	}
	return m
}

// sent counts n jobs of an enqueuing; err is the error of the call.
func (m *meters) sent(ctx context.Context, receipts []chime.Receipt, n int, err error) {
	failure := ""
	if err != nil {
		failure = errorType(err)
	}
	if queue, ok := same(receipts, func(r chime.Receipt) string { return r.Queue }); ok || len(receipts) == 0 {
		m.sentMessages.Add(ctx, int64(n), m.series(seriesOf{enqueuing, queue, failure}).add...)
		return
	}
	of := make(map[string]int64)
	for _, r := range receipts {
		of[r.Queue]++
	}
	for queue, n := range of {
		m.sentMessages.Add(ctx, n, m.series(seriesOf{enqueuing, queue, failure}).add...)
	}
}

// consumed counts a job that a handler gets.
func (m *meters) consumed(ctx context.Context, queue string) {
	m.consumedMessages.Add(ctx, 1, m.series(seriesOf{processing, queue, ""}).add...)
}

// processed records the duration of an attempt; failure is its error.type, if it failed.
func (m *meters) processed(ctx context.Context, queue, failure string, took time.Duration) {
	m.processDuration.Record(ctx, took.Seconds(), m.series(seriesOf{processing, queue, failure}).record...)
}

func (m *meters) series(of seriesOf) *series {
	if kept, ok := m.kept.Load(of); ok {
		return kept.(*series)
	}
	attributes := []attribute.KeyValue{keySystem.String(system), keyOperationName.String(of.operation)}
	if of.operation == processing {
		attributes = append(attributes, keyOperationType.String(processing))
	} else {
		attributes = append(attributes, keyOperationType.String(operationSend))
	}
	if of.queue != "" {
		attributes = append(attributes, keyDestination.String(of.queue))
	}
	if of.failure != "" {
		attributes = append(attributes, keyErrorType.String(of.failure))
	}
	set := metric.WithAttributeSet(attribute.NewSet(attributes...))
	made := &series{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
	if m.number.Add(1) <= maxSeries {
		m.kept.Store(of, made)
	}
	return made
}
