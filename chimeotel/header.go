package chimeotel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/propagation"

	"github.com/chimejobs/chime"
)

// maxHeaders is how many bytes of a job's header the context of a span may take; W3C Trace Context takes 600 at most.
const maxHeaders = 1 << 10

// headers are the options that write the context of a span into a job.
func (t *Telemetry) headers(ctx context.Context) []chime.EnqueueOption {
	carrier := propagation.MapCarrier{}
	t.propagator.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(carrier), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(carrier[a]), len(carrier[b])), cmp.Compare(a, b))
	})
	options, size := make([]chime.EnqueueOption, 0, len(keys)), 0
	for _, key := range keys {
		if size += len(key) + len(carrier[key]); size > maxHeaders {
			break
		}
		options = append(options, chime.Header(key, carrier[key]))
	}
	return options
}

// remote returns ctx with the context that travels with a job.
func (t *Telemetry) remote(ctx context.Context, job *chime.Job) context.Context {
	if len(job.Header) == 0 {
		return ctx
	}
	return t.propagator.Extract(ctx, propagation.MapCarrier(job.Header))
}

// refusesHeader reports whether an error, or one of those that it joins, is about a job's header: it has no room, or may not have the key.
func refusesHeader(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(several.Unwrap(), refusesHeader)
	}
	if invalid, ok := err.(*chime.InvalidError); ok && invalid.Field == "header" {
		return true
	}
	err = errors.Unwrap(err)
	return err != nil && refusesHeader(err)
}
