package chime

import (
	"context"

	"github.com/chimejobs/chime/internal/work"
)

// A Handler runs jobs of one name. If it returns nil the job is done; if it returns an error the job is retried, unless the error
// is one of [RetryAfter], [Discard] or [Snooze]. It should return soon after ctx ends; context.Cause says why it ended.
type Handler func(ctx context.Context, job *Job) error

// JobFrom returns the job of the handler that got this ctx, or one derived from it; nil elsewhere. A slog.Handler adds with it the job
// to every line that a handler logs with its ctx.
func JobFrom(ctx context.Context) *Job {
	if ctx == nil {
		return nil
	}
	job, _ := work.JobFrom(ctx).(*Job)
	return job
}
