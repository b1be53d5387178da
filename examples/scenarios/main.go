// Scenarios reads four business calendars from JSON in the form of Azure Scheduler, shows when each runs next, and plays
// their coming week on a real queue in ten seconds.
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
	_ "time/tzdata" // time zones also where the system has none

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

//go:embed scenarios.json
var scenariosJSON []byte

// A scenario is one business case of the file.
type scenario struct {
	Name  string                `json:"name"`
	About string                `json:"about"`
	Job   recurrence.Recurrence `json:"job"`
}

const (
	played = 7 * 24 * time.Hour // what is played
	pace   = 10 * time.Second   // in this time
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
	return play(ctx, scenarios, now)
}

// preview prints each rule in words and its next runs.
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

// planned is a run as an argument of the job that plays it.
type planned struct {
	At time.Time
}

// play enqueues the runs of the coming week, each delayed by its share of ten seconds, and prints them as they come.
func play(ctx context.Context, scenarios []scenario, now time.Time) error {
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: quiet, Concurrency: 1})
	var items []chime.Item
	counts := map[string]int{}
	for _, s := range scenarios {
		kind := chime.Define[planned](s.Name)
		kind.Handle(worker, func(_ context.Context, _ *chime.Job, run planned) error {
			counts[s.Name]++
			if s.Name != "external-data" || counts[s.Name]%96 == 1 {
				fmt.Printf("  %-24s %s\n", run.At.In(location(s.Job)).Format("Mon 2 Jan 15:04 MST"), s.Name)
			}
			return nil
		})
		series, err := s.Job.Series(now)
		if err != nil {
			return err
		}
		for at := range series.Between(now, now.Add(played)) {
			after := time.Duration(float64(at.Sub(now)) / float64(played) * float64(pace))
			items = append(items, kind.Item(planned{At: at}, chime.In(after)))
		}
	}
	fmt.Printf("the coming week in %v: %d runs (of external-data one in 96 is shown)\n", pace, len(items))
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: quiet})
	if _, err := enqueuer.EnqueueMany(ctx, items); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pace+time.Second)
	defer cancel()
	if err := chime.Run(ctx, worker); err != nil {
		return err
	}
	queue, err := chime.NewQueues(server.Store()).Get(context.Background(), chime.DefaultQueue)
	if err != nil {
		return err
	}
	fmt.Printf("\nwhat the store counted: %d enqueued, %d done\n", queue.Enqueued, queue.Done)
	return nil
}

func location(r recurrence.Recurrence) *time.Location {
	if zone, err := time.LoadLocation(r.TimeZone); err == nil {
		return zone
	}
	return time.UTC
}
