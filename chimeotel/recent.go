package chimeotel

import (
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// maxRecent is the maximum number of remembered spans. A span whose job continues in another process is never used.
const maxRecent = 1024

// A spanOf identifies the subject of a span: a job.
type spanOf struct{ queue, id string }

// recentSpans remembers the last spans of jobs until another span links to them, each once. The oldest is dropped first.
type recentSpans struct {
	mu    sync.Mutex
	spans map[spanOf]recentSpan
	order [maxRecent]spanOf // a ring
	next  int               // the slot that is used next
}

type recentSpan struct {
	context trace.SpanContext
	slot    int
}

func newRecentSpans() *recentSpans { return &recentSpans{spans: make(map[spanOf]recentSpan)} }

func (r *recentSpans) put(of spanOf, context trace.SpanContext) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if oldest := r.order[r.next]; r.spans[oldest].slot == r.next {
		delete(r.spans, oldest)
	}
	r.order[r.next] = of
	r.spans[of] = recentSpan{context, r.next}
	r.next = (r.next + 1) % maxRecent
}

func (r *recentSpans) take(of spanOf) (context trace.SpanContext, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) == 0 {
		return context, false
	}
	found, ok := r.spans[of]
	delete(r.spans, of)
	return found.context, ok
}
