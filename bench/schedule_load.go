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

// paceMeasure runs schedules at a steady pace: all occurrences of a second are due at its beginning, because instants are whole seconds.
var paceMeasure = measure{
	name: "schedules steady", group: "schedules", only: []string{"chime"}, long: true,
	about: fmt.Sprintf("%d schedules that run every %d s, %d of them due at the beginning of each second; one worker, %d at once, "+
		"empty handlers: from the planned instant to the start", occurrencesASecond*paceSeconds, paceSeconds, occurrencesASecond, loadConcurrency),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		s := openNamespace(r, "pace")
		defer s.close()
		s.n = occurrencesASecond * paceSeconds
		begin := time.Now().Truncate(time.Second).Add(15 * time.Second)
		if err := s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
			start := begin.Add(time.Duration(i%paceSeconds) * time.Second)
			rec := recurrence.Recurrence{Frequency: recurrence.Second, Interval: paceSeconds, StartTime: start}
			return rec, []chime.ScheduleOption{chime.JobName(jobName)}
		}); err != nil {
			return nil, err
		}
		if err := s.declaredBefore(begin); err != nil {
			return nil, err
		}
		all, err := s.runMeanwhile(func() error {
			return pause(ctx, time.Until(begin.Add(2*paceSeconds*time.Second))-100*time.Millisecond)
		})
		if err != nil {
			return nil, err
		}
		if want := 2 * s.n; len(all) < want*99/100 {
			return nil, fmt.Errorf("%d of %d occurrences started", len(all), want)
		}
		at := func(part float64) float64 { return micros(all[int(part*float64(len(all)-1))]) / 1e3 }
		return []figure{
			{name: "p50", unit: "ms", value: at(0.5), less: true},
			{name: "p99", unit: "ms", value: at(0.99), less: true},
			{name: "max", unit: "ms", value: at(1), less: true},
			all.early(),
		}, nil
	},
}

// latenesses are how late each of many occurrences began, ascending; below 0: early.
type latenesses []time.Duration

func (all latenesses) early() figure {
	early, _ := slices.BinarySearch(all, 0)
	return figure{name: "early", value: float64(early), less: true}
}

// declaredBefore fails if declaring took so long that the worker would not be ready at an instant.
func (s *namespace) declaredBefore(begin time.Time) error {
	if left := time.Until(begin); left < time.Second {
		return fmt.Errorf("the schedules were not declared in time: %v, and %v left", s.took, left)
	}
	return nil
}

// runMeanwhile runs a scheduler and a worker until meanwhile returns, and returns how late each occurrence began.
func (s *namespace) runMeanwhile(meanwhile func() error) (latenesses, error) {
	var (
		mu  sync.Mutex
		all latenesses
	)
	worker := chime.NewWorker(s.store, chime.WorkerOptions{Concurrency: loadConcurrency, Logger: quiet})
	worker.Handle(jobName, func(_ context.Context, job *chime.Job) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, job.Lateness())
		return nil
	})
	stop := runChime(worker, chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: quiet}))
	err := meanwhile()
	if failed := stop(); err == nil {
		err = failed
	}
	slices.Sort(all)
	return all, err
}

// burstMeasure makes many schedules due at one instant.
var burstMeasure = measure{
	name: "schedules at once", group: "schedules", only: []string{"chime"}, long: true,
	about: fmt.Sprintf("%d schedules due in the same second; one worker, %d at once, empty handlers: from the planned instant until all have "+
		"started, and until all next ones are placed", occurrencesAtOnce, loadConcurrency),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		s := openNamespace(r, "burst")
		defer s.close()
		s.n = occurrencesAtOnce
		begin := time.Now().Truncate(time.Second).Add(20 * time.Second)
		if err := s.declare(ctx, r, func(int) (recurrence.Recurrence, []chime.ScheduleOption) {
			return recurrence.Recurrence{Frequency: recurrence.Hour, StartTime: begin}, []chime.ScheduleOption{chime.JobName(jobName)}
		}); err != nil {
			return nil, err
		}
		if err := s.declaredBefore(begin); err != nil {
			return nil, err
		}
		var placed time.Duration
		all, err := s.runMeanwhile(func() error {
			if err := pause(ctx, time.Until(begin)); err != nil {
				return err
			}
			err := s.awaitPlaced(ctx, r, begin)
			placed = time.Since(begin)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(all) != s.n {
			return nil, fmt.Errorf("%d of %d occurrences started", len(all), s.n)
		}
		return []figure{
			{name: "until all have started", unit: "s", value: all[len(all)-1].Seconds(), less: true},
			{name: "until all next are placed", unit: "s", value: placed.Seconds(), less: true},
			all.early(),
		}, nil
	},
}

// takeOverMeasure kills the leading scheduler.
var takeOverMeasure = measure{
	name: "schedules take-over", group: "schedules", only: []string{"chime"}, long: true,
	about: fmt.Sprintf("%d schedules are stored and two schedulers run; the one that leads is killed with SIGKILL: "+
		"time until the other leads", occurrencesAtOnce),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		s := openNamespace(r, chimeNamespace)
		defer s.close()
		s.n = occurrencesAtOnce
		if err := s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
			return yearly(i), []chime.ScheduleOption{chime.JobName(jobName)}
		}); err != nil {
			return nil, err
		}
		first, err := startChild(ctx, r.roleOf(scheduleRole, p, 1))
		if err != nil {
			return nil, err
		}
		defer first.kill()
		led, err := s.awaitLeader(ctx, "")
		if err != nil {
			return nil, err
		}
		second, err := startChild(ctx, r.roleOf(scheduleRole, p, 1))
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

// chimeNamespace is the default namespace of a store.
const chimeNamespace = "chime"

// awaitLeader waits until another scheduler leads, and returns it.
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
