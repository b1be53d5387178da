// Quickstart runs four kinds of jobs for ten seconds and prints each event: a job that runs at once, a delayed job, a job that
// fails twice, and a recurring job.
//
//	go run ./examples/quickstart          # with a Redis inside the process, which loses its data at exit
//	REDIS_URL=redis://localhost:6379/0 go run ./examples/quickstart
//	go run ./examples/quickstart -keep    # until you press Ctrl-C
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata" // time zones, even on a system without them

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

type greeting struct{ To string }

// A kind is a job's name and the type of its arguments. Handlers, enqueuers and schedulers share it.
var (
	welcome  = chime.Define[greeting]("welcome")
	reminder = chime.Define[greeting]("reminder")
	payment  = chime.Define[greeting]("payment")
	pulse    = chime.Define[greeting]("pulse")
)

func main() {
	keep := flag.Bool("keep", false, "run until Ctrl-C instead of ten seconds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !*keep {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store, closeStore, err := open()
	if err != nil {
		return err
	}
	defer closeStore()
	errorsOnly := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	events := eventLog{began: time.Now()}
	before, err := counts(ctx, store)
	if err != nil {
		return err
	}

	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: errorsOnly})
	welcome.Handle(worker, func(_ context.Context, _ *chime.Job, args greeting) error {
		events.print("ran", "welcome", "hello, "+args.To)
		return nil
	})
	reminder.Handle(worker, func(_ context.Context, job *chime.Job, args greeting) error {
		events.print("ran", "reminder", fmt.Sprintf("%s, 3 seconds have passed (started %v late)", args.To, job.Lateness().Round(time.Millisecond)))
		return nil
	})
	payment.Handle(worker, func(_ context.Context, job *chime.Job, args greeting) error {
		if job.Attempt < 3 {
			events.print("failed", "payment", fmt.Sprintf("attempt %d: the bank did not answer; retry in 1 second", job.Attempt))
			return errors.New("the bank did not answer")
		}
		events.print("ran", "payment", fmt.Sprintf("attempt %d: paid", job.Attempt))
		return nil
	}, chime.Backoff(func(int) time.Duration { return time.Second }))
	pulse.Handle(worker, func(_ context.Context, job *chime.Job, _ greeting) error {
		events.print("ran", "pulse", fmt.Sprintf("planned for %s", job.Planned.Format("15:04:05")))
		return nil
	})

	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: errorsOnly})
	everyTwo := recurrence.Recurrence{Frequency: recurrence.Second, Interval: 2}
	if err := pulse.Schedule(scheduler, "pulse", everyTwo, greeting{}); err != nil {
		return err
	}
	events.print("schedule", "pulse", everyTwo.String())

	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: errorsOnly})
	if _, err := welcome.Enqueue(ctx, enqueuer, greeting{To: "Ada"}); err != nil {
		return err
	}
	events.print("enqueue", "welcome", "to run now")
	if _, err := reminder.Enqueue(ctx, enqueuer, greeting{To: "Ada"}, chime.In(3*time.Second)); err != nil {
		return err
	}
	events.print("enqueue", "reminder", "to run in 3 seconds")
	if _, err := payment.Enqueue(ctx, enqueuer, greeting{To: "Ada"}); err != nil {
		return err
	}
	events.print("enqueue", "payment", "to run now; it will fail twice")

	if err := chime.Run(ctx, scheduler, worker); err != nil {
		return err
	}
	return summary(store, before)
}

// open returns a store on the Redis of REDIS_URL. If that is not set, it starts a Redis inside the process.
func open() (store *redisstore.Store, closeStore func() error, err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, nil, fmt.Errorf("REDIS_URL must be written like redis://localhost:6379/0: %w", err)
		}
		client := redis.NewClient(options)
		fmt.Printf("chime on %s, keys chime-quickstart:*\n\n", options.Addr)
		return redisstore.New(client, redisstore.Options{Namespace: "chime-quickstart"}), client.Close, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return nil, nil, err
	}
	fmt.Printf("chime on a Redis inside this process, %s (set REDIS_URL to use your own)\n\n", server.URL())
	return server.Store(), server.Close, nil
}

// summary prints what the store has counted since the program began, and deletes the schedule.
func summary(store *redisstore.Store, before *chime.QueueInfo) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	schedules := chime.NewSchedules(store)
	schedule, err := schedules.Get(ctx, "pulse")
	if err != nil {
		return err
	}
	now, err := counts(ctx, store)
	if err != nil {
		return err
	}
	fmt.Println("\nsummary, as counted by the store:")
	fmt.Printf("  created    %d jobs enqueued, %d runs of the schedule pulse\n", now.Enqueued-before.Enqueued, schedule.Counters.Started)
	fmt.Printf("  ended      %d done, %d dead; %d attempts failed, %d were retried\n", now.Done-before.Done, now.Died-before.Died,
		now.Failed-before.Failed, now.Retried-before.Retried)
	fmt.Printf("  remaining  %d waiting, %d running; the next pulse would be at %s\n", now.Waiting, now.Running, schedule.Next.Format("15:04:05"))
	fmt.Println("\nREADME.md has a program to start from; examples/scenarios plays clock changes, outages and deployments.")
	return schedules.Delete(ctx, "pulse")
}

// counts is the current state of the default queue; all zero before the queue is used for the first time.
func counts(ctx context.Context, store chime.Store) (*chime.QueueInfo, error) {
	queue, err := chime.NewQueues(store).Get(ctx, "default")
	if errors.Is(err, chime.ErrNotFound) {
		return new(chime.QueueInfo), nil
	}
	return queue, err
}

// An eventLog prints one line an event, with the seconds since the program began.
type eventLog struct {
	mu    sync.Mutex
	began time.Time
}

func (l *eventLog) print(what, name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Printf("%5.1fs  %-8s  %-8s  %s\n", time.Since(l.began).Seconds(), what, name, text)
}
