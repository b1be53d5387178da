// Scenarios reads four business calendars from JSON in the form of Azure Scheduler and prints the next runs of each. Then it
// enqueues all runs of the coming week as delayed jobs and runs them on a worker, with the week shortened to ten seconds.
//
//	go run ./examples/scenarios
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"
	_ "time/tzdata" // time zones, even on a system without them

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

//go:embed scenarios.json
var scenariosJSON []byte

// A scenario is one business calendar of the file.
type scenario struct {
	Name  string                `json:"name"`
	About string                `json:"about"`
	Job   recurrence.Recurrence `json:"job"`
}

const (
	week      = 7 * 24 * time.Hour
	shortened = 10 * time.Second // how long the week takes
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var scenarios []scenario
	if err := json.Unmarshal(scenariosJSON, &scenarios); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	if err := preview(scenarios, now); err != nil {
		return err
	}
	return runWeek(ctx, scenarios, now)
}

// preview prints each rule in English, and its next runs.
func preview(scenarios []scenario, now time.Time) error {
	for _, s := range scenarios {
		series, err := s.Job.Series(now)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Printf("%s\n  %s\n", s.About, s.Job)
		next := now
		for range 4 {
			var ok bool
			if next, ok = series.Next(next); !ok {
				break
			}
			fmt.Printf("    %s\n", next.Format("Mon 2 Jan 2006 15:04 MST"))
		}
		fmt.Println()
	}
	return nil
}

// args are the arguments of a job.
type args struct {
	At time.Time // when the run is in the real week
}

// runWeek enqueues the runs of the coming week, each with its delay shortened, and prints them as they run.
func runWeek(ctx context.Context, scenarios []scenario, now time.Time) error {
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	errorsOnly := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: errorsOnly, Concurrency: 1})
	var items []chime.Item
	counts := map[string]int{}
	for _, s := range scenarios {
		kind := chime.Define[args](s.Name)
		kind.Handle(worker, func(_ context.Context, _ *chime.Job, run args) error {
			counts[s.Name]++
			if s.Name != "external-data" || counts[s.Name]%96 == 1 {
				fmt.Printf("  %-20s  %s%s\n", run.At.UTC().Format("Mon 2 Jan 15:04 MST"), s.Name, localTime(s.Job, run.At))
			}
			return nil
		})
		series, err := s.Job.Series(now)
		if err != nil {
			return err
		}
		for at := range series.Between(now, now.Add(week)) {
			delay := time.Duration(float64(at.Sub(now)) / float64(week) * float64(shortened))
			items = append(items, kind.Item(args{At: at}, chime.In(delay)))
		}
	}
	fmt.Printf("The coming week in %v: %d runs (external-data runs 96 times a day, one of them is shown)\n", shortened, len(items))
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: errorsOnly})
	if _, err := enqueuer.EnqueueMany(ctx, items); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shortened+time.Second)
	defer cancel()
	if err := chime.Run(ctx, worker); err != nil {
		return err
	}
	queue, err := chime.NewQueues(server.Store()).Get(context.Background(), "default")
	if err != nil {
		return err
	}
	fmt.Printf("\nsummary, as counted by the store: %d enqueued, %d done\n", queue.Enqueued, queue.Done)
	return nil
}

// localTime returns the local time of a run in its rule's time zone, in parentheses. It is empty for a rule without one.
func localTime(rule recurrence.Recurrence, at time.Time) string {
	zone, err := time.LoadLocation(rule.TimeZone)
	if err != nil || rule.TimeZone == "" {
		return ""
	}
	return at.In(zone).Format(" (Mon 15:04 MST)")
}
