package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// keepsJobs handles these names, and returns the jobs as their handlers received them, in order.
func keepsJobs(w *chime.Worker, names ...string) *[]*chime.Job {
	received := new([]*chime.Job)
	for _, name := range names {
		w.Handle(name, func(_ context.Context, job *chime.Job) error {
			*received = append(*received, job)
			return nil
		})
	}
	return received
}

// then is an item with options.
func then(name string, options ...chime.EnqueueOption) chime.Item {
	return chime.Item{Name: name, Args: "args of " + name, Options: options}
}

// followsOne fails the test unless the only delayed job has this name and shows that it follows a job of its queue with an ID like this.
func followsOne(t *testing.T, f *fixture.Fixture, name, id string) {
	t.Helper()
	var found []*chime.JobInfo
	for job, err := range chime.NewJobs(f.Server.Store()).List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDelayed}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, job)
	}
	if len(found) != 1 || found[0].Name != name || found[0].FollowsQueue != "default" || !regexp.MustCompile(id).MatchString(found[0].FollowsID) || found[0].FollowsBatch != "" {
		t.Errorf("the delayed jobs are %+v, want %s, which follows %s", found, name, id)
	}
}

// A chain runs one job after the other. Each has its own arguments, and the job before it with what that returned.
func TestAChainRunsOneJobAfterTheOther(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("resize", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 1 {
				return chime.RetryAfter(time.Second, errors.New("busy"))
			}
			job.Note("in time")
			return job.Return("small.png")
		})
		received := keepsJobs(w, "publish", "notify", "plain")
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		chain := chime.OnDone(then("publish", chime.MaxAttempts(7), chime.Header("tenant", "b"), chime.OnDone(then("notify", chime.In(time.Hour)))))
		if _, err := e.Enqueue(t.Context(), "resize", "big.png", chime.ID("r#1"), chime.Header("tenant", "a"), chime.Keep(24*time.Hour), chain); err != nil {
			t.Fatal(err)
		}
		info, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", "r#1")
		if err != nil || info.OnDone != "publish" || info.OnDeath != "" || info.Followers != 2 {
			t.Errorf("the job has OnDone %q, OnDeath %q, %d followers, %v; want publish, and two", info.OnDone, info.OnDeath, info.Followers, err)
		}
		began := time.Now()
		stop := f.Start(w)
		fixture.Pass(30 * time.Minute)
		followsOne(t, f, "notify", `^r#done-\d+\.1$`)
		if _, err := e.Enqueue(t.Context(), "plain", nil); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(2 * time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(*received) != 3 || (*received)[0].Name != "publish" || (*received)[1].Name != "plain" || (*received)[2].Name != "notify" {
			t.Fatalf("%v have run after resize, want publish, plain, notify", *received)
		}
		publish, plain, notify := (*received)[0], (*received)[1], (*received)[2]
		if plain.Prior != nil || plain.Death != nil {
			t.Errorf("a plain job has Prior %v, Death %v", plain.Prior, plain.Death)
		}
		var args, result, before string
		prior := publish.Prior
		if prior == nil {
			t.Fatal("publish has no Prior")
		}
		if err := errors.Join(publish.Decode(&args), chime.Decode(prior.Result, &result), prior.Decode(&before)); err != nil || args != "args of publish" || result != "small.png" || before != "big.png" {
			t.Errorf("publish has arguments %q, result %q and arguments %q of the job before it, %v", args, result, before, err)
		}
		if prior.ID != "r#1" || prior.Name != "resize" || prior.Queue != "default" || prior.State != chime.JobDone || prior.Outcome != chime.RunDone || prior.Attempt != 2 || len(prior.Failures) != 1 ||
			prior.Header["tenant"] != "a" || prior.Note != "in time" || prior.Ended.IsZero() || prior.Started.IsZero() || prior.OnDone != "" || prior.Followers != 0 || prior.Worker != publish.Worker {
			t.Errorf("the Prior of publish is %+v", prior)
		}
		if kept, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", "r#1"); err != nil || kept.State != chime.JobDone || !bytes.Equal(kept.Result, prior.Result) || prior.Keep != 24*time.Hour {
			t.Errorf("the kept job is %+v, %v; the Prior has Keep %v", kept, err, prior.Keep)
		}
		if publish.MaxAttempts != 7 || publish.Header["tenant"] != "b" || publish.Origin != "" || publish.Schedule != "" {
			t.Errorf("publish is %+v", publish)
		}
		if !regexp.MustCompile(`^r#done-\d+\.1$`).MatchString(publish.ID) || !regexp.MustCompile(`^r#done-\d+\.2$`).MatchString(notify.ID) || notify.Prior.ID != publish.ID {
			t.Errorf("the IDs are %s and %s, the second after %s", publish.ID, notify.ID, notify.Prior.ID)
		}
		if after := notify.Started.Sub(publish.Started); after < time.Hour || after > time.Hour+time.Minute || notify.Lateness() > time.Minute || notify.Planned.Sub(began) < time.Hour {
			t.Errorf("notify began %v after publish, %v late; want an hour after it", after, notify.Lateness())
		}
		if stats := f.Stats(); stats.Done != 4 || stats.Waiting+stats.Delayed != 0 {
			t.Errorf("the queue is left with %+v", stats)
		}
	})
}

