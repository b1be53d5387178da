package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// listed returns the IDs of all jobs that a filter matches, in order.
func listed(t *testing.T, jobs *chime.Jobs, filter chime.JobFilter) string {
	t.Helper()
	var ids []string
	for job, err := range jobs.List(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	return strings.Join(ids, " ")
}

func wantJob(t *testing.T, jobs *chime.Jobs, id string, state chime.JobState) *chime.JobInfo {
	t.Helper()
	job, err := jobs.Get(t.Context(), "default", id)
	if err != nil || job.State != state {
		t.Fatalf("job %s is %v (%v), want it %s", id, job, err, state)
	}
	return job
}

// A job passes through every state from its enqueuing to its death, and is shown correctly in each.
func TestAJobIsShownInEveryStateOfItsLife(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		jobs, enqueuer := chime.NewJobs(f.Server.Store()), chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		if _, err := jobs.Get(t.Context(), "default", "a"); !errors.Is(err, chime.ErrNotFound) || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), "default") {
			t.Errorf("an unknown queue: %v, want ErrNotFound that names queue and ID", err)
		}
		enqueued := time.Now()
		if _, err := enqueuer.Enqueue(t.Context(), "mail", map[string]string{"to": "ada"}, chime.ID("a"), chime.In(time.Hour), chime.MaxAttempts(7), chime.Timeout(time.Minute), chime.Header("by", "anna")); err != nil {
			t.Fatal(err)
		}
		job := wantJob(t, jobs, "a", chime.JobDelayed)
		due := enqueued.Add(time.Hour)
		var args struct {
			To string `json:"to"`
		}
		if err := job.Decode(&args); err != nil || args.To != "ada" || job.Name != "mail" || job.MaxAttempts != 7 || job.Timeout != time.Minute || job.Attempt != 1 {
			t.Errorf("%+v (%v), args %v", job, err, args)
		}
		if !job.Due.Equal(due) || !job.Planned.Equal(due) || !job.Enqueued.Equal(enqueued) {
			t.Errorf("due %v, planned %v, enqueued %v; want %v and %v", job.Due, job.Planned, job.Enqueued, due, enqueued)
		}
		if _, err := jobs.Get(t.Context(), "default", "b"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unknown ID: %v, want ErrNotFound", err)
		}

		attempts := make(chan *chime.Job)
		results := make(chan error)
		worker := f.Worker(chime.WorkerOptions{Concurrency: 3})
		worker.Handle("mail", func(ctx context.Context, job *chime.Job) error {
			attempts <- job
			return <-results
		})
		stop := f.Start(worker)
		for attempt := 1; attempt <= 7; attempt++ {
			running := <-attempts
			job := wantJob(t, jobs, "a", chime.JobRunning)
			if job.Attempt != attempt || job.Fence != running.Fence || job.Worker == "" || job.Worker != running.Worker || running.Partition != 0 || job.Started.Sub(running.Started).Abs() > time.Millisecond || len(job.Failures) != min(attempt-1, 5) {
				t.Fatalf("attempt %d is shown as %+v", attempt, job)
			}
			results <- chime.RetryAfter(time.Hour, fmt.Errorf("attempt %d %s", attempt, strings.Repeat("!", 600)))
			synctest.Wait()
			fixture.Pass(time.Second)
			if attempt < 7 {
				job = wantJob(t, jobs, "a", chime.JobRetrying)
				if job.Attempt != attempt+1 || job.Due.Before(time.Now()) {
					t.Fatalf("after attempt %d it is shown as %+v", attempt, job)
				}
			}
		}
		job = wantJob(t, jobs, "a", chime.JobDead)
		if job.Attempt != 7 || len(job.Failures) != 5 || job.Header["by"] != "anna" || !strings.HasPrefix(job.LastError, "attempt 7 ") || job.Ended.After(time.Now()) || job.Ended.Before(due) {
			t.Errorf("the dead job is %+v", job)
		}
		for i, failure := range job.Failures {
			if !strings.HasPrefix(failure.Error, fmt.Sprintf("attempt %d ", 3+i)) || len(failure.Error) > 500 || failure.Worker == "" || failure.At.Sub(due.Add(time.Duration(2+i)*time.Hour)).Abs() > 10*time.Second {
				t.Errorf("failure %d is %+v", i, failure)
			}
		}
		f.Add("strange", 0, "p")
		fixture.Pass(time.Second)
		if job := wantJob(t, jobs, "p", chime.JobParked); job.Name != "strange" {
			t.Errorf("parked: %+v", job)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.Add("mail", 0, "w")
		if job := wantJob(t, jobs, "w", chime.JobWaiting); !job.Due.IsZero() {
			t.Errorf("waiting: %+v", job)
		}
	})
}

func TestFiltersOfJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		jobs := chime.NewJobs(f.Server.Store())
		fixture.Pass(time.Second)
		worker := f.Worker(chime.WorkerOptions{})
		fail := func(ctx context.Context, job *chime.Job) error { return chime.Discard(errors.New("no " + job.ID)) }
		worker.Handle("mail", fail)
		worker.Handle("report", fail)
		stop := f.Start(worker)
		var between time.Time
		for i := range 10 {
			f.Add([]string{"mail", "report"}[i%2], 0, fmt.Sprintf("d%d", i))
			fixture.Pass(time.Second)
			if i == 4 {
				between = time.Now()
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		f.Add("mail", 0, "w1", "w2")
		f.Add("mail", time.Hour, "l1")
		for want, filter := range map[string]chime.JobFilter{
			"d0 d1 d2 d3 d4 d5 d6 d7 d8 d9": {State: chime.JobDead, Limit: 3},
			"d1 d3 d5 d7 d9":                {State: chime.JobDead, Name: "report", Limit: 2},
			"d7":                            {State: chime.JobDead, Name: "report", Error: "no d7"},
			"d0 d1 d2 d3 d4":                {State: chime.JobDead, Before: between},
			"d5 d6 d7 d8 d9":                {State: chime.JobDead, Since: between, Limit: 2},
			"d9 w2 l1":                      {IDs: []string{"d9", "none", "w2", "l1"}, Limit: 1},
			"w2":                            {IDs: []string{"d9", "none", "w2", "l1"}, State: chime.JobWaiting, Limit: 1},
			"w1 w2":                         {State: chime.JobWaiting},
			"l1":                            {State: chime.JobDelayed},
			"":                              {State: chime.JobDone},
		} {
			filter.Queue = "default"
			if got := listed(t, jobs, filter); got != want {
				t.Errorf("%+v: %s, want %s", filter, got, want)
			}
		}
		page, err := jobs.Page(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Since: between})
		if err != nil || page.Looked != 5 {
			t.Errorf("since the fifth: read %d jobs, %v; want 5", page.Looked, err)
		}
		page, err = jobs.Page(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Error: "no d3", Limit: 1})
		if err != nil || len(page.Jobs) != 1 || page.Looked != 4 || page.Next == "" {
			t.Errorf("page %+v, %v; want d3 after reading 4, and a next page", page, err)
		}
		if page, err = jobs.Page(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Error: "no d3", After: page.Next}); err != nil || len(page.Jobs) != 0 || page.Looked != 6 || page.Next != "" {
			t.Errorf("page %+v, %v; want none after reading 6, and no next page", page, err)
		}
	})
}

func TestAFilterThatMakesNoSenseIsRefused(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		jobs := chime.NewJobs(f.Server.Store())
		f.Add("mail", 0, "a")
		ids := make([]string, 501)
		for i := range ids {
			ids[i] = fmt.Sprint(i)
		}
		dead := chime.JobFilter{Queue: "default", State: chime.JobDead}
		for field, change := range map[string]func(filter *chime.JobFilter){
			"queue":            func(f *chime.JobFilter) { f.Queue = "" },
			"JobFilter.State":  func(f *chime.JobFilter) { f.State = "" },
			"JobFilter.IDs":    func(f *chime.JobFilter) { f.IDs = ids },
			"JobFilter.Name":   func(f *chime.JobFilter) { f.Name = "a b" },
			"JobFilter.Since":  func(f *chime.JobFilter) { f.State, f.Since = chime.JobWaiting, time.Now() },
			"JobFilter.Before": func(f *chime.JobFilter) { f.State, f.Before = chime.JobWaiting, time.Now() },
			"JobFilter.Limit":  func(f *chime.JobFilter) { f.Limit = 501 },
			"JobFilter.After":  func(f *chime.JobFilter) { f.After = "garbage" },
		} {
			filter := dead
			change(&filter)
			_, err := jobs.Page(t.Context(), filter)
			if !errors.Is(err, &chime.InvalidError{Field: field}) {
				t.Errorf("%s: %v, want an InvalidError", field, err)
			}
			for job, failed := range jobs.List(t.Context(), filter) {
				if job != nil || failed == nil || failed.Error() != err.Error() {
					t.Errorf("%s: a list yields %v, %v; want no job and the error", field, job, failed)
				}
			}
		}
		for _, filter := range []chime.JobFilter{{Queue: "default", State: "lost"}, {Queue: "default", IDs: []string{""}}, {Queue: "default", IDs: []string{"a"}, After: "ids.1"}, {Queue: "default", State: chime.JobDead, Limit: -1}} {
			if _, err := jobs.Page(t.Context(), filter); !errors.Is(err, &chime.InvalidError{}) {
				t.Errorf("%+v: %v, want an InvalidError", filter, err)
			}
		}
		if _, err := jobs.Page(t.Context(), chime.JobFilter{Queue: "none", State: chime.JobDead}); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unknown queue: %v, want ErrNotFound", err)
		}
		for _, of := range []*chime.Jobs{{}, chime.NewJobs(nil)} {
			if _, err := of.Get(t.Context(), "default", "a"); err == nil {
				t.Error("the zero Jobs returned a job")
			}
		}
	})
}

