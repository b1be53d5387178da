package queues_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

func setLimit(f *fixture.Fixture, limit chime.Limit) {
	f.T.Helper()
	if err := chime.NewQueues(f.Server.Store()).Limit(f.T.Context(), "default", limit); err != nil {
		f.T.Fatal(err)
	}
}

// atOnce counts how many handlers run whose ctx has not ended.
type atOnce struct {
	mu              sync.Mutex
	now, most, done int
	starts          []time.Time
}

// running returns the number of running handlers.
func (a *atOnce) running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

// begun returns the number of handlers that have begun.
func (a *atOnce) begun() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.starts)
}

// ended returns the number of handlers that have ended.
func (a *atOnce) ended() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// highest returns the largest number of handlers that ran at the same time.
func (a *atOnce) highest() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

// hold runs for d, or until ctx ends.
func (a *atOnce) hold(ctx context.Context, d time.Duration) error {
	a.mu.Lock()
	a.now++
	a.most = max(a.most, a.now)
	a.starts = append(a.starts, time.Now())
	a.mu.Unlock()
	defer func() { a.mu.Lock(); a.now--; a.done++; a.mu.Unlock() }()
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Three workers have many slots. One of them vanishes with its jobs and comes back later.
func TestNoMoreJobsRunThanTheLimitAndNoneWaitsForever(t *testing.T) {
	for _, most := range []int{1, 5} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var a atOnce
			random := rand.New(rand.NewPCG(uint64(most), 3))
			f.Add("work", 0, fixture.Names("before", 100)...)
			setLimit(f, chime.Limit{Running: most})
			var links []*link
			var stops []func() error
			for range 3 {
				l := newLink(f)
				w := l.worker(chime.WorkerOptions{Concurrency: 20})
				w.Handle("work", func(ctx context.Context, job *chime.Job) error {
					return a.hold(ctx, time.Duration(job.Fence%7)*10*time.Millisecond)
				}, chime.MaxAttempts(100))
				links, stops = append(links, l), append(stops, fixture.Start(w))
			}
			for i := range 60 {
				f.Add("work", time.Duration(random.IntN(3000))*time.Millisecond, fixture.Names(fmt.Sprint("later", i), 5)...)
				switch {
				case i == 20:
					links[0].cut(true)
				case i == 45:
					links[0].cut(false)
				}
				fixture.Pass(time.Duration(random.IntN(4000)) * time.Millisecond)
			}
			fixture.Pass(2 * time.Minute)
			if s := f.Stats(); s.Done != 400 || s.Waiting+s.Delayed+s.InFlight() != 0 || s.Limit != (chime.Limit{Running: most}) {
				t.Errorf("limit %d: %+v, want 400 done", most, s)
			}
			if n := a.highest(); n != most {
				t.Errorf("at most %d ran at once, want exactly %d", n, most)
			}
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A queue has more jobs than may start for a long time: within any Per no more than Starts begin, and at least 94 % of the rate is used.
func TestNoMoreJobsStartWithinAnyPerThanTheLimit(t *testing.T) {
	for _, limit := range []chime.Limit{
		{Starts: 10, Per: time.Second}, {Starts: 80, Per: time.Second}, {Starts: 1, Per: 7 * time.Second}, {Running: 2, Starts: 30, Per: time.Minute},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var a atOnce
			setLimit(f, limit)
			var stops []func() error
			for range 3 {
				w := f.Worker(chime.WorkerOptions{Concurrency: 10})
				w.Handle("work", func(ctx context.Context, _ *chime.Job) error { return a.hold(ctx, 20*time.Millisecond) })
				stops = append(stops, fixture.Start(w))
			}
			// miniredis starts some thousand jobs a second
			duration := min(time.Hour, time.Duration(long.Seeds(200, 2500))*limit.Per/time.Duration(limit.Starts))
			duration = max(duration, 3*limit.Per)
			rate := int(duration * time.Duration(limit.Starts) / limit.Per)
			random := rand.New(rand.NewPCG(uint64(limit.Starts), 1))
			for added := 0; added < rate/4; added += 5 { // for a while fewer jobs come than may start
				f.Add("work", 0, fixture.Names(fmt.Sprint("first", added), 5)...)
				fixture.Pass(time.Duration(random.Int64N(int64(10 * limit.Per / time.Duration(limit.Starts)))))
			}
			began, before := time.Now(), a.begun()
			for added := 0; added < rate+limit.Starts+100; added += 500 {
				f.Add("work", 0, fixture.Names(fmt.Sprint("j", added), 500)...)
			}
			fixture.Pass(duration)
			used := a.begun() - before
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			for i := limit.Starts; i < len(a.starts); i++ {
				if took := a.starts[i].Sub(a.starts[i-limit.Starts]); took < limit.Per {
					t.Errorf("%+v: %d starts within %v", limit, limit.Starts+1, took)
					break
				}
			}
			if longest := limit.Starts + int(time.Since(began)*time.Duration(limit.Starts)/limit.Per); used > longest || used < rate*94/100-1 {
				t.Errorf("%+v: %d starts in %v, want 94 to 100 %% of %d", limit, used, duration, rate)
			}
		})
	}
}