// A payload of more than 64 KiB is left out of Prior; nothing else is.
func TestAPriorWithAPayloadThatIsTooLongHasNone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{})
		received := keepsJobs(w, "next")
		w.Handle("large", func(_ context.Context, job *chime.Job) error { return job.Return(bytes.Repeat([]byte("x"), 64<<10)) })
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		if _, err := e.Enqueue(t.Context(), "large", make([]byte, 70_000), chime.OnDone(then("next"))); err != nil {
			t.Fatal(err)
		}
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if err := stop(); err != nil || len(*received) != 1 {
			t.Fatal(err, *received)
		}
		if prior := (*received)[0].Prior; prior.Payload != nil || len(prior.Result) != 64<<10 || prior.Err != nil {
			t.Errorf("the Prior has a payload of %d bytes, a result of %d, error %v; want none, and 65536", len(prior.Payload), len(prior.Result), prior.Err)
		}
	})
}

// Only a job that is done is followed by its OnDone, once: not its other ends, and not its snoozes and failures.
func TestOnlyAJobThatIsDoneIsFollowed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		e, jobs := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewJobs(store)
		repaired, replacing := false, make(chan bool)
		w := f.Worker(chime.WorkerOptions{Concurrency: 10})
		received := keepsJobs(w, "next", "sorry")
		w.Handle("dies", func(context.Context, *chime.Job) error {
			if repaired {
				return nil
			}
			return chime.Discard(errors.New("no"))
		})
		w.Handle("snoozes", func(_ context.Context, job *chime.Job) error {
			if job.Crashes == 0 && job.Attempt == 1 && time.Since(job.Planned) < time.Minute {
				return chime.Snooze(time.Minute)
			}
			return nil
		})
		w.Handle("endless", func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			return nil
		})
		w.Handle("replaced", func(_ context.Context, job *chime.Job) error {
			if replacing != nil {
				<-replacing
				replacing = nil
			}
			return nil
		})
		onDone, onDeath := chime.OnDone(then("next")), chime.OnDeath(then("sorry", chime.OnDone(then("next"))))
		enqueue := func(name string, options ...chime.EnqueueOption) {
			t.Helper()
			if _, err := e.Enqueue(t.Context(), name, nil, append(options, chime.ID(name), onDone)...); err != nil {
				t.Fatal(err)
			}
		}
		stop := f.Start(w)
		enqueue("dies", onDeath)
		enqueue("snoozes")
		enqueue("endless")
		enqueue("replaced")
		enqueue("expires", chime.In(-1), chime.Expire(time.Millisecond)) // nobody handles it: it expires when it is taken, or is parked
		fixture.Pass(10 * time.Second)
		f.Cancel("endless")
		if _, err := e.Enqueue(t.Context(), "replaced", nil, chime.ID("replaced"), chime.Replace()); err != nil { // the newest has no OnDone
			t.Fatal(err)
		}
		close(replacing)
		fixture.Pass(2 * time.Minute)
		want := func(when string, want ...string) {
			t.Helper()
			var got []string
			for _, job := range *received {
				before := job.Prior
				if job.Death != nil {
					before = job.Death
				}
				got = append(got, job.Name+" after "+before.Name)
			}
			slices.Sort(got)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		want("at first", "next after snoozes", "next after sorry", "sorry after dies")
		repaired = true
		if n, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}, nil); err != nil || n.Changed != 1 {
			t.Error(n, err)
		}
		fixture.Pass(time.Minute)
		want("after the dead one was requeued", "next after dies", "next after snoozes", "next after sorry", "sorry after dies")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// What follows a schedule's job belongs to the schedule: it has its name and planned instant, is unfinished until it ends, and is in its history.
