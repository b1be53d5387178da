package chime

import "context"

// A Handler runs jobs of one name. If it returns nil the job is done; if it returns an error the job is retried, unless the error
// is one of [RetryAfter], [Discard] or [Snooze]. It should return soon after ctx ends; context.Cause says why it ended.
type Handler func(ctx context.Context, job *Job) error
