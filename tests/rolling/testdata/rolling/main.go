// Program rolling is one process of a deployment: a worker, a scheduler, and a program that enqueues jobs. TestALayoutBesideTheNextOne builds it with the library of
// several revisions, so it calls only what all of them have. It prints a line for each event.
//
//	rolling ADDRESS NAME         works, schedules and enqueues until SIGTERM
//	rolling ADDRESS NAME drain   only works
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// say prints an event in one write, so that it is whole if the process is killed.
func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

// A reporter prints each line of the log as an event.
type reporter struct{}

func (reporter) Write(line []byte) (int, error) {
	say("log %s", line[:len(line)-1])
	return len(line), nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	address, name, drains := os.Args[1], os.Args[2], len(os.Args) > 3
	log := slog.New(slog.NewTextHandler(reporter{}, nil))
	store := redisstore.New(redis.NewClient(&redis.Options{Addr: address}), redisstore.Options{Logger: log})

	worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 5, SessionTTL: 3 * time.Second, DrainTimeout: 2 * time.Second, Logger: log})
	worker.Handle("work", func(ctx context.Context, job *chime.Job) error {
		say("began %s %d", job.ID, job.Fence)
		select {
		case <-time.After(20 * time.Millisecond): // the work
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		say("ended %s %d", job.ID, job.Fence)
		return nil
	})
	roles := []chime.Role{worker}
	if !drains {
		scheduler := chime.NewScheduler(store, chime.SchedulerOptions{LeaderTTL: 2 * time.Second, SafetyTick: time.Second, Logger: log})
		every := recurrence.Recurrence{Frequency: recurrence.Second}
		if err := scheduler.Schedule("tick", every, chime.JobName("work"), chime.Overlap(chime.OverlapAllow), chime.Misfire(chime.MisfireCatchUp)); err != nil {
			say("log %v", err)
			os.Exit(1)
		}
		roles = append(roles, scheduler)
		go enqueue(ctx, store, name, log)
	}
	say("ready")
	err := chime.Run(ctx, roles...)
	say("log the roles have ended: %v", err)
	if ctx.Err() == nil {
		<-ctx.Done() // a process that may not work is not started again
	}
	say("stopped")
}

// enqueue adds a job every 30 ms, and prints which ones were accepted.
func enqueue(ctx context.Context, store chime.Store, name string, log *slog.Logger) {
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second, Logger: log})
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%s-%d", name, n)
		if _, err := enqueuer.Enqueue(ctx, "work", nil, chime.ID(id)); err != nil {
			say("refused %s %v", id, err)
		} else {
			say("accepted %s", id)
		}
		<-tick.C
	}
}
