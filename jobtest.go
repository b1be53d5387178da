package chime

import (
	"context"

	"github.com/chimejobs/chime/internal/testjob"
	"github.com/chimejobs/chime/internal/work"
)

// What package chimetest needs of a job and no application does.
func init() {
	testjob.Begin = func(ctx context.Context, job any) context.Context {
		j := job.(*Job)
		j.output = new(work.Output)
		j.output.See(j)
		return work.WithOutput(ctx, j.output)
	}
	testjob.Of = func(job any) (said testjob.Said) {
		if j := job.(*Job); j.output != nil {
			said.Value, said.Progress, said.Note = j.output.Said()
		}
		return said
	}
}
