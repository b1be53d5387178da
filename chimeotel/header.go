package chimeotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/propagation"

	"github.com/chimejobs/chime"
)

const (
	maxHeaders = 1 << 10 // bytes of a job's header that the context of a span may take; W3C Trace Context takes 600 at most
	maxKey     = 100     // bytes of a key, as chime.Header says
)

// headers are the options that write the context of a span into a job, and the bytes that they take there.
func (t *Telemetry) headers(ctx context.Context) (options []chime.EnqueueOption, size int) {
	carrier := propagation.MapCarrier{}
	t.propagator.Inject(ctx, carrier)
	maps.DeleteFunc(carrier, func(key, value string) bool { return !fits(key, value) })
	if len(carrier) == 0 {
		return nil, 0
	}
	keys := slices.SortedFunc(maps.Keys(carrier), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(carrier[a]), len(carrier[b])), cmp.Compare(a, b))
	})
	options = make([]chime.EnqueueOption, 0, len(keys))
	for _, key := range keys {
		more := len(key) + len(carrier[key])
		if size+more > maxHeaders {
			break
		}
		options, size = append(options, chime.Header(key, carrier[key])), size+more
	}
	return options, size
}

// fits reports whether a job's header may have an entry: what a propagator of one's own writes may be anything.
func fits(key, value string) bool {
	return key != "" && len(key) <= maxKey && utf8.ValidString(key) && !strings.ContainsFunc(key, unicode.IsControl) && utf8.ValidString(value)
}

// remote returns ctx with the context that travels with a job.
func (t *Telemetry) remote(ctx context.Context, job *chime.Job) context.Context {
	if len(job.Header) == 0 {
		return ctx
	}
	return t.propagator.Extract(ctx, propagation.MapCarrier(job.Header))
}

// excess is by how many bytes a job's header is longer than chime takes it, as an error says or one of those that it joins, the most of them;
// 0: none says that.
func excess(err error) (bytes int) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			bytes = max(bytes, excess(one))
		}
		return bytes
	}
	if invalid, ok := err.(*chime.InvalidError); ok && invalid.Field == "header" {
		var size, limit int
		if n, _ := fmt.Sscanf(invalid.Value+" "+invalid.Limit, "%d bytes %d bytes at most", &size, &limit); n == 2 {
			return size - limit
		}
	}
	if err = errors.Unwrap(err); err != nil {
		return excess(err)
	}
	return 0
}
