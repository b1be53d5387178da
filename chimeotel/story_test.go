package chimeotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

var quiet = slog.New(slog.DiscardHandler)

// A recorded is a telemetry with everything that it has recorded.
type recorded struct {
	*chimeotel.Telemetry
	t      testing.TB
	spans  *tracetest.SpanRecorder
	tracer trace.Tracer // of the surrounding program
	meters *sdkmetric.ManualReader
}

func record(t testing.TB, options chimeotel.Options) *recorded {
	r := &recorded{t: t, spans: tracetest.NewSpanRecorder(), meters: sdkmetric.NewManualReader()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.tracer = provider.Tracer("program")
	options.TracerProvider = provider
	options.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.meters))
	r.Telemetry = chimeotel.New(options)
	return r
}

func (r *recorded) enqueuer(c *chimetest.Chime) *chime.Enqueuer {
	enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Logger: quiet})
	enqueuer.Use(r.Enqueue())
	return enqueuer
}

func (r *recorded) worker(c *chimetest.Chime, queues ...string) *chime.Worker {
	options := chime.WorkerOptions{Logger: quiet, Observers: []*chime.Observer{r.Observer()}, Queues: map[string]int{}}
	for _, queue := range queues {
		options.Queues[queue] = 1
	}
	worker := chime.NewWorker(c.Store(), options)
	worker.Use(r.Handle())
	return worker
}

func (r *recorded) scheduler(c *chimetest.Chime) *chime.Scheduler {
	return chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: quiet, Observers: []*chime.Observer{r.Observer()}})
}

// want compares the recorded spans with a sketch, and drops them.
func (r *recorded) want(sketched string) {
	r.t.Helper()
	if got, want := sketch(r.spans), strings.TrimPrefix(sketched, "\n"); got != want {
		r.t.Errorf("the spans are\n%s\nwant\n%s", got, want)
	}
	if n := len(r.spans.Started()) - len(r.spans.Ended()); n != 0 {
		r.t.Errorf("%d spans have not ended", n)
	}
	r.spans.Reset()
}

// metrics returns the recorded values by metric and attributes.
func (r *recorded) metrics() map[string]int64 {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.meters.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	found := map[string]int64{}
	text := func(name string, set attribute.Set) string {
		return name + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					found[text(m.Name, point.Attributes)] = point.Value
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					found[text(m.Name, point.Attributes)] = int64(point.Count)
				}
			default:
				r.t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return found
}

// failsOnce fails the first attempt of each job.
func failsOnce(_ context.Context, job *chime.Job) error {
	time.Sleep(time.Second) // fake time: how long an attempt takes
	if job.Attempt == 1 {
		return chime.RetryAfter(time.Minute, errors.New("the printer is out of paper"))
	}
	return nil
}

func TestEnqueuingTwoAttemptsAndTheEndAreOneStory(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker := r.worker(c, "print")
		worker.Handle("invoice", failsOnce)
		c.Start(worker)
		ctx, request := r.tracer.Start(t.Context(), "POST /orders")
		if _, err := r.enqueuer(c).Enqueue(ctx, "invoice", "for anna", chime.Queue("print"), chime.ID("order-7")); err != nil {
			t.Fatal(err)
		}
		request.End()
		c.Advance(time.Hour)
		traces := map[trace.TraceID]int{}
		for _, s := range r.spans.Ended() {
			traces[s.SpanContext().TraceID()]++
		}
		if len(traces) != 3 {
			t.Errorf("the spans belong to %d traces, want 3: the request, and each attempt", len(traces))
		}
		r.want(`
POST /orders, internal
enqueue print, producer, under POST /orders
  messaging.system=chime
  messaging.operation.name=enqueue
  messaging.operation.type=send
  messaging.destination.name=print
  chime.job.name=invoice
  messaging.message.id=order-7
process print, consumer, Error: retried
  after enqueue print
  messaging.system=chime
  messaging.operation.name=process
  messaging.operation.type=process
  messaging.destination.name=print
  messaging.destination.partition.id=0
  messaging.message.id=order-7
  messaging.message.body.size=9
  messaging.client.id=…
  chime.job.name=invoice
  chime.job.attempt=1
  chime.job.max_attempts=25
  chime.job.crashes=0
  chime.job.fence=…
  chime.job.outcome=failed
  error.type=*errors.errorString
  event exception
    exception.type=*errors.errorString
    exception.message=the printer is out of paper
process print (2), consumer
  after enqueue print
  after process print
  messaging.system=chime
  messaging.operation.name=process
  messaging.operation.type=process
  messaging.destination.name=print
  messaging.destination.partition.id=0
  messaging.message.id=order-7
  messaging.message.body.size=9
  messaging.client.id=…
  chime.job.name=invoice
  chime.job.attempt=2
  chime.job.max_attempts=25
  chime.job.crashes=0
  chime.job.fence=…
  chime.job.outcome=done
`)
	})
}

