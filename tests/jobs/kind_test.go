package jobs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestKindBindsANameToItsArguments(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		type customer struct{ Name string }
		report := chime.Define[customer]("kind.report")
		receipt, err := report.Enqueue(t.Context(), quietEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), customer{"a"}, chime.MaxAttempts(2))
		if err != nil {
			t.Fatal(err)
		}
		jobs := chime.NewJobs(f.Server.Store())
		if sent, err := jobs.Get(t.Context(), "default", receipt.ID); err != nil || sent.Name != "kind.report" || sent.MaxAttempts != 2 {
			t.Errorf("sent %+v, %v", sent, err)
		}
		if item := report.Item(customer{"b"}); item.Name != "kind.report" || item.Args != (customer{"b"}) {
			t.Errorf("item %+v", item)
		}
		put, err := chime.NewSchedules(f.Server.Store()).Put(t.Context(), "a schedule", recurrence.Recurrence{Cron: "@yearly"}, report.With(customer{"c"}))
		var args customer
		if err != nil || put.JobName != "kind.report" || put.Decode(&args) != nil || args.Name != "c" {
			t.Errorf("schedule %+v of %+v, %v", put, args, err)
		}
		f.Enqueue("default", wire.Envelope{Name: "kind.report", Payload: []byte{0xc1}}, "undecodable")

		worker := f.Worker(chime.WorkerOptions{Concurrency: 1})
		var got []string
		report.Handle(worker, func(_ context.Context, _ *chime.Job, args customer) error {
			got = append(got, args.Name)
			return nil
		})
		if err := f.Start(worker)(); err != nil {
			t.Error(err)
		}
		if slices.Sort(got); !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("handled %v, want a and c", got)
		}
		if dead, err := jobs.Get(t.Context(), "default", "undecodable"); err != nil || dead.State != chime.JobDead || dead.Attempt != 1 {
			t.Errorf("arguments that do not decode: %+v, %v; want it dead at its first attempt", dead, err)
		}
	})
}

// The methods of a kind find its jobs on its queue, and their results come with their type.
func TestAKindKnowsItsQueue(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		type order struct{ Number int }
		mail, other := chime.Define[order]("kind.mail", chime.Queue("mail"), chime.Keep(time.Hour)), chime.Define[order]("kind.other")
		if mail.Queue() != "mail" || other.Queue() != "default" {
			t.Errorf("the queues are %q and %q, want mail and default", mail.Queue(), other.Queue())
		}
		e, jobs := quietEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), chime.NewJobs(f.Server.Store())
		for id, in := range map[string]time.Duration{"now": 0, "later": time.Hour} {
			if _, err := mail.Enqueue(t.Context(), e, order{7}, chime.ID(id), chime.In(in)); err != nil {
				t.Fatal(err)
			}
		}
		if job, err := mail.Get(t.Context(), jobs, "later"); err != nil || job.Queue != "mail" {
			t.Errorf("got %v, %v", job, err)
		}
		if result, err := mail.Cancel(t.Context(), jobs, "later"); err != nil || result != chime.CancelDone {
			t.Errorf("cancelled: %v, %v", result, err)
		}
		worker := f.Worker(chime.WorkerOptions{Queues: map[string]int{"mail": 1}})
		mail.Handle(worker, func(_ context.Context, job *chime.Job, o order) error { return job.Return(o.Number * 6) })
		stop := f.Start(worker)
		var into int
		price, err := chime.Wait[int](t.Context(), jobs, mail, "now")
		if again := mail.Wait(t.Context(), jobs, "now", &into); err != nil || again != nil || price != 42 || into != 42 {
			t.Errorf("the result is %d, %v, and %d, %v; want 42", price, err, into, again)
		}
		if _, err := chime.Wait[string](t.Context(), jobs, mail, "now"); err == nil {
			t.Error("a result of another type is no error")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
