package chime

import "context"

// A Handler runs jobs of one name. Returning nil ends the job; an error has it retried unless RetryAfter, Discard or Snooze
// say otherwise. It should return soon after ctx ends; context.Cause tells why it did.
type Handler func(ctx context.Context, job *Job) error

// A Middleware wraps a handler. It is called once a handler, when the worker starts.
type Middleware = func(Handler) Handler
