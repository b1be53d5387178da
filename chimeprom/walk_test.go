package chimeprom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// brittle is a hook of a Redis client: while it is broken it sends no command.
type brittle struct{ broken atomic.Bool }

var errBroken = errors.New("the line is broken")

func (b *brittle) DialHook(next redis.DialHook) redis.DialHook { return next }
func (b *brittle) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.broken.Load() {
			return errBroken
		}
		return next(ctx, cmd)
	}
}
func (b *brittle) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		if b.broken.Load() {
			return errBroken
		}
		return next(ctx, all)
	}
}

// crowd is 26 schedules; the first and the last one have labels. A walk in pages of 5 has three steps.
func crowd(t *testing.T, store chime.Store) *chime.Schedules {
	t.Helper()
	schedules := chime.NewSchedules(store)
	for i := range 26 {
		rule := recurrence.Recurrence{StartTime: time.Now().Add(time.Hour), Frequency: recurrence.Hour, Interval: 1}
		if _, err := schedules.Put(t.Context(), fmt.Sprintf("s-%02d", i), rule); err != nil {
			t.Fatal(err)
		}
	}
	return schedules
}

// shows fails unless a registry has lines that begin with some texts, and does not have others: those with a ! in front.
func shows(t *testing.T, when string, registry *prometheus.Registry, lines ...string) {
	t.Helper()
	text := "\n" + exposition(t, registry)
	for _, line := range lines {
		line, not := strings.CutPrefix(line, "!")
		if has := strings.Contains(text, "\n"+line); has == not {
			t.Errorf("%s: %q is shown: %v, want %v", when, line, has, !not)
		}
	}
}

const (
	firstNext   = `chime_schedule_next_timestamp_seconds{schedule="s-00"} `
	lastNext    = `chime_schedule_next_timestamp_seconds{schedule="s-25"} `
	lastPeriod  = `chime_schedule_period_seconds{schedule="s-25"} 3600`
	othersNext  = `chime_schedule_next_timestamp_seconds{schedule="other"} `
	allAreLive  = "chime_schedules{state=\"live\"} 26\n"
	oneIsPaused = "chime_schedules{state=\"live\"} 25\n"
	noErrors    = "chime_scrape_errors_total 0\n"
	oneError    = "chime_scrape_errors_total 1\n"
)

// A schedule with its own label is as new as the scrape, and the sums follow within a second or two.
func TestSchedulesWithLabelsAreReadEachTimeHoweverManyThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		schedules := crowd(t, server.Store())
		registry := prometheus.NewPedanticRegistry()
		metrics := chimeprom.New(chimeprom.Options{Schedules: []string{"s-00", "s-25"}})
		registry.MustRegister(chimeprom.ReadPages(metrics.Store(server.Store()), 5))
		shows(t, "at first", registry, firstNext, lastNext, lastPeriod, "!"+othersNext, "!chime_schedules", noErrors)
		time.Sleep(5 * time.Second) // fake time: a read is valid for this time
		shows(t, "after the first walk", registry, firstNext, lastNext, othersNext, allAreLive, "chime_schedules_owed 0\n", noErrors)
		if err := schedules.Pause(t.Context(), "s-25"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // fake time
		shows(t, "after a pause", registry, firstNext, "!"+lastNext, "!"+lastPeriod, oneIsPaused, noErrors)
		time.Sleep(10 * time.Minute) // fake time: no scrapes
		shows(t, "much later", registry, firstNext, "!"+othersNext, "!chime_schedules", noErrors)
		time.Sleep(5 * time.Second) // fake time
		shows(t, "after the next walk", registry, firstNext, othersNext, oneIsPaused, noErrors)
		time.Sleep(time.Second) // fake time: the walk ends
	})
}

// After a failed read there are no old values, and the next read has all values again.
func TestAReadThatFailsBlindsNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		crowd(t, server.Store())
		line := new(brittle)
		client := server.Client()
		client.AddHook(line)
		registry := prometheus.NewPedanticRegistry()
		metrics := chimeprom.New(chimeprom.Options{Schedules: []string{"s-00", "s-25"}})
		registry.MustRegister(chimeprom.ReadPages(metrics.Store(redisstore.New(client, redisstore.Options{})), 5))
		shows(t, "at first", registry, lastNext, noErrors)
		time.Sleep(5 * time.Second) // fake time: a read is valid for this time
		shows(t, "after the first walk", registry, lastNext, allAreLive, noErrors)
		line.broken.Store(true)
		time.Sleep(time.Second) // fake time: the second walk continues meanwhile, and fails
		shows(t, "as the walk fails", registry, lastNext, allAreLive, oneError)
		line.broken.Store(false)
		time.Sleep(4 * time.Second) // fake time
		shows(t, "after that", registry, lastNext, othersNext, allAreLive, oneError)
		time.Sleep(4 * time.Second) // fake time
		line.broken.Store(true)
		time.Sleep(time.Second) // fake time
		shows(t, "as the read fails", registry, "!chime_schedule", "!chime_queue", "chime_scrape_errors_total 2\n")
		line.broken.Store(false)
		time.Sleep(5 * time.Second) // fake time
		shows(t, "after that", registry, lastNext, othersNext, allAreLive, "chime_scrape_errors_total 2\n")
		time.Sleep(time.Second) // fake time: the walk ends
	})
}
