package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// scheduleMeasures measure the costs of schedules at several sizes.
func scheduleMeasures() []measure {
	var all []measure
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		all = append(all, storedMeasure(n))
	}
	return append(all, historyMeasure, putMeasure, paceMeasure, burstMeasure, takeOverMeasure)
}

// storedMeasure declares n schedules and measures what they take, what it costs to run one of them, and to list them all.
func storedMeasure(n int) measure {
	maxRounds, about := 0, fmt.Sprintf("%d schedules are declared by one scheduler, from its start until each has its next occurrence placed; "+
		"then some of them run; the costs of one occurrence are server CPU of taking, settling and placing it, in the same "+
		"minute compared with a namespace of %d schedules", n, fewSchedules)
	if n >= 1_000_000 {
		maxRounds = millionRounds
		about += fmt.Sprintf("; %d rounds at most, for each takes minutes", maxRounds)
	}
	return measure{
		name:  fmt.Sprintf("schedules %d", n),
		group: "schedules",
		about: about,
		only:  []string{"chime"}, maxRounds: maxRounds, slow: true, long: n > 10_000,
		run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
			// The first schedule creates the data that does not grow with their number.
			few, err := declareMany(ctx, r, "few", fewSchedules)
			if err != nil {
				return nil, err
			}
			defer few.close()
			before, err := r.redis.usage(ctx)
			if err != nil {
				return nil, err
			}
			many, err := declareMany(ctx, r, "many", n)
			if err != nil {
				return nil, err
			}
			defer many.close()
			after, err := r.redis.usage(ctx)
			if err != nil {
				return nil, err
			}
			registry, err := registryBytesOf(ctx, r, "many")
			if err != nil {
				return nil, err
			}
			each := float64(n)
			figures := []figure{
				{name: "time to declare", unit: "s", value: many.took.Seconds(), less: true},
				{name: "declared", unit: "1/s", value: each / many.took.Seconds()},
				{name: "server CPU to declare one", unit: "µs", value: micros(many.serverCPU) / each, less: true},
				{name: "client CPU to declare one", unit: "µs", value: micros(many.clientCPU) / each, less: true},
				{name: "memory a schedule", unit: "B", value: float64(after.memory-before.memory) / each, less: true},
				{name: "of it the definition", unit: "B", value: many.definition, less: true},
				{name: "of it the registry", unit: "B", value: registry, less: true},
			}
			costs, err := occurrenceCosts(ctx, r, few, many)
			if err != nil {
				return nil, err
			}
			listed, err := many.list(ctx)
			if err != nil {
				return nil, err
			}
			return append(append(figures, costs...), figure{name: "time to list", unit: "s", value: listed.Seconds(), less: true}), nil
		},
	}
}

// millionRounds is how often a million schedules are declared.
const millionRounds = 3

// fewSchedules is the reference size for costs.
const fewSchedules = 1_000

// A namespace holds schedules of this program.
type namespace struct {
	name   string
	client *redis.Client
	store  *redisstore.Store
	n      int

	took       time.Duration // to declare them
	clientCPU  time.Duration
	serverCPU  time.Duration
	definition float64 // bytes of one
}

// key is a key of the only partition of the default queue.
func (s *namespace) key(name string) string { return s.name + ":{default}:" + name }

func (s *namespace) close() { _ = s.client.Close() }

func openNamespace(r *testbed, name string) *namespace {
	client := redis.NewClient(&redis.Options{Addr: r.redis.addr})
	return &namespace{name: name, client: client, store: redisstore.New(client, redisstore.Options{Namespace: name, Logger: quiet})}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func scheduleName(i int) string { return fmt.Sprintf("report-%07d", i) }

// yearly is a rule that runs on one day of the next month, so that none runs while it is measured.
func yearly(i int) recurrence.Recurrence {
	month := time.Now().UTC().Month()%12 + 1
	return recurrence.Recurrence{Cron: fmt.Sprintf("%d %d %d %d *", i/28/24%60, i/28%24, 2+i%27, month), TimeZone: "Europe/Berlin"}
}

// declareMany runs a scheduler with n declarations until all are written and placed.
func declareMany(ctx context.Context, r *testbed, name string, n int) (*namespace, error) {
	s := openNamespace(r, name)
	s.n = n
	if err := s.declareAll(ctx, r); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *namespace) declareAll(ctx context.Context, r *testbed) error {
	return s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
		return yearly(i), []chime.ScheduleOption{chime.JobName(jobName), chime.Args(map[string]int{"customer": i})}
	})
}

