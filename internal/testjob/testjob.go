// Package testjob gives package chimetest access to what a handler reports about its job. The root package sets its functions; nothing else uses
// them.
package testjob

import "context"

// Said is what a handler has reported in addition to its error.
type Said struct {
	Value, Progress []byte
	Note            string
}

var (
	// Begin prepares a *chime.Job to record its handler's reports, and returns the ctx in which chime.JobFrom finds the job.
	Begin func(ctx context.Context, job any) context.Context
	// Of returns what the handler of a *chime.Job has reported so far.
	Of func(job any) Said
)

// Note returns the note of a *chime.Job's handler.
func Note(job any) string { return Of(job).Note }
