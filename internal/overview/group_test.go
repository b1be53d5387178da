package overview_test

import (
	"slices"
	"testing"

	"github.com/chimejobs/chime/internal/overview"
)

// The largest group need not be one of the job that has failed most often.
func TestFailuresAreCountedByJob(t *testing.T) {
	groups := []overview.Group{{Job: "panics", Error: "panic", Count: 12}, {Job: "imports", Error: "disk full", Count: 11}, {Job: "imports", Error: "timeout", Count: 10}, {Job: "imports", Count: 2}}
	for range len(groups) {
		if job, most, all := overview.ByJob(groups); job != "imports" || most != 23 || all != 35 {
			t.Errorf("got %d of %d attempts of job %s, want 23 of 35 of job imports", most, all, job)
		}
		groups = slices.Concat(groups[1:], groups[:1])
	}
	if job, most, all := overview.ByJob(nil); job != "" || most != 0 || all != 0 {
		t.Errorf("without groups: got %d of %d attempts of job %q", most, all, job)
	}
}
