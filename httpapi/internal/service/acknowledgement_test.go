package service

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func TestOnlyAFailingJobIsAcknowledged(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.put(report, job(hourly))
		known := resource.Acknowledgement{Note: "the bank repairs it"}
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		if _, err := f.Acknowledge(t.Context(), report, "anna", known); !isProblem(err, problem.JobNotFailing) {
			t.Errorf("a job that is well: %v", err)
		}
		f.set(func() { f.fail = func(*chime.Job) error { return errors.New("closed") } })
		time.Sleep(time.Hour) // fake time
		synctest.Wait()
		v, err := f.Acknowledge(t.Context(), report, "anna", known)
		if err != nil || v.Job != report.Job || v.By != "anna" || v.Note != known.Note || v.Since.IsZero() || !v.Until.IsZero() {
			t.Errorf("%+v, %v", v, err)
		}
		f.collect("other", &resource.Collection{})
		for name, want := range map[string]int{"demo": 1, "other": 0} {
			if all, err := f.Acknowledgements(t.Context(), name); err != nil || len(all) != want {
				t.Errorf("%s: %v, %v, want %d", name, all, err, want)
			}
		}
		for _, want := range []bool{true, false} {
			if existed, err := f.EndAcknowledgement(t.Context(), report); existed != want || err != nil {
				t.Errorf("ended: %v, %v, want %v", existed, err, want)
			}
		}
		if _, err := f.Acknowledge(t.Context(), resource.JobName{Collection: "demo", Job: "none"}, "anna", known); !isProblem(err, problem.NotFound) {
			t.Errorf("a job that does not exist: %v", err)
		}
	})
}
