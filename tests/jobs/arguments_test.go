package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestJSONOfOneDigitIsTheSameNumberEverywhere(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		enqueuer, jobs := quietEnqueuer(store, chime.EnqueuerOptions{}), chime.NewJobs(store)
		five := json.RawMessage("5")
		_, failed := chime.NewSchedules(store).Put(t.Context(), "s", recurrence.Recurrence{Cron: "@yearly"}, chime.JobName("double"), chime.Args(five))
		receipt, err := enqueuer.Enqueue(t.Context(), "double", five, chime.Keep(time.Hour))
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		worker := f.Worker(chime.WorkerOptions{Concurrency: 1})
		var got []int
		worker.Handle("double", func(_ context.Context, job *chime.Job) error {
			var n int
			if err := job.Decode(&n); err != nil {
				return err
			}
			got = append(got, n)
			return errors.Join(job.Progress(json.RawMessage(strconv.Itoa(n-1))), job.Return(json.RawMessage(strconv.Itoa(n+2))))
		})
		if err := f.Start(worker)(); err != nil {
			t.Error(err)
		}
		if len(got) != 2 || got[0] != 5 || got[1] != 5 {
			t.Errorf("the handler got %v, want 5 of the job and 5 of the occurrence", got)
		}
		var result int
		var raw json.RawMessage
		err = jobs.Wait(t.Context(), receipt.Queue, receipt.ID, &result)
		if err := errors.Join(err, jobs.Wait(t.Context(), receipt.Queue, receipt.ID, &raw)); err != nil || result != 7 || string(raw) != "7" {
			t.Errorf("the result is read as %d and %s, %v, want 7", result, raw, err)
		}
	})
}

func TestJobsWithDifferentArgumentsAreNotTakenForOne(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := quietEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for name, args := range map[string][2]any{
			"hidden amounts": {bill{amount{1}}, bill{amount{2}}},
			"5 and 53":       {json.RawMessage("5"), 53},
		} {
			for i, of := range args {
				receipt, err := enqueuer.Enqueue(t.Context(), "a", of, chime.ArgsID())
				if err != nil || receipt.Existing {
					t.Errorf("%s: job %d: %+v, %v, want it added", name, i+1, receipt, err)
				}
			}
		}
	})
}

// An amount has JSON methods and no exported field.
type amount struct{ cents int }

func (a amount) MarshalJSON() ([]byte, error)  { return json.Marshal(a.cents) }
func (a *amount) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &a.cents) }

type bill struct{ Total amount }
