//go:build unix

package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/redisstore"
)

// A config is what a child process receives at its start.
type config struct {
	Addr    string // address of its proxy
	Name    string // unique name of the process
	Seed    uint64
	Retries int       // of the Redis client; -1: none, so that chime retries
	Stop    time.Time // when the enqueuers and the changer end their work
	End     time.Time // end of the schedules
	Rate    float64   // jobs a second of an enqueuer
}

// Roles are the child processes.
var Roles = map[string]childproc.Role{
	"worker": child(runWorker), "scheduler": child(runScheduler), "enqueuer": child(runEnqueuer), "changer": child(runChanger),
}

// cutOffEvent is logged by a process that ended with interrupted handlers, or with outcomes that the server did not accept.
const cutOffEvent = "run.cut_off"

// A program is a child process as its role uses it.
type program struct {
	config
	child *childproc.Child
	store *redisstore.Store
	log   *slog.Logger
}

// child makes a role of a function that runs until ctx ends. A signal ends ctx.
func child(run func(ctx context.Context, p *program) error) childproc.Role {
	return func(c *childproc.Child) error {
		p := &program{child: c}
		if err := c.Config(&p.config); err != nil {
			return err
		}
		p.log = slog.New(&eventHandler{p})
		client := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: p.Retries, ContextTimeoutEnabled: true})
		p.store = redisstore.New(client, redisstore.Options{Partitions: queuePartitions, Logger: p.log})
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go func() {
			<-c.Signals
			stop()
		}()
		err := run(ctx, p)
		if ctx.Err() != nil && err != nil { // shutdown was requested: interrupted handlers, outcomes that the server did not accept
			p.send(Logged, cutOffEvent, 0, "")
			return nil
		}
		return err
	}
}

// send writes an event. When it returns, the event has left the process.
func (p *program) send(verb Verb, key string, number int64, more string) {
	p.child.Say("%s", Event{At: time.Now(), Verb: verb, Key: key, Number: number, More: more})
}

// runScheduler runs a scheduler that declares the catalogue.
func runScheduler(ctx context.Context, p *program) error {
	scheduler := chime.NewScheduler(p.store, chime.SchedulerOptions{LeaderTTL: leaderTTL, SafetyTick: 5 * time.Second, Logger: p.log})
	for _, d := range declared(p.End) {
		if err := scheduler.Schedule(d.name, d.recurrence, d.options...); err != nil {
			return err
		}
	}
	return chime.Run(ctx, scheduler)
}

// An eventHandler writes the event of each log line, and errors unchanged to standard error.
type eventHandler struct{ p *program }

func (*eventHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *eventHandler) Handle(_ context.Context, r slog.Record) error {
	event := "none"
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "event" {
			event = a.Value.String()
		}
		return true
	})
	h.p.send(Logged, strings.ReplaceAll(event, " ", "_"), 0, "")
	return nil
}

func (h *eventHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *eventHandler) WithGroup(string) slog.Handler      { return h }

// sleep waits until an instant. It returns false if ctx ended first.
func sleep(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var errEarly = fmt.Errorf("chaos: a role ended without a request")