func TestWhatFollowsAScheduledJobBelongsToTheSchedule(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules := chime.NewSchedules(f.Server.Store())
		at := time.Now().Add(time.Minute).Truncate(time.Second)
		chain := chime.OnDone(then("mail", chime.OnDone(then("archive", chime.In(time.Hour)))))
		s, err := schedules.Put(t.Context(), "re#port", recurrence.Recurrence{StartTime: at}, chime.JobName("make"), chain)
		if err != nil || s.OnDone != "mail" {
			t.Fatal(s, err)
		}
		if job, err := s.OnDoneJob(); err != nil || job.Name != "mail" || job.OnDone != "archive" || job.Followers != 1 || job.Queue != "default" {
			t.Errorf("its OnDone is %+v, %v", job, err)
		}
		w := f.Worker(chime.WorkerOptions{})
		received := keepsJobs(w, "make", "mail", "archive")
		stop := f.Start(w)
		unfinished := func(when string, want int) {
			t.Helper()
			s, err := schedules.Get(t.Context(), "re#port")
			if err != nil || s.Last.Unfinished != want {
				t.Errorf("%s: %d are unfinished, %v; want %d", when, s.Last.Unfinished, err, want)
			}
		}
		fixture.Pass(10 * time.Minute)
		unfinished("while archive is delayed", 1)
		if _, err := schedules.Trigger(t.Context(), "re#port", chime.ID("x")); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(10 * time.Minute)
		unfinished("after a manual run", 2)
		fixture.Pass(3 * time.Hour)
		unfinished("in the end", 0)
		if err := stop(); err != nil {
			t.Error(err)
		}
		var got []string
		for _, job := range *received {
			got = append(got, fmt.Sprint(job.Name, " ", job.Schedule, " ", job.Origin))
			if job.Origin == "done" && job.Prior.Schedule != "re#port" || job.Origin != "manual" && !strings.HasPrefix(job.ID, "re#port#") && !job.Planned.Equal(at) {
				t.Errorf("%+v follows %+v", job, job.Prior)
			}
		}
		want := "[make re#port occurrence mail re#port done make re#port manual mail re#port done archive re#port done archive re#port done]"
		if fmt.Sprint(got) != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
		runs := map[string]int{}
		for run, err := range schedules.Runs(t.Context(), "re#port") {
			if err != nil {
				t.Fatal(err)
			}
			runs[run.Name+" "+string(run.Outcome)]++
		}
		if fmt.Sprint(runs) != "map[archive done:2 mail done:2 make done:2]" {
			t.Errorf("the history has %v", runs)
		}
		f.CheckEmptySince(time.Now())
	})
}

