package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
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

func TestArgumentsThatATypeCannotHoldMakeAJobDead(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		type wide struct{ Count int }
		type narrow struct{ Count int8 }
		kind, store := chime.Define[narrow]("arguments.narrow"), f.Server.Store()
		enqueuer, jobs := quietEnqueuer(store, chime.EnqueuerOptions{}), chime.NewJobs(store)
		for id, args := range map[string]any{"large": wide{300}, "list": []int{3}, "none": nil, "good": wide{3}} {
			if _, err := enqueuer.Enqueue(t.Context(), kind.Name(), args, chime.ID(id), chime.Keep(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		worker := f.Worker(chime.WorkerOptions{Concurrency: 1})
		kind.Handle(worker, func(_ context.Context, job *chime.Job, args narrow) error {
			if args.Count != 3 {
				t.Errorf("%s: the handler got %+v", job.ID, args)
			}
			return job.Return(wide{300})
		})
		if err := f.Start(worker)(); err != nil {
			t.Error(err)
		}
		for id, want := range map[string]string{
			"large": "Count: a number does not fit int8", "list": "an array does not fit jobs_test.narrow", "none": "the payload is empty",
		} {
			dead, err := jobs.Get(t.Context(), "default", id)
			if err != nil || dead.State != chime.JobDead || dead.Attempt != 1 || !strings.Contains(dead.LastError, want) {
				t.Errorf("%s: %+v, %v, want it dead at its first attempt with %q", id, dead, err, want)
			}
			if err := dead.Decode(new(narrow)); id == "large" && !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("JobInfo.Decode: %v, want %q", err, want)
			}
		}
		var result narrow
		if err := jobs.Wait(t.Context(), "default", "good", &result); !errors.As(err, new(*wire.DecodeError)) || !strings.Contains(err.Error(), "Count: a number does not fit int8") {
			t.Errorf("the result is read as %+v, %v, want an error that names the field", result, err)
		}
	})
}
