package system_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A world is the whole system under fake time: one in-memory Redis, processes that start and end, and a record of what ran.
type world struct {
	*testing.T
	server *embedded.Server
	dial   func() (net.Conn, error) // opens a connection to the server
	log    *slog.Logger

	mu   sync.Mutex
	runs map[string]int // by job ID: how often a handler finished it
	late time.Duration  // the largest lateness
}

// inWorld runs a test in a bubble of fake time.
func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: embedded.StartInMemory(), log: slog.New(slog.NewTextHandler(io.Discard, nil)), runs: map[string]int{}}
		w.dial = w.server.Dial
		test(w)
		w.server.Close()
		w.pass(2 * time.Second) // the client's pool checks once a second whether it is closed
	})
}

// A process is one program with its own connections to Redis, which crash cuts.
type process struct {
	w      *world
	client *redis.Client
	store  *redisstore.Store
	stop   context.CancelFunc
	done   chan error

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// start starts a process that runs the roles that build returns.
func (w *world) start(build func(p *process) []chime.Role) *process {
	p := &process{w: w, done: make(chan error, 1)}
	p.client = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.cut {
				return nil, errors.New("the process has crashed")
			}
			conn, err := w.dial()
			if err == nil {
				p.conns = append(p.conns, conn)
			}
			return conn, err
		},
	})
	p.client.AddHook(simredis.Turns)
	p.store = redisstore.New(p.client, redisstore.Options{Logger: w.log})
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	roles := build(p)
	go func() { p.done <- chime.Run(ctx, roles...) }()
	return p
}

// end stops a process as SIGTERM does, and waits for it.
func (p *process) end() {
	p.w.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		p.w.Errorf("Run: %v", err)
	}
	p.client.Close()
}

// crash cuts all connections of a process for good. To the other processes this looks like a crash.
func (p *process) crash() {
	p.mu.Lock()
	p.cut = true
	for _, conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
}

// awaitCrashed stops a crashed process and waits for it.
func (p *process) awaitCrashed() {
	p.stop()
	<-p.done
	p.client.Close()
}

// worker makes a worker that records what it runs. work returns how long a run takes; nil means no time.
func (p *process) worker(name string, work func(*chime.Job) time.Duration) *chime.Worker {
	worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: p.w.log, Concurrency: 20})
	worker.Handle(name, func(ctx context.Context, job *chime.Job) error {
		if work != nil {
			select {
			case <-time.After(work(job)):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		p.mu.Lock()
		cut := p.cut
		p.mu.Unlock()
		if !cut { // a crashed process records nothing
			p.w.ran(job)
		}
		return nil
	})
	return worker
}

// scheduler makes a scheduler with the given declarations, if any.
func (p *process) scheduler(declare func(s *chime.Scheduler)) *chime.Scheduler {
	s := chime.NewScheduler(p.store, chime.SchedulerOptions{Logger: p.w.log})
	if declare != nil {
		declare(s)
	}
	return s
}

// ran records a run.
func (w *world) ran(job *chime.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[job.ID]++
	w.late = max(w.late, job.Lateness())
}

// allRuns returns how many times each job ran so far, by its ID.
func (w *world) allRuns() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.runs)
}

// wantRuns checks that each instant of a rule at or after from and before to ran exactly once, and nothing else.
func (w *world) wantRuns(schedule string, rec recurrence.Recurrence, from, to time.Time) {
	w.Helper()
	series, err := rec.Series(from)
	if err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var want []string
	for at := range series.Between(from, to) {
		want = append(want, schedule+"@"+at.UTC().Format(time.RFC3339))
	}
	if len(want) == 0 {
		w.Fatal("the rule has no instants to compare with")
	}
	for _, id := range want {
		if w.runs[id] != 1 {
			w.Errorf("%s ran %d times, want once", id, w.runs[id])
		}
	}
	if len(w.runs) != len(want) {
		w.Errorf("%d occurrences ran, want %d", len(w.runs), len(want))
	}
}

var quarterHour = recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15}

// declares returns a function that declares a schedule.
func declares(name string, rec recurrence.Recurrence, options ...chime.ScheduleOption) func(*chime.Scheduler) {
	return func(s *chime.Scheduler) { s.Schedule(name, rec, options...) }
}

func TestQuarterHoursWithTwoSchedulersRunOnceEach(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		var all []*process
		for range 2 {
			all = append(all, w.start(func(p *process) []chime.Role {
				return []chime.Role{p.scheduler(declares("report", quarterHour))}
			}))
		}
		all = append(all, w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("report", nil)} }))
		day := time.Duration(long.Seeds(4, 8))*time.Hour - time.Minute
		w.pass(day)
		for _, p := range all {
			p.end()
		}
		w.wantRuns("report", quarterHour, began, began.Add(day))
		if w.late > 5*time.Millisecond {
			w.Errorf("the latest run started %v late, want at most 5ms of fake time", w.late)
		}
	})
}