// For the spans in any order: name, parent or "-", links.
func (r *recorded) wantFamily(want ...string) {
	r.t.Helper()
	var got []string
	for line := range strings.Lines(sketch(r.spans)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "  after "):
			got[len(got)-1] += " | " + strings.TrimSpace(line)
		case !strings.HasPrefix(line, " "):
			name, rest, _ := strings.Cut(line, ", ")
			_, parent, _ := strings.Cut(rest, "under ")
			parent, _, _ = strings.Cut(parent, ", ")
			if parent != "" {
				name += " | under " + parent
			}
			got = append(got, name)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("the spans are\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
	r.spans.Reset()
}

func TestWithParentAnAttemptIsAChild(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{Parent: true})
		worker := r.worker(c, "default")
		worker.Handle("invoice", failsOnce)
		c.Start(worker)
		if _, err := r.enqueuer(c).Enqueue(t.Context(), "invoice", nil); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		for _, s := range r.spans.Ended() {
			if s.SpanContext().TraceID() != r.spans.Ended()[0].SpanContext().TraceID() {
				t.Errorf("%s is in another trace", s.Name())
			}
		}
		r.wantFamily("enqueue default", "process default | under enqueue default", "process default (2) | under enqueue default | after process default")
	})
}

func TestTheJobsOfABatchLinkToOneSpan(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		enqueuer := r.enqueuer(c)
		on := func(queue, name string) chime.Item {
			return chime.Item{Name: name, Options: []chime.EnqueueOption{chime.Queue(queue)}}
		}
		for _, batch := range [][]chime.Item{{on("a", "one"), on("a", "one")}, {on("a", "one"), on("b", "two"), on("b", "two")}} {
			if _, err := enqueuer.EnqueueMany(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		want := `
enqueue a, producer
  messaging.system=chime
  messaging.operation.name=enqueue
  messaging.operation.type=send
  messaging.destination.name=a
  chime.job.name=one
  messaging.batch.message_count=2
enqueue, producer
  messaging.system=chime
  messaging.operation.name=enqueue
  messaging.operation.type=send
  messaging.batch.message_count=3
`
		if got := "\n" + sketch(r.spans); got != want {
			t.Errorf("the spans are%s\nwant%s", got, want)
		}
		batches := map[trace.SpanID]string{}
		for _, s := range r.spans.Ended() {
			batches[s.SpanContext().SpanID()] = s.Name()
		}
		r.spans.Reset()
		worker := r.worker(c, "a", "b")
		worker.Handle("one", func(context.Context, *chime.Job) error { return nil })
		worker.Handle("two", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker)
		c.Advance(time.Minute)
		links := map[string]int{}
		for _, s := range r.spans.Ended() {
			for _, link := range s.Links() {
				links[s.Name()+" after "+batches[link.SpanContext.SpanID()]]++
			}
		}
		if want := "map[process a after enqueue:1 process a after enqueue a:2 process b after enqueue:2]"; fmt.Sprint(links) != want {
			t.Errorf("the links are %v, want %v", links, want)
		}
		r.spans.Reset()
		if receipts, err := enqueuer.EnqueueMany(t.Context(), nil); len(receipts) != 0 || err != nil {
			t.Errorf("without items: %v, %v", receipts, err)
		}
		if n := len(r.spans.Ended()); n != 0 {
			t.Errorf("without items there are %d spans", n)
		}
		for name, want := range map[string]int64{
			"messaging.client.sent.messages{messaging.destination.name=a,messaging.operation.name=enqueue,messaging.operation.type=send,messaging.system=chime}":            3,
			"messaging.client.sent.messages{messaging.destination.name=b,messaging.operation.name=enqueue,messaging.operation.type=send,messaging.system=chime}":            2,
			"messaging.client.consumed.messages{messaging.destination.name=b,messaging.operation.name=process,messaging.operation.type=process,messaging.system=chime}":     2,
			"messaging.process.duration{messaging.destination.name=a,messaging.operation.name=process,messaging.operation.type=process,messaging.system=chime}":             3,
			"messaging.client.consumed.messages{messaging.destination.name=never,messaging.operation.name=process,messaging.operation.type=process,messaging.system=chime}": 0,
		} {
			if got := r.metrics()[name]; got != want {
				t.Errorf("%s is %d, want %d", name, got, want)
			}
		}
	})
}

