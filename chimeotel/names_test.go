package chimeotel

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
	"go.opentelemetry.io/otel/trace"
)

func TestTheNamesAreThoseOfTheConventions(t *testing.T) {
	for ours, theirs := range map[attribute.Key]attribute.Key{
		keySystem: semconv.MessagingSystemKey, keyOperationName: semconv.MessagingOperationNameKey, keyOperationType: semconv.MessagingOperationTypeKey,
		keyDestination: semconv.MessagingDestinationNameKey, keyPartition: semconv.MessagingDestinationPartitionIDKey, keyMessageID: semconv.MessagingMessageIDKey,
		keyBodySize: semconv.MessagingMessageBodySizeKey, keyBatchCount: semconv.MessagingBatchMessageCountKey, keyClientID: semconv.MessagingClientIDKey,
		keyErrorType: semconv.ErrorTypeKey, keyExceptionType: semconv.ExceptionTypeKey, keyExceptionMessage: semconv.ExceptionMessageKey, keyExceptionStack: semconv.ExceptionStacktraceKey,
	} {
		if ours != theirs {
			t.Errorf("our name is %s, the conventions have %s", ours, theirs)
		}
	}
	for ours, theirs := range map[string]string{
		schemaURL: semconv.SchemaURL, eventException: semconv.ExceptionEventName,
		operationSend: semconv.MessagingOperationTypeSend.Value.AsString(), processing: semconv.MessagingOperationTypeProcess.Value.AsString(),
		metricSent: messagingconv.ClientSentMessages{}.Name(), metricConsumed: messagingconv.ClientConsumedMessages{}.Name(), metricDuration: messagingconv.ProcessDuration{}.Name(),
	} {
		if ours != theirs {
			t.Errorf("our name is %s, the conventions have %s", ours, theirs)
		}
	}
}

func spanContext(n int) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(n >> 8), byte(n), 1}})
}

func TestTheLastSpansAreRememberedOnce(t *testing.T) {
	r := newRecentSpans()
	key := func(i int) spanOf { return spanOf{"q", fmt.Sprint(i)} }
	for i := range 3 * maxRecent {
		r.put(key(i), spanContext(i))
		r.put(spanOf{"q", "again"}, spanContext(i)) // a job that fails often
		if len(r.spans) > maxRecent {
			t.Fatalf("%d spans are kept, want %d at most", len(r.spans), maxRecent)
		}
	}
	if _, ok := r.take(key(2 * maxRecent)); ok {
		t.Error("a span is still there after the maximum number of later ones")
	}
	for i, of := range map[int]spanOf{3*maxRecent - 1: key(3*maxRecent - 1), 3*maxRecent - 2: key(3*maxRecent - 2)} {
		if got, ok := r.take(of); !ok || !got.Equal(spanContext(i)) {
			t.Errorf("for %v it has %v, %v", of, got, ok)
		}
		if _, ok := r.take(of); ok {
			t.Errorf("%v is there again", of)
		}
	}
	if got, ok := r.take(spanOf{"q", "again"}); !ok || !got.Equal(spanContext(3*maxRecent-1)) {
		t.Errorf("for a job with many attempts it has %v, %v, want the last one", got, ok)
	}
}
