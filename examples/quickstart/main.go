// Quickstart runs one-off, delayed, failing and recurring jobs for about ten seconds and says what happens as it happens.
//
//	go run ./examples/quickstart          # a Redis inside the process, which forgets everything
//	REDIS_URL=redis://localhost:6379/0 go run ./examples/quickstart
//	go run ./examples/quickstart -keep    # goes on until you press Ctrl-C
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

	_ "time/tzdata"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
	"github.com/redis/go-redis/v9"
)

// time zones also where the system has none

type greeting struct{ To string }

// Kinds bind a job's name to the type of its arguments, once for those who enqueue and those who handle.
var (
	welcome  = chime.Define[greeting]("welcome")
	reminder = chime.Define[greeting]("reminder")
	payment  = chime.Define[greeting]("payment")
	pulse    = chime.Define[greeting]("pulse")
)

func main() {
	keep := flag.Bool("keep", false, "go on until Ctrl-C instead of ending after ten seconds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !*keep {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	if err := run(ctx, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, keep bool) error {
	store, done, err := open()
	if err != nil {
		return err
	}
	defer done()
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	said := diary{began: time.Now()}
	before, err := counts(ctx, store)
	if err != nil {
		return err
	}

	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
	welcome.Handle(worker, func(_ context.Context, _ *chime.Job, args greeting) error {
		said.say("ran", "welcome", "hello, "+args.To)
		return nil
	})
	reminder.Handle(worker, func(_ context.Context, job *chime.Job, args greeting) error {
		said.say("ran", "reminder", fmt.Sprintf("%s, your three seconds are over (%v late)", args.To, job.Lateness().Round(time.Millisecond)))
		return nil
	})
	payment.Handle(worker, func(_ context.Context, job *chime.Job, args greeting) error {
		if job.Attempt < 3 {
			said.say("failed", "payment", fmt.Sprintf("attempt %d: the bank did not answer; again in a second", job.Attempt))
			return errors.New("the bank did not answer")
		}
		said.say("ran", "payment", fmt.Sprintf("attempt %d went through", job.Attempt))
		return nil
	}, chime.Backoff(func(int) time.Duration { return time.Second }))
	pulse.Handle(worker, func(_ context.Context, job *chime.Job, _ greeting) error {
		said.say("ran", "pulse", fmt.Sprintf("planned for %s", job.Planned.Format("15:04:05")))
		return nil
	})

	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet})
	everyTwo := recurrence.Recurrence{Frequency: recurrence.Second, Interval: 2}
	if err := pulse.Schedule(scheduler, "pulse", everyTwo, greeting{}); err != nil {
		return err
	}
	said.say("schedule", "pulse", everyTwo.String())

	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
	if _, err := welcome.Enqueue(ctx, enqueuer, greeting{To: "Ada"}); err != nil {
		return err
	}
	said.say("enqueue", "welcome", "to run now")
	if _, err := reminder.Enqueue(ctx, enqueuer, greeting{To: "Ada"}, chime.In(3*time.Second)); err != nil {
		return err
	}
	said.say("enqueue", "reminder", "to run in 3 seconds")
	if _, err := payment.Enqueue(ctx, enqueuer, greeting{To: "Ada"}); err != nil {
		return err
	}
	said.say("enqueue", "payment", "to run now; it will fail twice")

	if err := chime.Run(ctx, scheduler, worker); err != nil {
		return err
	}
	return summary(store, before, keep)
}

// open returns a store on REDIS_URL, else on a Redis inside the process.
func open() (store *redisstore.Store, done func() error, err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, nil, fmt.Errorf("REDIS_URL is not of the form redis://localhost:6379/0: %w", err)
		}
		client := redis.NewClient(options)
		fmt.Printf("chime on %s, keys chime-quickstart:*\n\n", options.Addr)
		return redisstore.New(client, redisstore.Options{Namespace: "chime-quickstart"}), client.Close, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return nil, nil, err
	}
	fmt.Printf("chime on a Redis inside this process, %s (set REDIS_URL to use your own)\n\n", server.Addr())
	return server.Store(), server.Close, nil
}

// summary says what the store has counted since the program began, and removes the schedule.
func summary(store *redisstore.Store, before *chime.QueueInfo, keep bool) error {
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
	fmt.Printf("\nwhat the store counted:\n")
	fmt.Printf("  jobs       %d enqueued, %d done, %d failed attempts, %d retried, %d given up\n", now.Enqueued-before.Enqueued,
		now.Done-before.Done, now.Failed-before.Failed, now.Retried-before.Retried, now.Died-before.Died)
	fmt.Printf("  pulse      %d runs started, the next at %s\n", schedule.Counters.Started, schedule.Next.Format("15:04:05"))
	fmt.Printf("  left over  %d waiting, %d running\n", now.Waiting, now.Running)
	fmt.Println("\nnext: README.md has the 20-line program to start from; examples/scenarios has real calendars.")
	return schedules.Delete(ctx, "pulse")
}

// counts is the default queue as it stands; all zero before a job, a schedule or a worker has named it.
func counts(ctx context.Context, store chime.Store) (*chime.QueueInfo, error) {
	queue, err := chime.NewQueues(store).Get(ctx, chime.DefaultQueue)
	if errors.Is(err, chime.ErrNotFound) {
		return new(chime.QueueInfo), nil
	}
	return queue, err
}

// A diary prints one line an event, with the seconds since the program began.
type diary struct {
	mu    sync.Mutex
	began time.Time
}

func (d *diary) say(what, name, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Printf("%5.1fs  %-8s  %-8s  %s\n", time.Since(d.began).Seconds(), what, name, text)
}