func (s *namespace) declare(ctx context.Context, r *testbed, rule func(i int) (recurrence.Recurrence, []chime.ScheduleOption)) error {
	before, err := r.redis.usage(ctx)
	if err != nil {
		return err
	}
	cpu, began := clientCPU(), time.Now()
	scheduler := chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: quiet})
	for i := range s.n {
		rec, options := rule(i)
		if err := scheduler.Schedule(scheduleName(i), rec, options...); err != nil {
			return err
		}
	}
	stop := runChime(scheduler)
	if err := s.awaitPlaced(ctx, r, time.Now()); err != nil {
		_ = stop()
		return err
	}
	s.took, s.clientCPU = time.Since(began), clientCPU()-cpu
	after, err := r.redis.usage(ctx)
	if err != nil {
		return err
	}
	s.serverCPU = after.since(before).cpu
	if err := stop(); err != nil {
		return err
	}
	text, err := s.client.HGet(ctx, s.key("schedules"), scheduleName(0)).Result()
	s.definition = float64(len(text))
	return err
}

// awaitPlaced returns when every schedule has an occurrence placed after an instant.
func (s *namespace) awaitPlaced(ctx context.Context, r *testbed, after time.Time) error {
	for {
		pipe := r.redis.client.Pipeline()
		placed := pipe.ZCount(ctx, s.key("due"), fmt.Sprintf("(%d", after.UnixMilli()), "+inf")
		owed := pipe.ZCard(ctx, s.key("owed"))
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("%d of %d schedules are placed: %w", placed.Val(), s.n, err)
		}
		if placed.Val() >= int64(s.n) && owed.Val() == 0 {
			return nil
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// list reads all schedules once.
func (s *namespace) list(ctx context.Context) (time.Duration, error) {
	began, n := time.Now(), 0
	for _, err := range chime.NewSchedules(s.store).List(ctx, chime.ScheduleFilter{}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	if n != s.n {
		return 0, fmt.Errorf("%d of %d schedules are listed", n, s.n)
	}
	return time.Since(began), nil
}

// putMeasure creates schedules one after the other while programs run.
var putMeasure = measure{
	name: "schedules put", group: "schedules", only: []string{"chime"},
	about: fmt.Sprintf("%d schedules are created one by one with Schedules.Put, each placed when it returns", fewSchedules),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		s := openNamespace(r, "put")
		defer s.close()
		schedules := chime.NewSchedules(s.store)
		e, err := watch(ctx, r.redis, func() (int64, time.Duration, error) {
			began := time.Now()
			for i := range fewSchedules {
				if _, err := schedules.Put(ctx, scheduleName(i), yearly(i), chime.JobName(jobName), chime.Args(map[string]int{"customer": i})); err != nil {
					return 0, 0, err
				}
			}
			return fewSchedules, time.Since(began), nil
		})
		if err != nil {
			return nil, err
		}
		return []figure{
			{name: "created", unit: "1/s", value: float64(e.jobs) / e.took.Seconds()},
			{name: "server CPU to create one", unit: "µs", value: e.each().server, less: true},
		}, nil
	},
}

// registryBytesOf returns the bytes of a name in the hash of all names, the only key of a namespace that grows with its schedules.
func registryBytesOf(ctx context.Context, r *testbed, namespace string) (float64, error) {
	registry := namespace + ":schedules"
	bytes, err := r.redis.client.MemoryUsage(ctx, registry, 0).Result()
	if err != nil {
		return 0, err
	}
	names, err := r.redis.client.HLen(ctx, registry).Result()
	return float64(bytes) / float64(names), err
}
