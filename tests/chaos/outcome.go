//go:build unix

package chaos

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/chimejobs/chime"
)

// An Outcome is how a run of a job ended, as its handler saw it.
type Outcome string

const (
	Unended   Outcome = ""        // unknown: its process was killed
	Done      Outcome = "done"    // the handler returned nil
	Failed    Outcome = "failed"  // an error or a panic: another attempt follows, or the job is dead
	Discarded Outcome = "discard" // an error of chime.Discard: the job is dead
	Snoozed   Outcome = "snooze"  // it runs again without using up an attempt
	CutOff    Outcome = "cut"     // the handler's ctx ended: a lost session, a drain, or a newer occurrence
)

// A behaviour is what a handler does in one run of a job.
type behaviour struct {
	outcome Outcome
	work    time.Duration
	deaf    bool // it ignores the end of its ctx, so it has an outcome although the session is lost
	panics  bool
}

// maxAttempts applies to every job and every occurrence.
const maxAttempts = 4

// behave returns what the handler does. It depends on the fence, so that no job is snoozed forever.
func behave(seed uint64, key string, fence int64) behaviour {
	h := fnv.New64a()
	fmt.Fprint(h, seed, key, fence)
	n := h.Sum64()
	pick := func(choices uint64) uint64 {
		choice := n % choices
		n /= choices
		return choice
	}
	b := behaviour{outcome: Done, deaf: pick(4) == 0}
	switch at := pick(200); {
	case at < 8:
		b.outcome, b.panics = Failed, at == 0
	case at == 8:
		b.outcome = Discarded
	case at < 12:
		b.outcome = Snoozed
	}
	switch at := pick(100); {
	case at < 2:
		b.work = 1500 * time.Millisecond
	case at < 12:
		b.work = time.Duration(20+pick(200)) * time.Millisecond
	case at < 40:
		b.work = time.Duration(pick(5000)) * time.Microsecond
	}
	return b
}

var errPlanned = errors.New("this attempt fails by plan")

// err returns the handler's error for the outcome, or panics if the plan requires it.
func (b behaviour) err() error {
	switch b.outcome {
	case Failed:
		if b.panics {
			panic(errPlanned)
		}
		return errPlanned
	case Discarded:
		return chime.Discard(errPlanned)
	case Snoozed:
		return chime.Snooze(300 * time.Millisecond)
	}
	return nil
}