func TestACrashedLeaderIsReplaced(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		minute := recurrence.Recurrence{Frequency: recurrence.Minute}
		scheduler := func(p *process) []chime.Role { return []chime.Role{p.scheduler(declares("beat", minute))} }
		first := w.start(scheduler)
		synctest.Wait()
		second := w.start(scheduler)
		worker := w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", nil)} })
		w.pass(10*time.Minute + time.Second)
		first.crash()
		w.pass(10 * time.Minute)
		worker.end()
		second.end()
		first.awaitCrashed()
		w.wantRuns("beat", minute, began, began.Add(20*time.Minute+time.Second))
	})
}

func TestNoRunIsLostWhenWorkersCrash(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		minute := recurrence.Recurrence{Frequency: recurrence.Minute}
		long := func(*chime.Job) time.Duration { return 5 * time.Second }
		scheduler := w.start(func(p *process) []chime.Role {
			return []chime.Role{p.scheduler(declares("beat", minute, chime.Overlap(chime.OverlapAllow)))}
		})
		var workers []*process
		for range 3 {
			workers = append(workers, w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", long)} }))
		}
		w.pass(10*time.Minute + 2*time.Second) // in the middle of a run
		for _, p := range workers[:2] {
			p.crash()
		}
		w.pass(10 * time.Minute)
		workers[2].end()
		scheduler.end()
		for _, p := range workers[:2] {
			p.awaitCrashed()
		}
		w.wantRuns("beat", minute, began, began.Add(20*time.Minute+2*time.Second))
	})
}

// Every overlap policy is combined with every misfire policy over an outage of all workers. Every occurrence must be counted.
func TestEveryPolicyCountsEveryOccurrenceOverAnOutage(t *testing.T) {
	for _, overlap := range []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel, chime.OverlapAllow} {
		for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
			t.Run(fmt.Sprintf("%s, %s", overlap, misfire), func(t *testing.T) {
				inWorld(t, func(w *world) { w.outage(overlap, misfire) })
			})
		}
	}
}

// outage has a worker for ten minutes, no worker for the next ten and a half, and a worker for the last ten. The schedule runs
// every minute.
func (w *world) outage(overlap chime.OverlapPolicy, misfire chime.MisfirePolicy) {
	minute := recurrence.Recurrence{Frequency: recurrence.Minute}
	began := time.Now()
	scheduler := w.start(func(p *process) []chime.Role {
		return []chime.Role{p.scheduler(declares("beat", minute, chime.Overlap(overlap), chime.Misfire(misfire), chime.Grace(20*time.Second)))}
	})
	build := func(p *process) []chime.Role {
		return []chime.Role{p.worker("beat", func(*chime.Job) time.Duration { return 10 * time.Second })}
	}
	worker := w.start(build)
	w.pass(9*time.Minute + 30*time.Second)
	worker.end()
	w.pass(10*time.Minute + 30*time.Second) // until 20:00; minutes 10 to 20 are missed, and the occurrence of minute 10 is placed
	w.pass(15 * time.Second)
	worker = w.start(build)
	w.pass(10 * time.Minute)
	schedule, err := chime.NewSchedules(scheduler.store).Get(context.Background(), "beat")
	if err != nil {
		w.Fatal(err)
	}
	worker.end()
	scheduler.end()

	w.mu.Lock()
	defer w.mu.Unlock()
	before, during, after := 0, 0, 0
	for id, n := range w.runs {
		at, err := time.Parse(time.RFC3339, id[len("beat@"):])
		if err != nil || n != 1 {
			w.Errorf("%s ran %d times, want once (%v)", id, n, err)
		}
		switch minute := at.Sub(began) / time.Minute; {
		case minute < 10:
			before++
		case minute <= 20:
			during++
		default:
			after++
		}
	}
	type counts struct{ before, during, after, missed, caughtUp, skipped int }
	got := counts{before, during, after, int(schedule.Counters.Missed), int(schedule.Counters.CaughtUp), int(schedule.Counters.Skipped)}
	want := counts{before: 10, after: 10}
	switch misfire {
	case chime.MisfireRunOnce:
		want.during, want.missed = 1, 10
	case chime.MisfireSkip:
		want.missed = 11
	case chime.MisfireCatchUp:
		want.during, want.caughtUp = 11, 10
		if overlap != chime.OverlapAllow {
			want.caughtUp = 12 // they run one after the other, which makes the next two late
		}
	}
	if got != want {
		w.Errorf("got %+v, want %+v", got, want)
	}
}

