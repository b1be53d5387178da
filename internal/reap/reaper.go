// Package reap returns the jobs of sessions whose worker is gone.
package reap

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// A Reaper reaps a lapsed session at the second look: it leaves the session alone for the time of a heartbeat and a tenth, and
// returns its jobs only if the session was not extended since. So an outage of the store that is shorter than a session's TTL reruns
// nothing.
//
// Any number of reapers may find the same session; the store lets one of them reap it. It is safe for concurrent use.
type Reaper struct {
	store  protocol.JobStore
	wait   time.Duration // between the two looks
	log    *slog.Logger
	notify chan struct{} // there is a new sighting; room for one

	mu   sync.Mutex
	seen map[sightingKey]sighting
}

type sightingKey struct {
	partition protocol.Partition
	session   string
}

// A sighting is a session that was seen lapsed.
type sighting struct {
	lapse    time.Time // when it lapses, as the store said
	due      time.Time // the second look
	failures int
}

// maxSightings bounds what is remembered. The next poll finds a session again that was not remembered.
const maxSightings = 10_000

// New returns a reaper for sessions of this TTL.
func New(store protocol.JobStore, ttl time.Duration, log *slog.Logger) *Reaper {
	return &Reaper{
		store:  store,
		wait:   secondLook(ttl),
		log:    log,
		notify: make(chan struct{}, 1),
		seen:   make(map[sightingKey]sighting),
	}
}

// secondLook is how long a lapsed session is left alone: one heartbeat and a tenth of one.
func secondLook(ttl time.Duration) time.Duration { return ttl / 3 * 11 / 10 }

// Note remembers lapsed sessions that a poll has found.
func (r *Reaper) Note(partition protocol.Partition, lapsed []protocol.LapsedSession, now time.Time) {
	if len(lapsed) == 0 {
		return
	}
	r.mu.Lock()
	for _, l := range lapsed {
		key := sightingKey{partition, l.Session}
		known, ok := r.seen[key]
		if ok && known.lapse.Equal(l.Lapse) || !ok && len(r.seen) >= maxSightings {
			continue
		}
		r.seen[key] = sighting{lapse: l.Lapse, due: now.Add(r.wait)}
	}
	r.mu.Unlock()
	select {
	case r.notify <- struct{}{}:
	default:
	}
}

// Run reaps until ctx ends.
func (r *Reaper) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		key, s, ok := r.earliest()
		wait := time.Hour
		if ok {
			wait = time.Until(s.due)
		}
		if wait <= 0 {
			r.reap(ctx, key, s)
			if ctx.Err() != nil {
				return
			}
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

func (r *Reaper) earliest() (key sightingKey, first sighting, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.seen {
		if !ok || s.due.Before(first.due) {
			key, first, ok = k, s, true
		}
	}
	return key, first, ok
}

// reap takes the second look at one session and, if it was not extended since the first, returns its jobs in steps.
func (r *Reaper) reap(ctx context.Context, key sightingKey, s sighting) {
	for {
		done, err := r.store.Reap(ctx, protocol.ReapCall{Partition: key.partition, Session: key.session, Seen: s.lapse, Seed: rand.Int64()})
		if err != nil {
			s.failures++
			s.due = time.Now().Add(retry.Delay(s.failures))
			r.put(key, s)
			if s.failures == 1 {
				r.log.Warn("chime: could not reap a lapsed session, trying again", "event", "session.reap_failed",
					"queue", key.partition.Queue, "partition", key.partition.Index, "session", key.session, "error", err)
			}
			return
		}
		s.failures = 0
		if done {
			break
		}
	}
	r.mu.Lock()
	if r.seen[key].lapse.Equal(s.lapse) {
		delete(r.seen, key)
	}
	r.mu.Unlock()
}

// put writes a sighting back unless a later one has replaced it.
func (r *Reaper) put(key sightingKey, s sighting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[key].lapse.Equal(s.lapse) {
		r.seen[key] = s
	}
}
