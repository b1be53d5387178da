package chimeotel

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const (
	maxMessage = 2 << 10  // bytes of an error's text: it may contain a server's answer
	maxStack   = 16 << 10 // bytes
)

// fail records in a span that a call failed.
func fail(span trace.Span, err error, status string) {
	failAs(span, err, errorType(err), nil, status)
}

// failAs records an error: its type in an attribute, its text in an event, and a status without the text of the
// error.
func failAs(span trace.Span, err error, kind string, stack []byte, status string) {
	span.SetStatus(codes.Error, status)
	span.SetAttributes(keyErrorType.String(kind))
	event := make([]attribute.KeyValue, 0, 3)
	event = append(event, keyExceptionType.String(errorType(err)), keyExceptionMessage.String(cut(fmt.Sprint(err), maxMessage))) // fmt recovers if Error panics
	if len(stack) > 0 {
		event = append(event, keyExceptionStack.String(cut(string(stack), maxStack)))
	}
	span.AddEvent(eventException, trace.WithAttributes(event...))
}

// cut returns the first bytes of a text, as UTF-8.
func cut(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