// While jobs wait for their start, workers do not request jobs in vain: the number of requests is the number of starts and safety polls.
func TestWorkersDoNotRequestJobsThatMayNotStart(t *testing.T) {
	const hour = int(time.Hour / time.Second)
	for name, c := range map[string]struct {
		limit    chime.Limit
		takes    time.Duration
		starts   int // in an hour
		perStart int // calls
		polls    int
	}{
		// A job starts, the second worker with the alarm polls after it, and it is settled. After every second job the third worker polls, and requests
		// the jobs that it found.
		"tokens": {chime.Limit{Starts: 1, Per: 10 * time.Second}, 0, 361, 4, 10},
		// Only polls, at most every 10 s.
		"running": {chime.Limit{Running: 2}, 10 * time.Minute, 14, 3, 3 * hour / 10},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var a atOnce
			setLimit(f, c.limit)
			f.Add("work", 0, fixture.Names("j", 1000)...)
			var stores []*hookstore.Store
			var stops []func() error
			for range 3 {
				store := f.Hooked()
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
				w.Handle("work", func(ctx context.Context, _ *chime.Job) error { return a.hold(ctx, c.takes) })
				stores, stops = append(stores, store), append(stops, fixture.Start(w))
			}
			called := func(actions ...string) (n int) {
				for _, store := range stores {
					for _, action := range actions {
						n += store.Count(action)
					}
				}
				return n
			}
			fixture.Pass(time.Minute)
			begun, asked, extended := a.begun(), called("work", "poll", "leave"), called("extend")
			for i := range 300 { // which wakes no worker
				f.Add("work", 0, fmt.Sprint("more", i))
				f.Add("work", time.Minute, fmt.Sprint("later", i))
				fixture.Pass(time.Second)
			}
			fixture.Pass(54 * time.Minute)
			all := a.begun()
			starts, calls := all-begun, called("work", "poll", "leave")-asked
			if all < c.starts-1 || all > c.starts {
				t.Errorf("%s: %d starts in an hour, want %d", name, all, c.starts)
			}
			if most := c.perStart*starts + c.polls; calls > most {
				t.Errorf("%s: %d requests for jobs, for %d starts; want at most %d", name, calls, starts, most)
			}
			if beats := called("extend") - extended; beats > 2*hour/4 {
				t.Errorf("%s: %d heartbeats, want at most one every 4 s for each of two sessions", name, beats)
			}
			for _, stop := range stops {
				_ = stop() // handlers may be interrupted
			}
		})
	}
}

