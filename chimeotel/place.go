package chimeotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
)

// Observer returns an observer that creates a span for each placing of occurrences. Add it to the Observers of schedulers and of workers, which
// place occurrences too. From a worker it also receives the attempts that were settled before their handlers returned.
func (t *Telemetry) Observer() *chime.Observer {
	return &chime.Observer{Placed: t.placed, Ended: t.running.ended}
}

func (t *Telemetry) placed(places []chime.PlaceEvent) {
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].Queue == places[0].Queue {
			n++
		}
		t.place(places[:n])
		places = places[n:]
	}
}

// place creates the span for occurrences of one queue. It has no duration, because it is created after they have been placed.
func (t *Telemetry) place(places []chime.PlaceEvent) {
	queue := places[0].Queue
	_, span := t.tracer.Start(context.Background(), placing+" "+queue, trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(keySystem.String(system), keyDestination.String(queue)))
	defer span.End()
	if span.SpanContext().IsSampled() {
		for _, p := range places {
			t.places.put(spanOf{queue, occurrenceID(p)}, span.SpanContext())
		}
	}
	if !span.IsRecording() {
		return
	}
	attributes := make([]attribute.KeyValue, 0, 4)
	if len(places) > 1 {
		attributes = append(attributes, keyBatchCount.Int(len(places)))
	} else {
		p := places[0]
		attributes = append(attributes, keyMessageID.String(occurrenceID(p)), keySchedule.String(p.Schedule), keyPlanned.String(p.Planned.UTC().Format(time.RFC3339Nano)),
			keyLateness.Float64(p.Owed.Seconds()))
	}
	span.SetAttributes(attributes...)
}

// occurrenceID is the job ID of an occurrence.
func occurrenceID(p chime.PlaceEvent) string {
	return p.Schedule + "@" + p.Planned.UTC().Format(time.RFC3339Nano)
}
