package chime

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	troubleFirst = 50 * time.Millisecond
	troubleMost  = 5 * time.Second
	tellEvery    = time.Minute
)

// troubleDelay is how long to wait after so many failures of the store in a row: it doubles from 50 ms to 5 s, and half of it is
// random, so that many processes do not come back at the same instant.
func troubleDelay(failures int) time.Duration {
	d := troubleFirst << min(max(failures-1, 0), 10)
	d = min(d, troubleMost)
	return d/2 + rand.N(d/2+1)
}

// trouble tells of a store that does not answer: once when it begins, once a minute while it lasts, and once when it is over.
// It is over when everything that failed has succeeded since.
type trouble struct {
	log    *slog.Logger
	failed map[any]bool // what is failing: a lane, say
	since  time.Time
	told   time.Time
}

func (t *trouble) begin(what any, act string, err error, now time.Time) {
	if t.failed == nil {
		t.failed = make(map[any]bool)
	}
	if len(t.failed) == 0 {
		t.since, t.told = now, time.Time{}
	}
	t.failed[what] = true
	if !t.told.IsZero() && now.Sub(t.told) < tellEvery {
		return
	}
	t.told = now
	t.log.Warn("chime: the store is in trouble, trying again", "act", act, "for", now.Sub(t.since).Round(time.Millisecond), "error", err)
}

func (t *trouble) end(what any, now time.Time) {
	if len(t.failed) == 0 || !t.failed[what] {
		return
	}
	if delete(t.failed, what); len(t.failed) == 0 {
		t.log.Info("chime: the store answers again", "after", now.Sub(t.since).Round(time.Millisecond))
	}
}

// reminders lets each message through once a minute. It forgets what it has not seen for that long, so that names from
// the store cannot fill it.
type reminders struct {
	mu   sync.Mutex
	told map[string]time.Time
}

const maxReminders = 1000

func (r *reminders) due(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.told[key]; ok && now.Sub(at) < tellEvery {
		return false
	}
	if len(r.told) >= maxReminders {
		for k, at := range r.told {
			if now.Sub(at) >= tellEvery {
				delete(r.told, k)
			}
		}
		if len(r.told) >= maxReminders {
			return false
		}
	}
	if r.told == nil {
		r.told = make(map[string]time.Time)
	}
	r.told[key] = now
	return true
}
