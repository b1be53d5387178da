package jobfind

import (
	"slices"
	"strings"

	"github.com/chimejobs/chime"
)

// Failures returns the failed attempts that are stored with a job, oldest first. The last one has the job's LastError, because the text of a Failure is
// cut earlier.
func Failures(job *chime.JobInfo) []chime.Failure {
	all := slices.Clone(job.Failures)
	if n := len(all); n > 0 && strings.HasPrefix(job.LastError, strings.TrimSuffix(all[n-1].Error, "…")) {
		all[n-1].Error = job.LastError
	}
	return all
}
