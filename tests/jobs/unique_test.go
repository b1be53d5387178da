package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// The ID of a job that is done is free again after Delete, and not after Cancel. Before that, the error of Get contains the instant until which the
// ID is barred.
func TestDeleteLiftsOnceOfAJobThatIsDone(t *testing.T) {
	for _, keep := range []bool{false, true} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			enqueuer, jobs := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), chime.NewJobs(f.Server.Store())
			add := func() chime.Receipt {
				options := []chime.EnqueueOption{chime.ID("x"), chime.Once(time.Hour)}
				if keep {
					options = append(options, chime.Keep(time.Hour))
				}
				receipt, err := enqueuer.Enqueue(t.Context(), "mail", nil, options...)
				if err != nil {
					t.Fatal(err)
				}
				return receipt
			}
			var r fixture.Runs
			w := f.Worker(chime.WorkerOptions{Concurrency: 1})
			w.Handle("mail", func(ctx context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
			stop := f.Start(w)
			began := time.Now()
			add()
			fixture.Pass(time.Minute)
			_, err := jobs.Cancel(t.Context(), "default", "x")
			if gone := (*chime.NotFoundError)(nil); !keep && (!errors.As(err, &gone) || !errors.Is(err, chime.ErrNotFound)) {
				t.Errorf("Cancel: %v, want a NotFoundError", err)
			}
			if !add().Existing {
				t.Error("after Cancel: the job was added")
			}
			_, err = jobs.Get(t.Context(), "default", "x")
			if gone := (*chime.NotFoundError)(nil); !keep && (!errors.As(err, &gone) || gone.BarredUntil.Sub(began).Round(time.Second) != time.Hour) {
				t.Errorf("Get: %v, want that the ID is barred for an hour after the first job", err)
			}
			for name, other := range map[string]chime.JobFilter{"name": {Name: "other"}, "header": {Header: map[string]string{"tenant": "other"}}, "state": {State: chime.JobDead}} {
				other.Queue, other.IDs = "default", []string{"x"}
				if done, err := jobs.Delete(t.Context(), other, nil); done.Changed != 0 || err != nil || !add().Existing {
					t.Errorf("Delete with an ID and another %s: %+v, %v; want that Once of the job remains", name, done, err)
				}
			}
			if done, err := jobs.Delete(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"other", "x", "another"}}, nil); done.Changed != 1 || err != nil {
				t.Errorf("Delete: %+v, %v; want one changed", done, err)
			}
			if done, err := jobs.Delete(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"x"}}, nil); done.Changed != 0 || err != nil {
				t.Errorf("a second Delete: %+v, %v; want none changed", done, err)
			}
			if add().Existing {
				t.Error("after Delete: the job was not added")
			}
			fixture.Pass(time.Minute)
			if r.N["x"] != 2 {
				t.Errorf("it ran %d times, want twice", r.N["x"])
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Three enqueues with an ID and Once send one mail, whether they come while the job waits, while it runs, or after it is done.
func TestOnceSendsOneMail(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		add := func(options ...chime.EnqueueOption) chime.Receipt {
			receipt, err := enqueuer.Enqueue(t.Context(), "mail", "ada", append(options, chime.ID("welcome:7"))...)
			if err != nil {
				t.Fatal(err)
			}
			return receipt
		}
		sent := 0
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("mail", func(ctx context.Context, job *chime.Job) error {
			time.Sleep(time.Minute) // fake time
			sent++
			return nil
		})
		want := func(when string, receipt chime.Receipt, existing bool, state chime.JobState) {
			t.Helper()
			if receipt.Existing != existing || receipt.State != state {
				t.Errorf("%s: %+v, want existing %v and state %q", when, receipt, existing, state)
			}
		}
		want("first", add(chime.Once(time.Hour)), false, "")
		want("while it waits", add(chime.Once(time.Hour)), true, chime.JobWaiting)
		stop := f.Start(w)
		fixture.Pass(time.Second)
		want("while it runs", add(chime.Once(time.Hour)), true, chime.JobRunning)
		fixture.Pass(2 * time.Minute)
		want("when it is done", add(chime.Once(time.Hour)), true, "")
		fixture.Pass(time.Hour)
		if sent != 1 {
			t.Errorf("%d mails were sent, want one", sent)
		}
		want("after an hour", add(chime.Once(time.Hour), chime.Keep(time.Hour)), false, "")
		fixture.Pass(2 * time.Minute)
		want("when its result is kept", add(chime.Once(time.Hour)), true, chime.JobDone)
		want("without Once", add(), false, "")
		if fixture.Pass(2 * time.Minute); sent != 3 {
			t.Errorf("%d mails were sent, want three", sent)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The receipts of EnqueueMany contain the state of each job that already exists.
func TestReceiptsContainTheStateOfAnExistingJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		end := make(chan struct{})
		w := f.Worker(chime.WorkerOptions{Concurrency: 3})
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			switch job.ID {
			case "dead":
				return chime.Discard(errors.New("no"))
			case "retrying":
				return chime.RetryAfter(time.Hour, errors.New("not yet"))
			}
			<-end
			return nil
		})
		stop := f.Start(w)
		f.Add("work", 0, "running", "dead", "retrying")
		f.Add("work", 3*time.Hour, "delayed")
		f.Add("strange", 0, "parked")
		fixture.Pass(time.Second)
		states := map[string]chime.JobState{
			"new": "", "running": chime.JobRunning, "dead": chime.JobDead, "retrying": chime.JobRetrying, "delayed": chime.JobDelayed, "parked": chime.JobParked,
		}
		items := []chime.Item{{Name: "work"}}
		for id := range states {
			items = append(items, chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.ID(id)}})
		}
		receipts, err := enqueuer.EnqueueMany(t.Context(), items)
		if err != nil || receipts[0].State != "" || receipts[0].Existing {
			t.Errorf("%+v, %v", receipts[0], err)
		}
		for _, receipt := range receipts[1:] {
			if receipt.State != states[receipt.ID] || receipt.Existing != (receipt.ID != "new") {
				t.Errorf("%+v, want state %q", receipt, states[receipt.ID])
			}
		}
		close(end)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// With ArgsID, equal arguments are one job, even if a map has another order. Other arguments, another kind or an explicit ID are another job.
