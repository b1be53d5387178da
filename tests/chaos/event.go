//go:build unix

package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Verb names what happened in a child process.
type Verb string

const (
	Offered  Verb = "offer"  // key: a batch, number: how many jobs, more: their queue and their group; it is about to be enqueued
	Repeated Verb = "repeat" // key: a batch whose outcome is unknown; it is about to be enqueued again with the same IDs
	Accepted Verb = "accept" // key: a batch; the store has all its jobs
	Begun    Verb = "begin"  // key: a job; number: its fence; more: attempt, crashes and queue
	Ended    Verb = "end"    // key: a job; number: its fence; more: the outcome
	Logged   Verb = "log"    // key: the event of a log line
	Putting  Verb = "put"    // key: a schedule; it is about to be put
	Put      Verb = "puts"   // key: a schedule; it was put
	Deleting Verb = "delete" // key: a schedule; it is about to be deleted, and is never put again
	Deleted  Verb = "gone"   // key: a schedule; it was deleted
)

// An Event is one line of a child's output.
type Event struct {
	At     time.Time // in microseconds, by the machine's clock, shared by all processes
	Verb   Verb
	Key    string // without spaces
	Number int64
	More   string
}

// String returns the line, without its line break.
func (e Event) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%d %s %s %d %s", e.At.UnixMicro(), e.Verb, e.Key, e.Number, e.More), " ")
}

// ParseEvent parses a line.
func ParseEvent(line string) (Event, error) {
	words := strings.SplitN(line, " ", 5)
	if len(words) < 4 {
		return Event{}, fmt.Errorf("chaos: event %q: want instant, verb, key and number", line)
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return Event{}, fmt.Errorf("chaos: event %q: %w", line, err)
	}
	number, err := strconv.ParseInt(words[3], 10, 64)
	if err != nil {
		return Event{}, fmt.Errorf("chaos: event %q: %w", line, err)
	}
	e := Event{At: time.UnixMicro(at), Verb: Verb(words[1]), Key: words[2], Number: number}
	if len(words) == 5 {
		e.More = words[4]
	}
	return e, nil
}