// The clocks in New York skip 02:30 on 2 April 2000 and repeat 01:30 on 29 October 2000.
func TestEachNamedTimeRunsOnceWhenTheClocksChange(t *testing.T) {
	for name, day := range map[string]time.Time{
		"spring": time.Date(2000, time.April, 2, 5, 0, 0, 0, time.UTC), "autumn": time.Date(2000, time.October, 29, 5, 0, 0, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				rule := recurrence.MustParse(`{"cron":"30 1,2 * * *","timeZone":"America/New_York"}`)
				w.pass(time.Until(day))
				began := time.Now()
				p := w.start(func(p *process) []chime.Role {
					return []chime.Role{p.scheduler(declares("night", rule)), p.worker("night", nil)}
				})
				w.pass(4 * time.Hour)
				p.end()
				w.wantRuns("night", rule, began, began.Add(4*time.Hour))
				if len(w.runs) != 2 {
					w.Errorf("%d runs in the night, want 2: no run is skipped and none is repeated", len(w.runs))
				}
			})
		})
	}
}

func TestAScheduleCompletesAfterItsCount(t *testing.T) {
	inWorld(t, func(w *world) {
		rule := recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 10, Count: 5}
		for range 2 { // declaring a completed schedule again does nothing
			p := w.start(func(p *process) []chime.Role {
				return []chime.Role{p.scheduler(declares("trial", rule)), p.worker("trial", nil)}
			})
			w.pass(time.Hour)
			schedule, err := chime.NewSchedules(p.store).Get(context.Background(), "trial")
			if err != nil || schedule.State != protocol.StateCompleted || schedule.Used != 5 {
				w.Errorf("schedule %+v, %v; want completed with 5 runs used", schedule, err)
			}
			p.end()
		}
		if len(w.runs) != 5 {
			w.Errorf("ran %d times, want 5", len(w.runs))
		}
	})
}

func TestASchedulerThatStopsHandsOverAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		first := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
		synctest.Wait()
		second := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
		synctest.Wait()
		w.pass(time.Second)
		leader := func() string { return w.server.Client().HGet(context.Background(), "chime:leader", "id").Val() }
		before := leader()
		first.end()
		began := time.Now()
		for leader() == "" || leader() == before {
			if time.Since(began) > time.Second {
				w.Fatalf("no new leader after a second of fake time: %q", leader())
			}
			w.pass(time.Millisecond)
		}
		second.end()
	})
}

func TestAScheduleThatMovesBetweenQueuesLosesNoRun(t *testing.T) {
	inWorld(t, func(w *world) {
		rule := recurrence.Recurrence{Frequency: recurrence.Second, Interval: 10}
		began := time.Now()
		queues := map[string]int{"default": 1, "mail": 1, "slow": 1}
		worker := w.start(func(p *process) []chime.Role {
			worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log, Queues: queues})
			worker.Handle("beat", func(_ context.Context, job *chime.Job) error { w.ran(job); return nil })
			return []chime.Role{worker}
		})
		schedules := chime.NewSchedules(worker.store)
		order := []string{"default", "mail", "slow", "default", "slow", "mail"}
		const moves = 61 // the end is no instant of the rule: at one the last occurrence may run or not
		for i := range moves {
			if _, err := schedules.Put(context.Background(), "beat", rule, chime.Queue(order[i%len(order)])); err != nil {
				w.Fatal(err)
			}
			w.pass(7 * time.Second)
		}
		worker.end()
		w.wantRuns("beat", rule, began, began.Add(moves*7*time.Second))
	})
}

// An occurrence is due and too late when its schedule moves, and misfire policy skip drops it: its run goes back to the count.
func TestAMoveLosesNoRunOfTheCount(t *testing.T) {
	inWorld(t, func(w *world) {
		scheduler := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
		schedules := chime.NewSchedules(scheduler.store)
		options := []chime.PutOption{chime.Misfire(chime.MisfireSkip), chime.Grace(10 * time.Second)}
		thrice := recurrence.Recurrence{Frequency: recurrence.Minute, Count: 3}
		for _, queue := range []string{"default", "mail"} {
			if _, err := schedules.Put(w.Context(), "beat", thrice, append(options, chime.Queue(queue))...); err != nil {
				t.Fatal(err)
			}
			w.pass(20 * time.Second) // nobody takes the first one
		}
		worker := w.start(func(p *process) []chime.Role {
			worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log, Queues: map[string]int{"default": 1, "mail": 1}})
			worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
				w.ran(job)
				return nil
			})
			return []chime.Role{worker}
		})
		w.pass(time.Hour)
		got, err := schedules.Get(w.Context(), "beat")
		if err != nil || got.State != chime.StateCompleted || len(w.runs) != 3 || got.Counters.Missed != 1 {
			t.Errorf("%d runs of 3, %s, %+v, %v; want it completed with 1 missed", len(w.runs), got.State, got.Counters, err)
		}
		worker.end()
		scheduler.end()
	})
}

// pass lets fake time pass.
func (w *world) pass(d time.Duration) { <-time.After(d) }

// countsOf counts a queue.
func countsOf(t testing.TB, client redis.UniversalClient, queue string) *chime.QueueInfo {
	t.Helper()
	stats, err := chime.NewQueues(redisstore.New(client, redisstore.Options{})).Get(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	return stats
}
