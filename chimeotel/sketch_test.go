package chimeotel_test

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// sketch draws spans as text, in the order of their starts: the kind, the parent, the links and the content of each. A span
// is identified by its name and, from the second one on, by a number. Values that differ in every run are drawn as "…".
func sketch(recorder *tracetest.SpanRecorder) string {
	spans := recorder.Started()
	called, count := map[trace.SpanID]string{}, map[string]int{}
	for _, s := range spans {
		name := s.Name()
		if count[name]++; count[name] > 1 {
			name += fmt.Sprintf(" (%d)", count[name])
		}
		called[s.SpanContext().SpanID()] = name
	}
	name := func(of trace.SpanContext) string {
		if n, ok := called[of.SpanID()]; ok {
			return n
		}
		return "somebody else"
	}
	var b strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&b, "%s, %v", name(s.SpanContext()), s.SpanKind())
		if s.Parent().IsValid() {
			fmt.Fprintf(&b, ", under %s", name(s.Parent()))
		}
		if s.Status().Code != codes.Unset {
			fmt.Fprintf(&b, ", %v: %s", s.Status().Code, s.Status().Description)
		}
		for _, link := range s.Links() {
			fmt.Fprintf(&b, "\n  after %s", name(link.SpanContext))
		}
		for _, a := range s.Attributes() {
			value := a.Value.String()
			if key := string(a.Key); key == "messaging.client.id" || key == "chime.job.fence" {
				value = "…"
			}
			fmt.Fprintf(&b, "\n  %s=%s", a.Key, value)
		}
		for _, event := range s.Events() {
			fmt.Fprintf(&b, "\n  event %s", event.Name)
			for _, a := range event.Attributes {
				value := a.Value.String()
				if a.Key == "exception.stacktrace" {
					value = "…"
				}
				fmt.Fprintf(&b, "\n    %s=%s", a.Key, value)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
