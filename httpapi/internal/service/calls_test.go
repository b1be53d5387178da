package service

import (
	"context"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// The maximum number of sequential calls to the store for each action: a page of jobs is read with one call, not job by job.
func TestActsAreAFewCallsToTheStore(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		s := New(Options{Store: f.cutStore()})
		for i := range 90 {
			f.put(jobIn("demo", i), job(hourly))
		}
		calls := func(act string, most int, do func(context.Context) error) {
			of := &cut{calls: 1 << 30}
			err := do(context.WithValue(t.Context(), cutKey{}, of))
			if err != nil || of.made > most {
				t.Errorf("%s: %d calls, %v; want %d at most", act, of.made, err, most)
			}
		}
		fresh := report
		fresh.Job = "fresh"
		put := func(j *resource.Job, as ...resource.JobName) func(context.Context) error {
			return func(ctx context.Context) error {
				_, _, err := s.PutJob(ctx, append(as, report)[0], Condition{}, false, func(*Job) (*resource.Job, error) { return j, nil })
				return err
			}
		}
		if err := put(job(hourly))(t.Context()); err != nil { // the first call of a process checks the store
			t.Fatal(err)
		}
		if _, err := s.DeleteJob(t.Context(), report, Condition{}); err != nil {
			t.Fatal(err)
		}
		calls("create", 17, put(job(hourly), fresh))
		calls("create after a deletion", 30, put(job(hourly))) // whether a copy of the deleted one has come back is checked
		calls("the same job again", 5, put(job(hourly)))
		calls("change", 15, put(with(job(hourly), func(j *resource.Job) { j.KeepRuns = 1 })))
		calls("get", 4, func(ctx context.Context) error { _, err := s.GetJob(ctx, report); return err })
		calls("run", 7, func(ctx context.Context) error { _, err := s.RunJob(ctx, report, ""); return err })
		calls("list", 6, func(ctx context.Context) error { _, _, err := s.ListJobs(ctx, "demo", Page{Top: 90}); return err })
		calls("history", 8, func(ctx context.Context) error { _, _, err := s.History(ctx, report, HistoryPage{Top: 9}); return err })
		calls("delete", 18, func(ctx context.Context) error { _, err := s.DeleteJob(ctx, report, Condition{}); return err })
	})
}