// OnDeath has the same options: a delay, and jobs that follow in turn.
func TestWhatFollowsADeathMayWaitAndBeFollowed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{})
		var mu sync.Mutex
		var ids []string
		for _, name := range []string{"dies", "alert", "page"} {
			w.Handle(name, func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				defer mu.Unlock()
				ids = append(ids, job.ID)
				return chime.Discard(errors.New("no"))
			})
		}
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		began := time.Now()
		if _, err := e.Enqueue(t.Context(), "dies", nil, chime.ID("d"), chime.OnDeath(then("alert", chime.In(time.Hour), chime.OnDeath(then("page"))))); err != nil {
			t.Fatal(err)
		}
		stop := f.Start(w)
		fixture.Pass(59 * time.Minute)
		followsOne(t, f, "alert", "^d$")
		mu.Lock()
		if len(ids) != 1 {
			t.Errorf("%v ran in %v, want the first alone", ids, time.Since(began))
		}
		mu.Unlock()
		fixture.Pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(ids) != 3 || !regexp.MustCompile(`^d#dead-\d+$`).MatchString(ids[1]) || !regexp.MustCompile(`^d#dead-\d+\.2$`).MatchString(ids[2]) {
			t.Errorf("%q ran, want d, what follows its death, and what follows the death of that", ids)
		}
	})
}

