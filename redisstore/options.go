package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Options of a Store. The zero value is good.
type Options struct {
	// Namespace begins every key and channel: letters, digits, `_`, `.` and `-`, at most 100. Empty means "chime".
	Namespace string

	// Partitions spreads a hot queue over so many lines (1 to 1024, which a cluster keeps on different nodes). A queue that is
	// not named has 1. The number is fixed when the queue is first seen; another one is refused.
	Partitions map[string]int

	// DeadRetention is how long a job that was given up is kept. Zero means 30 days.
	DeadRetention time.Duration
	// MaxDead is how many of them a partition keeps; the oldest go first. Zero means 10,000.
	MaxDead int
	// ParkedRetention is how long a job waits for a worker that has a handler for it before it is given up. Zero means 7 days.
	ParkedRetention time.Duration

	// Logger hears of the connection's state. Nil means slog.Default().
	Logger *slog.Logger
}

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

func (o Options) validate(client redis.UniversalClient) error {
	var bad []error
	if client == nil {
		bad = append(bad, errors.New("redisstore: client is nil"))
	}
	if !namespacePattern.MatchString(o.Namespace) {
		bad = append(bad, fmt.Errorf("redisstore: Namespace %.100q: want 1 to 100 of A-Z a-z 0-9 _ . -", o.Namespace))
	}
	for queue, n := range o.Partitions {
		if n < 1 || n > 1024 {
			bad = append(bad, fmt.Errorf("redisstore: Partitions[%q] %d: want 1 to 1024", queue, n))
		}
	}
	if o.DeadRetention < 0 || o.MaxDead < 0 || o.ParkedRetention < 0 {
		bad = append(bad, errors.New("redisstore: DeadRetention, MaxDead and ParkedRetention must not be negative"))
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %w", protocol.ErrUnfit, errors.Join(bad...))
	}
	return nil
}