func TestAnOccurrenceLinksToItsPlacing(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		worker, scheduler := r.worker(c, "print"), r.scheduler(c)
		worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
		at := time.Now().Add(30 * time.Second)
		if err := scheduler.Schedule("monthly", recurrence.Recurrence{StartTime: at}, chime.JobName("report"), chime.Queue("print")); err != nil {
			t.Fatal(err)
		}
		c.Start(scheduler, worker)
		c.Advance(time.Minute)
		r.want(`
place print, internal
  messaging.system=chime
  messaging.destination.name=print
  messaging.message.id=monthly@2000-01-12T10:17:30Z
  chime.schedule.name=monthly
  chime.schedule.planned=2000-01-12T10:17:30Z
  chime.schedule.lateness_s=0
process print, consumer
  after place print
  messaging.system=chime
  messaging.operation.name=process
  messaging.operation.type=process
  messaging.destination.name=print
  messaging.destination.partition.id=0
  messaging.message.id=monthly@2000-01-12T10:17:30Z
  messaging.message.body.size=0
  messaging.client.id=…
  chime.job.name=report
  chime.job.attempt=1
  chime.job.max_attempts=5
  chime.job.crashes=0
  chime.job.fence=…
  chime.schedule.name=monthly
  chime.schedule.planned=2000-01-12T10:17:30Z
  chime.schedule.lateness_s=0
  chime.schedule.trigger=occurrence
  chime.job.outcome=done
`)
	})
}

func TestOccurrencesThatAreDueTogetherArePlacedInOneSpan(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		r := record(t, chimeotel.Options{})
		scheduler := r.scheduler(c)
		for _, name := range []string{"a", "b", "c"} {
			if err := scheduler.Schedule(name, recurrence.Recurrence{StartTime: time.Now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		c.Start(scheduler)
		c.Advance(time.Minute)
		r.want(`
place default, internal
  messaging.system=chime
  messaging.destination.name=default
  messaging.batch.message_count=3
`)
	})
}

// A job carries W3C Trace Context, so programs in other languages can continue it; another propagator may be set.
func TestTheContextTravelsInHeaders(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		for name, propagator := range map[string]propagation.TextMapPropagator{
			"W3C": nil, "with baggage": propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		} {
			r := record(t, chimeotel.Options{Propagator: propagator})
			ctx := propagation.Baggage{}.Extract(t.Context(), propagation.MapCarrier{"baggage": "tenant=acme"})
			item := chime.Item{Name: "job"}
			var sent *chime.Job
			_, _ = r.Enqueue()(func(_ context.Context, items []chime.Item) ([]chime.Receipt, error) {
				sent = chimetest.NewJob(t, items[0])
				return []chime.Receipt{{ID: sent.ID, Queue: "default"}}, nil
			})(ctx, []chime.Item{item})
			span := r.spans.Ended()[0].SpanContext()
			if got, want := sent.Header["traceparent"], "00-"+span.TraceID().String()+"-"+span.SpanID().String()+"-01"; got != want {
				t.Errorf("%s: traceparent is %q, want %q", name, got, want)
			}
			if got, want := sent.Header["baggage"] != "", propagator != nil; got != want {
				t.Errorf("%s: the job has baggage: %v", name, got)
			}
		}
	})
}
