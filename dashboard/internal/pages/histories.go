package pages

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/history"
)

const (
	maxEntries = 50_000      // maximum number of entries in memory, for all schedules
	keptFor    = time.Minute // then they are read again, even if nothing of the schedule has ended
	readAtOnce = 16          // histories that are read together for a list; the others are read with the next reading of the list
)

// histories caches the history of each schedule until something of the schedule ends. Open pages need it every two seconds, and a history has some
// kilobytes.
type histories[T any] struct {
	read func(ctx context.Context, names []string) ([][]T, error) // empty for a schedule that does not exist

	mu    sync.Mutex
	kept  map[string]keptHistory[T]
	total int // entries
}

type keptHistory[T any] struct {
	entries []T
	stamp   stamp
	at      time.Time // time of the reading
}

// A stamp changes when something of a schedule ends.
type stamp struct {
	created, ended time.Time
	revision       int64
	unfinished     int
	outcome        chime.RunOutcome
	counters       chime.ScheduleCounters
}

func stampOf(s *chime.Schedule) stamp {
	return stamp{s.Created.UTC(), s.Last.Ended.UTC(), s.Revision, s.Last.Unfinished, s.Last.Outcome, s.Counters}
}

func newHistories[T any](read func(context.Context, []string) ([][]T, error)) *histories[T] {
	return &histories[T]{read: read, kept: map[string]keptHistory[T]{}}
}

// of returns the history of a schedule. The history of a deleted schedule is empty.
func (h *histories[T]) of(ctx context.Context, s *chime.Schedule) ([]T, error) {
	all, err := h.some(ctx, []*chime.Schedule{s})
	if err != nil {
		return nil, err
	}
	return all[0].entries, nil
}

// have returns the cached history, and reports whether it is current.
func (h *histories[T]) have(s *chime.Schedule) (entries []T, known, fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, known := h.kept[s.Name]
	return kept.entries, known, known && kept.stamp == stampOf(s) && time.Since(kept.at) < keptFor
}

// keep caches a history. If there are too many, it removes any others.
func (h *histories[T]) keep(name string, fresh keptHistory[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total += 1 + len(fresh.entries)
	if old, ok := h.kept[name]; ok {
		h.total -= 1 + len(old.entries)
	}
	h.kept[name] = fresh
	for other, old := range h.kept {
		if h.total <= maxEntries {
			return
		}
		if other != name {
			delete(h.kept, other)
			h.total -= 1 + len(old.entries)
		}
	}
}

// A found is the history of one schedule of several.
type found[T any] struct {
	entries []T
	known   bool // false: it was not read yet
}

// some returns the histories of several schedules, in their order: those in the cache, and up to readAtOnce others, which it reads.
func (h *histories[T]) some(ctx context.Context, schedules []*chime.Schedule) ([]found[T], error) {
	all := make([]found[T], len(schedules))
	var names []string
	var missing []int
	for i, s := range schedules {
		var fresh bool
		if all[i].entries, all[i].known, fresh = h.have(s); !fresh && len(names) < readAtOnce {
			names, missing = append(names, s.Name), append(missing, i)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	at := time.Now()
	read, err := h.read(ctx, names)
	if err != nil {
		return nil, err
	}
	for j, i := range missing {
		all[i] = found[T]{read[j], true}
		h.keep(names[j], keptHistory[T]{entries: read[j], stamp: stampOf(schedules[i]), at: at})
	}
	return all, nil
}

// readRuns reads the kept runs of schedules, newest first, for lists: it cuts their texts to the first line.
func (s *Site) readRuns(ctx context.Context, names []string) ([][]*chime.RunInfo, error) {
	all, err := history.Runs(ctx, s.store, names)
	for _, runs := range all {
		for _, run := range runs {
			job := jobOf(run)
			run.Error, run.Note = format.FirstLine(s.hooks.failed(job, run.Error)), format.FirstLine(s.hooks.failed(job, run.Note))
		}
	}
	return all, err
}

// readDays reads the kept days of schedules, oldest first.
func (s *Site) readDays(ctx context.Context, names []string) ([][]chime.RunDay, error) {
	all := make([][]chime.RunDay, len(names))
	for i, name := range names {
		var err error
		if all[i], err = s.schedules.Days(ctx, name); err != nil && !errors.Is(err, chime.ErrNotFound) {
			return nil, err
		}
	}
	return all, nil
}

// jobOf returns the known fields of the job of a run. The application's hooks need them.
func jobOf(run *chime.RunInfo) *chime.JobInfo {
	return &chime.JobInfo{
		ID: run.ID, Name: run.Name, Queue: run.Queue, Schedule: run.Schedule, Planned: run.Planned, Started: run.Started, Ended: run.Ended,
		Attempt: run.Attempt, Fence: run.Fence, LastError: run.Error, Worker: run.Worker, Outcome: run.Outcome, Note: run.Note,
	}
}
