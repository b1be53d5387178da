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
	maxHeaders = 1 << 10 // maximum bytes of a job's header for the context of a span; W3C Trace Context needs at most 600
	maxKey     = 100     // maximum bytes of a key, from chime.Header
)

// headers returns the options that write the context of a span into a job, and the bytes that they need there.
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

// fits reports whether a job's header may have an entry: a custom propagator may write anything.
func fits(key, value string) bool {
	return key != "" && len(key) <= maxKey && utf8.ValidString(key) && !strings.ContainsFunc(key, unicode.IsControl) && utf8.ValidString(value)
}

// remote returns ctx with the context from a job's header.
func (t *Telemetry) remote(ctx context.Context, job *chime.Job) context.Context {
	if len(job.Header) == 0 {
		return ctx
	}
	return t.propagator.Extract(ctx, propagation.MapCarrier(job.Header))
}

// excess is the number of bytes by which a job's header is too long, according to an error or to one of its joined errors, the largest of them;
// 0: no error reports that.
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