// If a limit is set while more jobs run, they finish, and no job starts before fewer run. If the limit is removed, all waiting jobs start at once.
func TestALimitMayComeAndGoWhileJobsRun(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var a atOnce
		w := f.Worker(chime.WorkerOptions{Concurrency: 50})
		w.Handle("work", func(ctx context.Context, _ *chime.Job) error { return a.hold(ctx, time.Minute) })
		stop := fixture.Start(w)
		f.Add("work", 0, fixture.Names("j", 20)...)
		fixture.Pass(time.Second)
		setLimit(f, chime.Limit{Running: 3})
		f.Add("work", 0, fixture.Names("k", 30)...)
		fixture.Pass(58 * time.Second)
		if n := a.begun(); n != 20 {
			t.Errorf("%d have begun, want only the 20 from before the limit", n)
		}
		fixture.Pass(2 * time.Second)
		if n := a.running(); n != 3 {
			t.Errorf("%d run after the first ones have ended, want 3", n)
		}
		for range 2 {
			setLimit(f, chime.Limit{})
		}
		fixture.Pass(100 * time.Millisecond)
		if n := a.running(); n != 30 {
			t.Errorf("%d run after the limit is removed, want all 30", n)
		}
		fixture.Pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The next job begins as soon as one has ended: its settlement does not wait for others to be sent with it.
func TestTheNextJobUnderALimitBeginsAtOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var a atOnce
		setLimit(f, chime.Limit{Running: 2})
		w := f.Worker(chime.WorkerOptions{Concurrency: 10})
		w.Handle("work", func(ctx context.Context, _ *chime.Job) error { return a.hold(ctx, 5*time.Millisecond) })
		stop := fixture.Start(w)
		f.Add("work", 0, fixture.Names("j", 2000)...)
		fixture.Pass(6 * time.Second)
		if n := a.ended(); n != 2000 {
			t.Errorf("%d of 2000 jobs of 5 ms have ended after 6 s, two at a time", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A limited queue gets its share of the slots next to a queue with a long backlog. Calls and jobs take some time, and each job a different time, so
// the order of goroutines at one instant does not matter.
func TestALimitedQueueGetsItsShareBesideABusyOne(t *testing.T) {
	for _, running := range []int{2, 100} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			if err := chime.NewQueues(f.Server.Store()).Limit(t.Context(), "limited", chime.Limit{Running: running}); err != nil {
				t.Fatal(err)
			}
			for _, queue := range []string{"default", "limited"} {
				f.Put(queue, protocol.EnqueueItem{Body: fixture.Body("work", 3)}, fixture.Names(queue, 4000)...)
			}
			var mu sync.Mutex
			ran := map[string]int{}
			random := rand.New(rand.NewPCG(uint64(running), 5))
			store := f.Hooked()
			store.Latency, store.Lag = 20*time.Microsecond, 20*time.Microsecond
			w := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 1, "limited": 1}, Concurrency: 4, Logger: fixture.Quiet()})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				takes := 900*time.Microsecond + time.Duration(random.Int64N(int64(200*time.Microsecond)))
				mu.Unlock()
				time.Sleep(takes) // fake time
				mu.Lock()
				ran[job.Queue]++
				mu.Unlock()
				return nil
			})
			stop := fixture.Start(w)
			fixture.Pass(time.Second)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if sum := ran["default"] + ran["limited"]; ran["limited"] < sum*2/5 || sum < 3800 {
				t.Errorf("two queues with the same weight, one with a limit of %d, ran %v; want a share each", running, ran)
			}
		})
	}
}

// Occurrences are jobs: they obey the limit of their queue, and each runs even if other jobs delay it. An occurrence that misses its grace returns
// its token, so it costs other jobs no start.
func TestOccurrencesObeyTheLimitOfTheirQueue(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var a atOnce
		setLimit(f, chime.Limit{Running: 1, Starts: 6, Per: time.Minute})
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: fixture.Quiet()})
		for i := range 5 {
			options := []chime.ScheduleOption{chime.JobName("work"), chime.NoImmediateRun()}
			if i == 4 {
				options = append(options, chime.Misfire(chime.MisfireSkip), chime.Grace(time.Second)) // so that other jobs make it miss
			}
			if err := scheduler.Schedule(fmt.Sprint("s", i), recurrence.Recurrence{Cron: "* * * * *"}, options...); err != nil {
				t.Fatal(err)
			}
		}
		w := f.Worker(chime.WorkerOptions{Concurrency: 10})
		w.Handle("work", func(ctx context.Context, _ *chime.Job) error { return a.hold(ctx, 9*time.Second) })
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, w) }()
		fixture.Pass(time.Hour + 50*time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		schedules := chime.NewSchedules(f.Server.Store())
		var started, missed int64
		for i := range 5 {
			s, err := schedules.Get(t.Context(), fmt.Sprint("s", i))
			if err != nil {
				t.Fatal(err)
			}
			if i < 4 && s.Counters.Started < 60 {
				t.Errorf("%s has %+v in an hour, want one run a minute", s.Name, s.Counters)
			}
			started, missed = started+s.Counters.Started, missed+s.Counters.Missed
		}
		if most, begun := a.highest(), a.begun(); most != 1 || started != int64(begun) {
			t.Errorf("%d ran at once, %d began and %d are counted; want one at a time, and each counted", most, begun, started)
		}
		if missed == 0 {
			t.Error("no occurrence was missed, so this test proves nothing")
		}
	})
}
