package incident

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/shape"
	"github.com/chimejobs/chime/internal/wire"
)

// Counts are the numbers of a store by their names: the states of jobs ("dead" of all queues, "dead default" of one), "schedules", "workers", "slots",
// "failed" attempts of the last hour and "group" for dead and retrying jobs, with the job's name and the shape of its error.
type Counts map[string]int64

// Count counts everything with plain commands, which read whole keys. It uses no code that shows a store.
func Count(t *testing.T, client *redis.Client) Counts {
	t.Helper()
	c := counter{t: t, ctx: t.Context(), client: client, now: time.Now(), counts: Counts{}}
	for queue, partitions := range client.HGetAll(c.ctx, "chime:queues").Val() {
		n, err := strconv.Atoi(partitions)
		if err != nil {
			t.Fatalf("queue %q has %q partitions", queue, partitions)
		}
		c.counts["partitions "+queue] = int64(n)
		for i := range n {
			tag := queue
			if i > 0 {
				tag = fmt.Sprintf("%s/%d", queue, i)
			}
			c.partition(queue, "chime:{"+tag+"}:")
		}
	}
	c.workers()
	return c.counts
}

type counter struct {
	t      *testing.T
	ctx    context.Context
	client *redis.Client
	now    time.Time
	counts Counts
}

// add adds to a number of a queue and of all queues.
func (c *counter) add(what, queue string, n int64) {
	c.counts[what] += n
	c.counts[what+" "+queue] += n
}

// partition counts one partition.
func (c *counter) partition(queue, keys string) {
	do := c.client
	c.add("waiting", queue, do.LLen(c.ctx, keys+"ready").Val()-do.ZCard(c.ctx, keys+"stale").Val()+do.ZCard(c.ctx, keys+"line").Val())
	c.add("delayed", queue, do.ZCard(c.ctx, keys+"due").Val())
	c.add("dead", queue, do.ZCard(c.ctx, keys+"dead").Val())
	c.add("schedules", queue, do.HLen(c.ctx, keys+"schedules").Val())
	c.add("parked", queue, 0)
	for _, list := range do.Keys(c.ctx, keys+"parked:*").Val() {
		c.add("parked", queue, do.ZCard(c.ctx, list).Val())
	}
	for _, what := range []string{"running", "taken", "vanished", "workers"} {
		c.add(what, queue, 0) // a number that is not counted is unknown
	}
	for _, session := range do.ZRangeWithScores(c.ctx, keys+"sessions", 0, -1).Val() {
		held := do.HGetAll(c.ctx, keys+"inflight:"+session.Member.(string)).Val()
		worker := strings.Split(held["\x01"], " ")[5]
		delete(held, "\x01")
		if int64(session.Score) < c.now.UnixMilli() { // its worker is gone
			c.add("vanished", queue, int64(len(held)))
			continue
		}
		for _, value := range held {
			if strings.HasPrefix(value, "-") {
				c.add("taken", queue, 1)
				continue
			}
			c.add("running", queue, 1)
			c.counts["busy "+worker]++
		}
	}
	c.failures(keys)
	for group, held := range do.HGetAll(c.ctx, keys+"groups").Val() {
		flights, err := strconv.ParseInt(strings.Fields(held)[0][1:], 10, 64)
		if err != nil {
			c.t.Fatalf("group %q: %q", group, held)
		}
		c.counts["running "+queue+" "+group] = flights
	}
	for _, member := range do.ZRange(c.ctx, keys+"line", 0, -1).Val() {
		group, _, _ := strings.Cut(member, "\t")
		c.counts["waiting "+queue+" "+group]++
	}
}

// failures counts the dead jobs, those that wait for another attempt, and their attempts of the last hour.
func (c *counter) failures(keys string) {
	dead := c.client.ZRange(c.ctx, keys+"dead", 0, -1).Val()
	for _, id := range append(dead, c.client.ZRange(c.ctx, keys+"due", 0, -1).Val()...) {
		body, err := c.client.HGet(c.ctx, keys+"jobs", id).Bytes()
		if err != nil {
			continue // an occurrence has no body before its first retry
		}
		job, err := wire.DecodeEnvelope(body)
		if err != nil {
			c.t.Fatalf("job %q: %v", id, err)
		}
		if job.LastError == "" {
			continue
		}
		c.counts["group "+job.Name+" "+shape.Of(job.LastError)]++
		if job.Details == nil {
			c.t.Fatalf("job %q has failed and has no details", id)
		}
		for _, failure := range job.Details.Failures {
			if !failure.At.Before(c.now.Add(-time.Hour)) {
				c.counts["failed "+job.Name+" "+shape.Of(failure.Error)]++
			}
		}
	}
}

// workers counts the live workers.
func (c *counter) workers() {
	beats := map[string]float64{}
	for _, beat := range c.client.ZRangeWithScores(c.ctx, "chime:beats", 0, -1).Val() {
		beats[beat.Member.(string)] = beat.Score
	}
	for name, text := range c.client.HGetAll(c.ctx, "chime:workers").Val() {
		var worker struct {
			Seen   float64        `json:"seen_ms"`
			Lives  float64        `json:"lives_ms"`
			Slots  int64          `json:"slots"`
			Queues map[string]int `json:"queues"`
		}
		if err := json.Unmarshal([]byte(text), &worker); err != nil {
			c.t.Fatalf("worker %q: %v", name, err)
		}
		if float64(c.now.UnixMilli())-max(worker.Seen, beats[name]) > worker.Lives {
			continue
		}
		c.counts["workers"]++
		c.counts["slots"] += worker.Slots
		c.counts["slots "+name] = worker.Slots
		c.counts["busy "+name] += 0
		for queue := range worker.Queues {
			c.counts["workers "+queue]++
		}
	}
}