// A job of a newer version and a job without a body are listed with an error, and the list continues.
func TestAJobThatCannotBeReadIsListedWithItsError(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		jobs := chime.NewJobs(f.Server.Store())
		f.Add("mail", time.Hour, "a", "z")
		f.Calls++
		call := protocol.EnqueueCall{Partition: protocol.Partition{Queue: "default"}, Caller: "test", Number: f.Calls, Items: []protocol.EnqueueItem{
			{ID: "newer", In: time.Hour, Body: []byte("\x63\x91\xa4mail")}, {ID: "broken", In: time.Hour, Body: []byte("\x01garbage")},
		}}
		if a := f.Server.Store().Protocol().Enqueue(t.Context(), []protocol.EnqueueCall{call}); a[0].Err != nil {
			t.Fatal(a[0].Err)
		}
		var seen []string
		for job, err := range jobs.List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDelayed}) {
			seen = append(seen, fmt.Sprintf("%s %s %s %v", job.ID, job.Name, job.State, err != nil))
			if text, failed := json.Marshal(job); failed != nil || err != nil && !strings.Contains(string(text), `"error":"chime: job`) {
				t.Errorf("%s is encoded as %s, %v", job.ID, text, failed)
			}
		}
		slices.Sort(seen)
		want := []string{"a mail delayed false", "broken ? delayed true", "newer mail delayed true", "z mail delayed false"}
		if !slices.Equal(seen, want) {
			t.Errorf("listed %q, want %q", seen, want)
		}
		job, err := jobs.Get(t.Context(), "default", "newer")
		if job == nil || err == nil || job.State != chime.JobDelayed || !errors.Is(err, job.Err) {
			t.Errorf("got %v, %v; want the job with its error", job, err)
		}
	})
}

func TestAnOccurrenceIsShownWithTheOptionsOfItsSchedule(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules, jobs := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store())
		s, err := schedules.Put(t.Context(), "report", recurrence.Recurrence{Cron: "0 7 * * *"}, chime.JobName("pdf"), chime.Args("all"), chime.Timeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		id := "report@" + s.Next.Format(time.RFC3339)
		job := wantJob(t, jobs, id, chime.JobDelayed)
		var args string
		if err := job.Decode(&args); err != nil || args != "all" || job.Name != "pdf" || job.Schedule != "report" || !job.Planned.Equal(s.Next) || !job.Due.Equal(s.Next) || job.Timeout != time.Minute || !job.Enqueued.IsZero() {
			t.Errorf("%+v, args %q, %v", job, args, err)
		}
		if got := listed(t, jobs, chime.JobFilter{Queue: "default", State: chime.JobDelayed, Name: "pdf"}); got != id {
			t.Errorf("listed %q, want %q", got, id)
		}
	})
}

// A worker is listed from its start to its end. The list shows the jobs it runs, with their crashes.
func TestAWorkerIsShownWithItsRunningJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		started := time.Now()
		workers := chime.NewWorkers(f.Server.Store())
		begun, release := make(chan string, 3), make(chan bool)
		var stops []func() error
		for range 2 {
			worker := f.Worker(chime.WorkerOptions{Concurrency: 2, Queues: map[string]int{"default": 1, "mail": 3}, Logger: fixture.Quiet()})
			worker.Handle("hold", func(ctx context.Context, job *chime.Job) error {
				begun <- job.ID
				<-release
				return nil
			})
			stops = append(stops, f.Start(worker))
		}
		fixture.Pass(time.Second)
		f.Add("hold", 0, "a", "b", "c")
		for range 3 {
			<-begun
		}
		fixture.Pass(9 * time.Minute)
		list, err := workers.List(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("%d workers, %v; want 2", len(list), err)
		}
		var running []string
		for _, w := range list {
			if w.PID == 0 || w.Slots != 2 || w.Queues["mail"] != 3 || w.Busy != len(w.Running) || w.Since.Sub(started).Abs() > time.Second || time.Since(w.Seen) > 4*time.Minute {
				t.Errorf("worker %+v", w)
			}
			for _, job := range w.Running {
				running = append(running, job.ID)
				if job.Worker != w.Name || job.State != chime.JobRunning {
					t.Errorf("worker %s runs %+v", w.Name, job)
				}
			}
		}
		if slices.Sort(running); strings.Join(running, " ") != "a b c" {
			t.Errorf("the workers run %v, want a, b and c", running)
		}
		text, err := json.Marshal(list[0])
		if err != nil || !strings.Contains(string(text), `"queues":{"default":1,"mail":3}`) || !strings.Contains(string(text), `"running":[`) {
			t.Errorf("encoded as %s, %v", text, err)
		}
		close(release)
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if list, err := workers.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%d workers, %v; want none after they have ended", len(list), err)
		}
	})
}