func TestArgsIDMakesEqualArgumentsOneJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		type args map[string]int
		export := chime.Define[args]("unique.export", chime.ArgsID(), chime.Once(time.Hour), chime.Queue("slow"))
		refund := chime.Define[args]("unique.refund", chime.ArgsID(), chime.Queue("slow"))
		first, err := export.Enqueue(t.Context(), enqueuer, args{"customer": 7, "year": 2026, "month": 3})
		if err != nil || first.Existing || len(first.ID) != 27 || first.Queue != "slow" {
			t.Fatalf("%+v, %v", first, err)
		}
		receipts, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{
			export.Item(args{"month": 3, "year": 2026, "customer": 7}),
			export.Item(args{"month": 4, "year": 2026, "customer": 7}),
			refund.Item(args{"month": 3, "year": 2026, "customer": 7}),
			export.Item(args{"month": 3, "year": 2026, "customer": 7}, chime.ID("mine")),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, receipt := range receipts {
			if same := i == 0; receipt.Existing != same || (receipt.ID == first.ID) != same {
				t.Errorf("item %d: %+v, the first one was %s", i, receipt, first.ID)
			}
		}
		if receipts[3].ID != "mine" {
			t.Errorf("the kind's ArgsID replaced the call's ID: %+v", receipts[3])
		}
		job, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "slow", first.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got args
		if err := job.Decode(&got); err != nil || got["customer"] != 7 || len(got) != 3 {
			t.Errorf("the arguments are %v, %v", got, err)
		}
	})
}

// A user may enqueue a cancelled or deleted job again.
func TestCancellingLetsAnIDBeEnqueuedAgain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		add := func() bool {
			receipt, err := enqueuer.Enqueue(t.Context(), "mail", nil, chime.ID("a"), chime.Once(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			return receipt.Existing
		}
		if add() || !add() {
			t.Error("want the first job new and the second existing")
		}
		f.Cancel("a")
		if add() {
			t.Error("a cancelled job cannot be enqueued again")
		}
		if _, err := chime.NewJobs(f.Server.Store()).Delete(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"a"}}, nil); err != nil {
			t.Error(err)
		}
		if add() {
			t.Error("a deleted job cannot be enqueued again")
		}
	})
}

