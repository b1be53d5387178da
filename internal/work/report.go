package work

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// logStart logs which queues (name:weight) and jobs a worker serves, and on which server.
func logStart(config *Config, worker, server string) {
	var queues []string
	for _, queue := range slices.Sorted(maps.Keys(config.Queues)) {
		queues = append(queues, fmt.Sprintf("%s:%d", queue, config.Queues[queue]))
	}
	handlers := strings.Join(slices.Sorted(maps.Keys(config.Handlers)), " ")
	if handlers == "" {
		config.Log.Warn("chime: worker has no handlers: every job that it takes is parked for a worker that has its handler",
			"event", "worker.unhandled", "worker", worker)
	}
	host, _ := os.Hostname() // empty: unknown
	config.Log.Info("chime: worker starts", "event", "worker.started", "worker", worker, "host", host, "pid", os.Getpid(),
		"queues", strings.Join(queues, " "), "handlers", handlers, "concurrency", config.Concurrency, "store", server)
}

// logEnd logs how a worker has ended: how its attempts ended since its start, the jobs that it did not run, the outcomes that the store did not
// accept, and the IDs of the jobs whose handlers had not returned.
func logEnd(config *Config, worker string, d Drained, ended tally, took time.Duration) {
	level, text := slog.LevelInfo, "chime: worker has stopped"
	if len(d.CutOff) > 0 || d.Unsettled > 0 {
		level, text = slog.LevelWarn, "chime: worker has stopped before all of its jobs had ended"
	}
	config.Log.Log(context.Background(), level, text, "event", "drain.ended", "worker", worker, "took_ms", took.Milliseconds(),
		"done", ended.done, "retried", ended.failed, "dead", ended.dead, "snoozed", ended.snoozed, "cancelled", ended.cancelled,
		"parked", ended.parked, "missed", ended.missed, "expired", ended.expired, "given_back", ended.back, "unsettled", d.Unsettled, "cut_off", strings.Join(d.CutOff, " "))
}

// logSuperseded logs the occurrences that newer ones have ended, under overlap policy cancel.
func logSuperseded(config *Config, queue string, ids []string) {
	for _, id := range ids {
		name, _, _ := schedule.SplitOccurrence(id)
		config.Log.Info("chime: a newer run replaces one that was to be retried: the overlap policy is cancel", "event", "job.superseded",
			"id", id, "schedule", name, "queue", queue)
	}
}

// logUnreadable logs that a field of a partition cannot be read.
func logUnreadable(config *Config, p protocol.Partition, field string) {
	text := "chime: the store contained something unreadable; it was replaced"
	if field == "limit" {
		text = "chime: the limit of a queue cannot be read: no job of the queue is taken until the limit is set again"
	}
	config.Log.Warn(text, "event", "store.unreadable", "queue", p.Queue, "partition", p.Index, "reason", field)
}

// logPaused logs the schedules that were paused because their occurrences ended dead.
func logPaused(config *Config, queue string, paused []protocol.PausedSchedule) {
	for _, schedule := range paused {
		config.Log.Error("chime: a schedule is paused until somebody resumes it: its consecutive dead occurrences have reached its option PauseAfter",
			"event", "schedule.paused", "schedule", schedule.Name, "queue", queue, "count", schedule.Deaths)
	}
}
