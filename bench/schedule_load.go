package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

const (
	occurrencesASecond = 5_000
	paceSeconds        = 10 // the period of each schedule
	occurrencesAtOnce  = 100_000
	loadConcurrency    = 100
)

// paceMeasure runs schedules at a steady pace: all those of a second are due at its beginning, for instants are whole seconds.
var paceMeasure = measure{
	name: "schedules steady", group: "schedules", only: []string{"chime"}, long: true, once: true,
	about: fmt.Sprintf("%d schedules that run every %d s, %d of them due at the beginning of each second; one worker, %d at once, "+
		"empty handlers: from the planned instant to the start", occurrencesASecond*paceSeconds, paceSeconds, occurrencesASecond, loadConcurrency),
	run: func(ctx context.Context, r *rig, _ peer) ([]figure, error) {
		s := openNamespace(r, "pace")
		defer s.close()
		s.n = occurrencesASecond * paceSeconds
		begin := time.Now().Truncate(time.Second).Add(30 * time.Second)
		if err := s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
			rec := recurrence.Recurrence{Frequency: recurrence.Second, Interval: paceSeconds, StartTime: begin.Add(time.Duration(i%paceSeconds) * time.Second)}
			return rec, []chime.ScheduleOption{chime.JobName(jobName)}
		}); err != nil {
			return nil, err
		}
		lateness, err := s.runUntil(ctx, begin.Add(2*paceSeconds*time.Second))
		if err != nil {
			return nil, err
		}
		if want := 2 * s.n; len(lateness) < want*99/100 {
			return nil, fmt.Errorf("%d of %d occurrences started", len(lateness), want)
		}
		return latenessFigures(lateness), nil
	},
}

// latenessFigures tells how late occurrences began.
func latenessFigures(lateness []time.Duration) []figure {
	slices.Sort(lateness)
	at := func(part float64) float64 { return micros(lateness[int(part*float64(len(lateness)-1))]) / 1e3 }
	early, _ := slices.BinarySearch(lateness, 0)
	return []figure{
		{name: "p50", unit: "ms", value: at(0.5), less: true},
		{name: "p99", unit: "ms", value: at(0.99), less: true},
		{name: "max", unit: "ms", value: at(1), less: true},
		{name: "early", value: float64(early), less: true},
	}
}

// work starts a scheduler and a worker; each start's lateness goes to began, from many goroutines.
func (s *namespace) work(began func(lateness time.Duration)) (stop func() error) {
	worker := chime.NewWorker(s.store, chime.WorkerOptions{Concurrency: loadConcurrency, Logger: quiet})
	worker.Handle(jobName, func(_ context.Context, job *chime.Job) error {
		began(job.Lateness())
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- chime.Run(ctx, worker, chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: quiet}))
	}()
	return func() error { cancel(); return <-done }
}

// runUntil works until an instant and returns how late each occurrence began.
func (s *namespace) runUntil(ctx context.Context, until time.Time) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	stop := s.work(func(lateness time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, lateness)
	})
	err := pause(ctx, time.Until(until)-100*time.Millisecond)
	if failed := stop(); err == nil {
		err = failed
	}
	return all, err
}

// burstMeasure has many schedules due at one instant.
var burstMeasure = measure{
	name: "schedules at once", group: "schedules", only: []string{"chime"}, long: true, once: true,
	about: fmt.Sprintf("%d schedules due in the same second; one worker, %d at once, empty handlers: from the planned instant until all have "+
		"started, and until all next ones are placed", occurrencesAtOnce, loadConcurrency),
	run: func(ctx context.Context, r *rig, _ peer) ([]figure, error) {
		s := openNamespace(r, "burst")
		defer s.close()
		s.n = occurrencesAtOnce
		begin := time.Now().Truncate(time.Second).Add(45 * time.Second)
		if err := s.declare(ctx, r, func(int) (recurrence.Recurrence, []chime.ScheduleOption) {
			return recurrence.Recurrence{Frequency: recurrence.Hour, StartTime: begin}, []chime.ScheduleOption{chime.JobName(jobName)}
		}); err != nil {
			return nil, err
		}
		if time.Until(begin) < time.Second {
			return nil, fmt.Errorf("the schedules were not declared in time: %v", s.took)
		}
		var mu sync.Mutex
		var all []time.Duration
		stop := s.work(func(lateness time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, lateness)
		})
		err := pause(ctx, time.Until(begin))
		if err == nil {
			err = s.awaitPlaced(ctx, r, begin)
		}
		placed := time.Since(begin)
		if failed := stop(); err == nil {
			err = failed
		}
		if err != nil {
			return nil, err
		}
		if len(all) != s.n {
			return nil, fmt.Errorf("%d of %d occurrences started", len(all), s.n)
		}
		return []figure{
			{name: "until all have started", unit: "s", value: slices.Max(all).Seconds(), less: true},
			{name: "until all next are placed", unit: "s", value: placed.Seconds(), less: true},
			{name: "early", value: latenessFigures(all)[3].value, less: true},
		}, nil
	},
}

// takeOverMeasure kills the leading scheduler.
var takeOverMeasure = measure{
	name: "schedules take-over", group: "schedules", only: []string{"chime"}, long: true,
	about: fmt.Sprintf("%d schedules are stored and two schedulers run; the one that leads is killed with SIGKILL: time until the other leads", occurrencesAtOnce),
	run: func(ctx context.Context, r *rig, p peer) ([]figure, error) {
		s := openNamespace(r, chimeNamespace)
		defer s.close()
		s.n = occurrencesAtOnce
		if err := s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
			return yearly(i), []chime.ScheduleOption{chime.JobName(jobName)}
		}); err != nil {
			return nil, err
		}
		first, err := startChild(ctx, r.roleOf(scheduleAct, p, 1))
		if err != nil {
			return nil, err
		}
		defer first.kill()
		led, err := s.awaitLeader(ctx, "")
		if err != nil {
			return nil, err
		}
		second, err := startChild(ctx, r.roleOf(scheduleAct, p, 1))
		if err != nil {
			return nil, err
		}
		defer second.kill()
		if err := pause(ctx, time.Second+rand.N(6*time.Second)); err != nil { // at any phase of the lease
			return nil, err
		}
		first.kill()
		killed := time.Now()
		if _, err := s.awaitLeader(ctx, led); err != nil {
			return nil, err
		}
		return []figure{{name: "until the other leads", unit: "s", value: time.Since(killed).Seconds(), less: true}}, nil
	},
}

// chimeNamespace is the namespace of a store that was given none.
const chimeNamespace = "chime"

// awaitLeader returns the leader once there is another one than the given.
func (s *namespace) awaitLeader(ctx context.Context, other string) (string, error) {
	for {
		leader, err := s.client.HGet(ctx, s.name+":leader", "id").Result()
		if err != nil && err != redis.Nil {
			return "", err
		}
		if leader != "" && leader != other {
			return leader, nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return "", err
		}
	}
}