// A debounce: each save postpones the job and sets the newest arguments, and the job runs once.
func TestReplaceWithInIsADebounce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		var mu sync.Mutex
		var ran []string
		soFar := func() string {
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(ran)
		}
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("index", func(ctx context.Context, job *chime.Job) error {
			var args string
			if err := job.Decode(&args); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, args)
			return nil
		})
		stop := f.Start(w)
		began := time.Now()
		for save := range 5 {
			receipt, err := enqueuer.Enqueue(t.Context(), "index", fmt.Sprint("save ", save), chime.ID("index:7"), chime.Replace(), chime.In(10*time.Second))
			if err != nil || receipt.Existing || receipt.Replaced != (save > 0) {
				t.Fatalf("save %d: %+v, %v", save, receipt, err)
			}
			fixture.Pass(8 * time.Second)
			if ran := soFar(); ran != "[]" {
				t.Fatalf("%v ran %v after the first save, although more saves followed", ran, time.Since(began))
			}
		}
		fixture.Pass(3 * time.Second)
		if ran := soFar(); ran != "[save 4]" {
			t.Errorf("ran %v, want only the newest, 10 s after the last save", ran)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A replacement of a running job runs once after it, with the newest arguments, however the running job ends, even if its worker is then asleep.
func TestAReplacementOfARunningJobFollowsIt(t *testing.T) {
	for how, end := range map[string]error{"done": nil, "failed": errors.New("no"), "dead": chime.Discard(errors.New("no")), "snoozed": chime.Snooze(time.Hour)} {
		for _, in := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(how, in), func(t *testing.T) {
				fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
					enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
					var ran []string
					var starts []time.Duration
					began := time.Now()
					w := f.Worker(chime.WorkerOptions{Concurrency: 1})
					w.Handle("index", func(ctx context.Context, job *chime.Job) error {
						var args string
						if err := job.Decode(&args); err != nil {
							return err
						}
						ran, starts = append(ran, fmt.Sprint(args, " ", job.Attempt)), append(starts, time.Since(began).Round(time.Second))
						if len(ran) == 1 {
							time.Sleep(time.Minute) // fake time
							return end
						}
						return nil
					})
					stop := f.Start(w)
					items := []chime.Item{{Name: "other"}}
					for _, args := range []string{"first", "second", "third"} {
						items[0] = chime.Item{Name: "index", Args: args, Options: []chime.EnqueueOption{chime.ID("a"), chime.Replace(), chime.In(map[bool]time.Duration{true: 0, false: in}[args == "first"])}}
						receipts, err := enqueuer.EnqueueMany(t.Context(), items)
						if err != nil || receipts[0].Replaced != (args != "first") {
							t.Fatalf("%s: %+v, %v", args, receipts, err)
						}
						fixture.Pass(time.Second)
					}
					if fixture.Pass(3 * time.Hour); fmt.Sprint(ran) != "[first 1 third 1]" {
						t.Fatalf("ran %v, want the first and then only the newest, each as a first attempt", ran)
					}
					if want := max(time.Minute, in); starts[1] < want || starts[1] > want+4*time.Second {
						t.Errorf("the newest began after %v, want %v", starts[1], want)
					}
					if s := f.Stats(); s.Waiting+s.Delayed+s.InFlight()+s.Dead != 0 || s.Done != map[bool]int64{true: 2, false: 1}[how == "done"] {
						t.Errorf("stats %+v, want nothing left", s)
					}
					if err := stop(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A handler that enqueues the successor of its job under the job's own ID adds nothing, unless it replaces the job.
func TestASuccessorUnderTheSameIDNeedsReplace(t *testing.T) {
	for _, replace := range []bool{false, true} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			e := quietEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
			page := chime.Define[int]("page")
			w := f.Worker(chime.WorkerOptions{})
			var pages []int
			page.Handle(w, func(ctx context.Context, job *chime.Job, n int) error {
				pages = append(pages, n)
				if n == 3 {
					return nil
				}
				options := []chime.EnqueueOption{chime.ID(job.ID)}
				if replace {
					options = append(options, chime.Replace())
				}
				receipt, err := page.Enqueue(ctx, e, n+1, options...)
				if receipt.Existing == replace {
					t.Errorf("replace %v: the receipt is %+v", replace, receipt)
				}
				return err
			})
			stop := f.Start(w)
			if _, err := page.Enqueue(t.Context(), e, 1, chime.ID("pages")); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if want := map[bool]int{false: 1, true: 3}[replace]; len(pages) != want {
				t.Errorf("replace %v: the pages %v ran, want %d", replace, pages, want)
			}
		})
	}
}
