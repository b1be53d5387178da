// Package reap returns the jobs of sessions whose worker is gone.
package reap

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// A Reaper reaps a lapsed session at the second look. It waits for 1.1 times the heartbeat interval of the session, and returns the session's
// jobs only if the session was not extended meanwhile. So an outage of the store that is shorter than a session's TTL causes no second run.
//
// If many sessions lapse at the same time, all are found within a second and reaped at their second look. Any number of reapers may find the same
// session; the store allows only one of them to reap it. It is safe for concurrent use.
type Reaper struct {
	store  protocol.JobStore
	ttl    time.Duration // of sessions whose name does not contain the TTL
	log    *slog.Logger
	logged retry.LogLimiter
	notify chan struct{} // there is a new sighting; capacity 1
	reaped chan struct{} // a session is reaped; capacity 1

	mu     sync.Mutex
	seen   map[sightingKey]sighting
	listed map[protocol.Partition]time.Time // partitions with more lapsed sessions than fit in an answer -> not to be listed before this instant
	unread []protocol.Partition             // those of the partitions that are to be listed
}

type sightingKey struct {
	partition protocol.Partition
	session   string
}

// A sighting is a session that was found lapsed.
type sighting struct {
	lapse    time.Time // when it lapsed, as the store returned it
	due      time.Time // when the second look is due
	returned int       // jobs so far
	failures int
}

const (
	// maxSightings bounds the memory. The next poll finds a session again that was dropped.
	maxSightings = 100_000
	listEvery    = time.Second // the lapsed sessions of a partition are listed at most this often
	callTimeout  = 30 * time.Second
)

// New returns a reaper; ttl is for sessions whose name does not contain their TTL.
func New(store protocol.JobStore, ttl time.Duration, log *slog.Logger) *Reaper {
	return &Reaper{
		store:  store,
		ttl:    ttl,
		log:    log,
		notify: make(chan struct{}, 1),
		reaped: make(chan struct{}, 1),
		seen:   make(map[sightingKey]sighting),
		listed: make(map[protocol.Partition]time.Time),
	}
}

// Reaped delivers a value when a session that this reaper found is reaped, by any process. The worker that the store woke for its jobs may have
// vanished too, so each worker that watched polls for them.
func (r *Reaper) Reaped() <-chan struct{} { return r.reaped }

// secondLook returns how long a lapsed session is left alone: 1.1 times its heartbeat interval.
func (r *Reaper) secondLook(session string) time.Duration {
	ttl, ok := protocol.SessionTTL(session)
	if !ok {
		ttl = r.ttl
	}
	return ttl / 3 * 11 / 10
}

// Note stores the lapsed sessions of an answer. If the answer is full, all of the partition are listed.
func (r *Reaper) Note(partition protocol.Partition, lapsed []protocol.LapsedSession, now time.Time) {
	if len(lapsed) == 0 {
		return
	}
	r.mu.Lock()
	r.note(partition, lapsed, now)
	if len(lapsed) >= protocol.MaxSeenLapsed && !now.Before(r.listed[partition]) {
		r.listed[partition] = now.Add(listEvery)
		r.unread = append(r.unread, partition)
	}
	r.mu.Unlock()
	select {
	case r.notify <- struct{}{}:
	default:
	}
}

// note adds sightings. The caller holds mu.
func (r *Reaper) note(partition protocol.Partition, lapsed []protocol.LapsedSession, now time.Time) {
	for _, l := range lapsed {
		key := sightingKey{partition, l.Session}
		known, ok := r.seen[key]
		if ok && known.lapse.Equal(l.Lapse) || !ok && len(r.seen) >= maxSightings {
			continue
		}
		r.seen[key] = sighting{lapse: l.Lapse, due: now.Add(r.secondLook(l.Session))}
	}
}

// Run reaps until ctx ends.
func (r *Reaper) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		r.list(ctx)
		keys, calls, wait := r.due(time.Now())
		if len(calls) > 0 {
			r.reap(ctx, keys, calls)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-r.notify:
		case <-timer.C:
		}
	}
}

// list notes all lapsed sessions of the partitions that have more of them than fit in an answer.
func (r *Reaper) list(ctx context.Context) {
	r.mu.Lock()
	unread := r.unread
	r.unread = nil
	r.mu.Unlock()
	for _, partition := range unread {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		lapsed, err := r.store.Lapsed(limited, partition)
		cancel()
		now := time.Now()
		r.mu.Lock()
		r.note(partition, lapsed, now)
		for p, at := range r.listed {
			if now.After(at) {
				delete(r.listed, p)
			}
		}
		r.mu.Unlock()
		if err != nil && ctx.Err() == nil && r.logged.Allow("list", now) {
			r.log.Warn("chime: could not list lapsed sessions, the next poll finds them", "event", "session.reap_failed",
				"queue", partition.Queue, "partition", partition.Index, "error", err)
		}
	}
}

// due returns the sightings whose second look is due, up to the number that one call reaps, and how long to wait for the next one.
func (r *Reaper) due(now time.Time) (keys []sightingKey, calls []protocol.ReapCall, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []sightingKey
	wait = time.Hour
	for key, s := range r.seen {
		if left := s.due.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b sightingKey) int { return r.seen[a].due.Compare(r.seen[b].due) })
	for _, key := range all[:min(len(all), protocol.MaxReaped)] {
		keys = append(keys, key)
		calls = append(calls, protocol.ReapCall{Partition: key.partition, Session: key.session, Seen: r.seen[key].lapse, Seed: rand.Int64()})
	}
	return keys, calls, wait
}

// reap takes the second look at sessions. It returns the jobs of those that were not extended since the first look, some jobs of each.
func (r *Reaper) reap(ctx context.Context, keys []sightingKey, calls []protocol.ReapCall) {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answers := r.store.Reap(limited, calls)
	if ctx.Err() != nil {
		return
	}
	for i, key := range keys {
		answer := protocol.ReapAnswer{Err: errNoAnswer}
		if i < len(answers) {
			answer = answers[i]
		}
		r.answered(key, calls[i].Seen, answer)
	}
}

var errNoAnswer = errors.New("chime: the store gave no answer")

// answered notes the result for a session.
func (r *Reaper) answered(key sightingKey, lapse time.Time, answer protocol.ReapAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.seen[key]
	if !ok || !s.lapse.Equal(lapse) {
		return // a later sighting has replaced this one
	}
	s.returned += answer.Returned
	if answer.Dropped > 0 {
		r.log.Warn("chime: a session held entries that are not jobs; they are dropped", "event", "session.unreadable",
			"queue", key.partition.Queue, "partition", key.partition.Index, "session", key.session, "count", answer.Dropped)
	}
	switch {
	case answer.Err != nil:
		s.failures++
		s.due = time.Now().Add(retry.Delay(s.failures))
		if s.failures == 1 {
			r.log.Warn("chime: could not reap a lapsed session, trying again", "event", "session.reap_failed",
				"queue", key.partition.Queue, "partition", key.partition.Index, "session", key.session, "error", answer.Err)
		}
	case answer.Done:
		delete(r.seen, key)
		select {
		case r.reaped <- struct{}{}:
		default:
		}
		if s.returned > 0 {
			r.log.Info("chime: the jobs of a vanished worker are returned to their queue", "event", "session.reaped",
				"queue", key.partition.Queue, "partition", key.partition.Index, "session", key.session, "count", s.returned)
		}
		return
	default:
		s.failures = 0
	}
	r.seen[key] = s
}
