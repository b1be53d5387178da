//go:build long

package service

import (
	"fmt"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A filter without matches reads a thousand jobs, and returns where to continue.
func TestAFilteredPageReadsAThousandJobs(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxJobCount: 1001}})
		for i := range 1001 {
			f.put(resource.JobName{Collection: "demo", Job: fmt.Sprintf("job-%04d", i)}, job(hourly))
		}
		none := Page{Top: 1, State: "disabled"}
		found, next, err := f.ListJobs(t.Context(), "demo", none)
		if err != nil || len(found) != 0 || next != "job-0999" {
			t.Errorf("%d jobs, then %q, %v; want no job, and the thousandth as next", len(found), next, err)
		}
		none.After = next
		if found, next, err = f.ListJobs(t.Context(), "demo", none); err != nil || len(found) != 0 || next != "" {
			t.Errorf("%d jobs, then %q, %v; want no job, and the end", len(found), next, err)
		}
	})
}
