// Package testjob is how package chimetest reaches what a handler says of its job. The root package sets its functions; nothing else
// uses them.
package testjob

import "context"

// Said is what a handler has said besides its error.
type Said struct {
	Value, Progress []byte
	Note            string
}

var (
	// Begin has a *chime.Job listen to its handler, and returns the ctx with which chime.JobFrom finds the job.
	Begin func(ctx context.Context, job any) context.Context
	// Of returns what the handler of a *chime.Job has said until now.
	Of func(job any) Said
)

// Note is the remark of a *chime.Job's handler.
func Note(job any) string { return Of(job).Note }