func TestBadFollowersNameFieldValueAndLimit(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		of := func(options ...chime.EnqueueOption) chime.JobOption { return chime.OnDone(then("next", options...)) }
		deep := func(n int) chime.JobOption {
			chain := chime.OnDone(then("last"))
			for i := range n - 1 {
				if i%2 == 0 {
					chain = chime.OnDeath(then("next", chain))
				} else {
					chain = chime.OnDone(then("next", chain))
				}
			}
			return chain
		}
		elsewhere := chime.Define[string]("followers.elsewhere", chime.Queue("cdn"), chime.ArgsID(), chime.Once(time.Hour))
		half := then("half", chime.Header("a", "b"))
		half.Args = make([]byte, 33<<10)
		const allowed = "want an option of an attempt, Header, Keep, Queue, In, Group, SameBatch, OnDone or OnDeath"
		for want, options := range map[string][]chime.EnqueueOption{
			`option "At": ` + allowed:                                        {of(chime.At(time.Now()))},
			`option "ID": ` + allowed:                                        {of(chime.ID("x"))},
			`option "ArgsID": ` + allowed:                                    {of(chime.ArgsID())},
			`option "Once": ` + allowed:                                      {of(chime.ID("x"), chime.Once(time.Hour))},
			`option "Replace": ` + allowed:                                   {of(chime.Replace())},
			`option "Expire": ` + allowed:                                    {of(chime.Expire(time.Hour))},
			"max attempts 0: want 1 to 1000":                                 {of(chime.MaxAttempts(0))},
			"chain 17: want 16 jobs at most, one after the other":            {deep(17)},
			"args 65539 bytes (payload too large): want at most 65536":       {chime.OnDone(chime.Item{Name: "a", Args: make([]byte, 65539)})},
			"bytes: want 65536 bytes at most, with all jobs that may follow": {chime.OnDone(half), chime.OnDeath(half)},
		} {
			_, err := e.Enqueue(t.Context(), "work", nil, options...)
			if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if _, err := chime.NewSchedules(f.Server.Store()).Put(t.Context(), "s", fixture.Minutely, append([]chime.PutOption{chime.JobName("work")}, asPut(options)...)...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("of a schedule: got  %v\nwant %s", err, want)
			}
		}
		for want, options := range map[string][]chime.EnqueueOption{
			`queue of a job that follows "cdn" is another queue: want default, the queue of the schedule: set it with chime.Queue`: {chime.OnDone(elsewhere.Item("x"))},
			`queue of a job that follows "other" is another queue: want cdn, the queue of the schedule`:                            {chime.Queue("cdn"), of(chime.Queue("cdn"), of(chime.Queue("other")))},
			`queue of a job that follows "mail" is another queue: want default, the queue of`:                                      {chime.OnDeath(then("next", chime.Queue("mail")))},
		} {
			_, err := chime.NewSchedules(f.Server.Store()).Put(t.Context(), "s", fixture.Minutely, append([]chime.PutOption{chime.JobName("work")}, asPut(options)...)...)
			if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
		for name, options := range map[string][]chime.EnqueueOption{
			"sixteen jobs":              {deep(16)},
			"the queue of the job":      {chime.Queue("cdn"), chime.OnDone(elsewhere.Item("x", of(chime.Queue("cdn"))))},
			"halves":                    {chime.OnDone(half)},
			"defaults that are ignored": {chime.Queue("cdn"), chime.OnDone(elsewhere.Item("x"))},
		} {
			if _, err := e.Enqueue(t.Context(), "work", nil, options...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A job of a group may follow, if the queue has one partition. Its kind makes its group.
func TestAJobThatFollowsMayHaveAGroup(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		e, schedules := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewSchedules(store)
		export := chime.Define[string]("followers.export", chime.GroupBy(func(tenant string) string { return tenant }))
		w := f.Worker(chime.WorkerOptions{})
		received := keepsJobs(w, "work", export.Name())
		stop := f.Start(w)
		if _, err := e.Enqueue(t.Context(), "work", nil, chime.OnDone(export.Item("acme", chime.OnDone(then("work", chime.Group("other")))))); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		var groups []string
		for _, job := range *received {
			groups = append(groups, job.Name+" "+job.Group)
		}
		if got := fmt.Sprint(groups); got != "[work  followers.export acme work other]" {
			t.Errorf("the groups are %s", got)
		}
		f.Partition("wide", 3)
		const want = `group "acme" is for queue wide with 3 partitions: want no group, or a queue with one partition`
		elsewhere := chime.OnDone(then("next", chime.Queue("wide"), chime.OnDone(export.Item("acme"))))
		_, far := e.Enqueue(t.Context(), "work", nil, elsewhere)
		_, farMany := e.EnqueueMany(t.Context(), []chime.Item{then("work", elsewhere)})
		if _, err := e.Enqueue(t.Context(), "work", nil, chime.Queue("wide"), chime.OnDone(then("next", chime.Queue("default"), chime.Group("acme")))); err != nil {
			t.Errorf("a group of a queue with one partition: %v", err)
		}
		wide, follows := chime.Queue("wide"), chime.OnDeath(then("next", chime.OnDone(export.Item("acme"))))
		_, one := e.Enqueue(t.Context(), "work", nil, wide, follows)
		_, many := e.EnqueueMany(t.Context(), []chime.Item{then("work", wide, follows)})
		_, replaced := e.Enqueue(t.Context(), "work", nil, wide, follows, chime.ID("a"), chime.Replace())
		_, put := schedules.Put(t.Context(), "s", fixture.Minutely, chime.JobName("work"), wide, follows)
		for how, err := range map[string]error{"one": one, "many": many, "replaced": replaced, "put": put, "far": far, "far many": farMany} {
			if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got  %v\nwant %s", how, err, want)
			}
		}
		if _, err := schedules.Get(t.Context(), "s"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("the refused schedule: %v, want ErrNotFound", err)
		}
	})
}

// asPut returns those of the options that a schedule may have: all of them here.
func asPut(options []chime.EnqueueOption) (all []chime.PutOption) {
	for _, option := range options {
		all = append(all, option.(chime.PutOption))
	}
	return all
}

// A newer version of chime may have written a job that is to follow. This version would lose it: it parks the job for a worker of that version.
func TestAJobThatANewerVersionFollowsIsParked(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		next := wire.Envelope{Name: "next"}
		newer := next.Encode()
		newer[0] = 9
		middle := wire.Envelope{Name: "middle", Details: &wire.Details{OnDone: newer}}
		for id, details := range map[string]*wire.Details{"done": {OnDone: newer}, "dies": {OnDeath: newer}, "deeper": {OnDone: middle.Encode()}, "plain": {OnDone: next.Encode()}} {
			f.Enqueue("default", wire.Envelope{Name: "work", Details: details}, id)
		}
		w := f.Worker(chime.WorkerOptions{})
		received := keepsJobs(w, "work", "next")
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(*received) != 2 || (*received)[0].ID != "plain" || (*received)[1].Name != "next" {
			t.Errorf("%v have run, want the plain one and what follows it", *received)
		}
		if stats := f.Stats(); stats.Parked != 3 {
			t.Errorf("%d are parked, want 3", stats.Parked)
		}
	})
}
