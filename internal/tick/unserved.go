package tick

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	countEvery = 12 * time.Second // between two checks; a queue is logged at the second one that finds it unserved
	maxStats   = 250              // about how many unserved queues one check counts; the others have their turn later
	maxPages   = 8                // pages of the registry that one check reads
)

// An unserved finds queues with jobs that no live worker serves. It counts only queues that no worker serves: there are few of them in a store
// that is set up well.
//
//	served ───────────────────────────────► (forgotten)
//	unserved, with jobs to run now ──1st──► suspected ──2nd check, nothing ended since──► logged
//	logged ──no job to run, or served─────► (forgotten): it is logged again if it happens again
//
// Two checks are needed because a worker that restarts is gone for some seconds. So a queue is logged within twice countEvery, if the registry has
// at most maxStats unserved queues.
type unserved struct {
	store interface {
		protocol.QueueStore
		protocol.WorkerStore
	}
	log    *slog.Logger
	own    map[string]int // queues that this process serves
	cursor string         // of the registry
	round  int            // rounds of the registry
	found  map[string]*unservedQueue
}

// An unservedQueue is a queue with jobs that no worker served at the last check.
type unservedQueue struct {
	stats  protocol.QueueStats
	logged bool
	round  int // of the registry in which it was found last
}

// check looks for queues of the next part of the registry.
func (u *unserved) check(ctx context.Context) error {
	queues, err := u.candidates(ctx)
	if err != nil || len(queues) == 0 {
		return err
	}
	workers, err := u.store.Workers(ctx)
	if err != nil {
		return err
	}
	served := map[string]bool{}
	for _, w := range workers {
		for queue := range w.Queues {
			served[queue] = true
		}
	}
	var some []string
	for queue := range queues {
		if served[queue] {
			delete(u.found, queue)
		} else {
			some = append(some, queue)
		}
	}
	if len(some) == 0 {
		return nil
	}
	slices.Sort(some)
	stats, err := u.store.QueueStats(ctx, some)
	if err != nil {
		return err
	}
	for i := range stats {
		u.note(&stats[i])
	}
	return nil
}

// candidates returns the queues of the next pages of the registry and those that were found before, without those that this process serves.
func (u *unserved) candidates(ctx context.Context) (map[string]bool, error) {
	queues := map[string]bool{}
	for range maxPages {
		page, next, err := u.store.Queues(ctx, u.cursor)
		if err != nil {
			return nil, err
		}
		for _, q := range page {
			if u.own[q.Queue] == 0 {
				queues[q.Queue] = true
			}
		}
		if u.cursor = next; next == "" {
			u.round++
			break
		}
		if len(queues) >= maxStats {
			break
		}
	}
	for queue, q := range u.found {
		switch {
		case !q.logged:
			queues[queue] = true
		case q.round < u.round-1:
			delete(u.found, queue) // the queue was deleted
		}
	}
	return queues, nil
}

// note records the counts of an unserved queue, and logs the queue if it was unserved at the last check and no job has ended since.
func (u *unserved) note(s *protocol.QueueStats) {
	overdue := !s.FirstDue.IsZero() && s.FirstDue.Before(s.Now)
	if s.Partitions == 0 || s.Waiting == 0 && !overdue || s.Running > 0 || s.Paused {
		delete(u.found, s.Queue)
		return
	}
	q := u.found[s.Queue]
	same := q != nil && q.stats.Done == s.Done && q.stats.Failed == s.Failed && q.stats.Died == s.Died
	if !same {
		q = &unservedQueue{}
		if u.found == nil {
			u.found = map[string]*unservedQueue{}
		}
		u.found[s.Queue] = q
	}
	q.stats, q.round = *s, u.round
	if same && !q.logged {
		q.logged = true
		u.log.Warn("chime: jobs wait on a queue that no live worker serves: add it to WorkerOptions.Queues of a worker that has their handlers",
			"event", "queue.unserved", "queue", s.Queue, "count", max(s.Waiting, 1))
	}
}
