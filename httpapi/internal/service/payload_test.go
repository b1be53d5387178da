package service

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func TestAPayloadOfOneDigitIsTheNumberThatTheHandlerGets(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		var got []int
		f.set(func() {
			f.fail = func(job *chime.Job) error {
				var n int
				err := job.Decode(&n)
				got = append(got, n)
				return err
			}
		})
		f.work()
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.put(report, with(job(hourly), func(j *resource.Job) {
			j.Action = &action.Action{Type: action.Job, Job: &action.JobTarget{Name: "app", Payload: json.RawMessage("5")}}
		}))
		time.Sleep(time.Hour) // fake time
		synctest.Wait()
		f.set(func() {
			if len(got) == 0 || got[0] != 5 {
				t.Errorf("the handler got %v, want 5", got)
			}
		})
		if shown := f.get(report).Job.Action.Job.Payload; string(shown) != "5" {
			t.Errorf("the payload is shown as %q, want 5", shown)
		}
		stored, err := f.schedules.Get(t.Context(), report.Schedule())
		if err != nil {
			t.Fatal(err)
		}
		options := append(stored.Options(), chime.Args(53)) // as msgpack it is the character 5
		if _, err := f.schedules.Put(t.Context(), report.Schedule(), stored.Recurrence, options...); err != nil {
			t.Fatal(err)
		}
		if shown := f.get(report).Job.Action.Job.Payload; string(shown) != "53" {
			t.Errorf("the number of another program is shown as %q, want 53 as the handler gets it", shown)
		}
	})
}
