package chime

import (
	"context"
	"time"
)

// A duty is something that a loop does again and again. It says itself when the next time is; when it fails, that is soon,
// and later each time.
type duty struct {
	act      string // a verb, for the log
	do       func(ctx context.Context) (again time.Duration, err error)
	next     time.Time
	failures int
}

const (
	dutyTimeout = 30 * time.Second
	never       = 100 * 365 * 24 * time.Hour // for a duty that somebody else will ask for
)

// now has a duty done at the loop's next turn.
func (d *duty) now() { d.next = time.Time{} }

// retry has a duty that failed done at the loop's next turn.
func (d *duty) retry() {
	if d.failures > 0 {
		d.now()
	}
}

// turn does a duty if it is time to, and tells of trouble.
func (d *duty) turn(ctx context.Context, trouble *trouble) {
	if ctx.Err() != nil || !reached(d.next, time.Now()) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, dutyTimeout)
	defer cancel()
	again, err := d.do(limited)
	now := time.Now()
	if err == nil {
		d.failures = 0
		d.next = now.Add(again)
		trouble.end(d.act, now)
		return
	}
	d.failures++
	d.next = now.Add(troubleDelay(d.failures))
	if ctx.Err() == nil {
		trouble.begin(d.act, d.act, err, now)
	}
}
