package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Options configure a Store. The zero value is valid: the comment of each field has its default. If options are invalid, the first call of a role
// returns an error, chime.ErrUnfit.
type Options struct {
	// Namespace is the prefix of every key and channel, so that several applications can share a Redis. It has 1 to 100 of the characters A-Z a-z
	// 0-9 _ . and -. Empty means "chime". Processes that work together must have the same namespace.
	Namespace string

	// Partitions is the number of partitions of each queue, 1 to 1024, by queue name. In a cluster, the partitions of a busy queue are spread over
	// the nodes. A queue that is not in the map has 1. The number is fixed when the queue is first used; another number is refused with
	// chime.ErrUnfit.
	Partitions map[string]int

	// DeadRetention is how long a dead job is kept. Zero means 30 days; negative is refused.
	DeadRetention time.Duration
	// MaxDead is how many dead jobs a partition keeps; the oldest are removed first. Zero means 10,000; negative is refused.
	MaxDead int
	// ParkedRetention is how long a job may be parked, because no live worker has a handler for it; after that it is dead. A job that a newer
	// version of chime wrote is parked for up to twice as long, because only a scheduler or a worker of that version can add the job that follows
	// its death. Zero means 7 days; negative is refused.
	ParkedRetention time.Duration

	// Logger receives the few warnings of the store: INFO or EVAL_RO is denied, so a check is left out; the server evicts keys with an expiry; a
	// schedule's move to another queue cannot be completed; an entry of a registry cannot be read. Nil means slog.Default(). Errors are returned to
	// the roles, which log them with their own Logger.
	Logger *slog.Logger
}

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// validate returns what is wrong with the options and the client, an error that wraps ErrUnfit.
func (o Options) validate(client redis.UniversalClient) error {
	var bad []error
	if v := reflect.ValueOf(client); client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		bad = append(bad, errors.New("redisstore: client is nil"))
	}
	if _, ring := client.(*redis.Ring); ring {
		bad = append(bad, errors.New("redisstore: client is a *redis.Ring, which distributes keys over servers that know nothing of each other: "+
			"a queue would be on several of them: use redis.NewClient, redis.NewFailoverClient or redis.NewClusterClient"))
	}
	if !namespacePattern.MatchString(o.Namespace) {
		bad = append(bad, protocol.Invalid("Options.Namespace", o.Namespace, "1 to 100 of A-Z a-z 0-9 _ . -"))
	}
	for queue, n := range o.Partitions {
		if n < 1 || n > protocol.MaxPartitions {
			bad = append(bad, protocol.Invalid(fmt.Sprintf("Options.Partitions[%q]", queue), strconv.Itoa(n), fmt.Sprintf("1 to %d", protocol.MaxPartitions)))
		}
	}
	for field, d := range map[string]time.Duration{"Options.DeadRetention": o.DeadRetention, "Options.ParkedRetention": o.ParkedRetention} {
		if d < 0 {
			bad = append(bad, protocol.Invalid(field, d.String(), "0, which is the default, or more"))
		}
	}
	if o.MaxDead < 0 {
		bad = append(bad, protocol.Invalid("Options.MaxDead", strconv.Itoa(o.MaxDead), "0, which is the default, or more"))
	}
	if len(bad) > 0 {
		return fmt.Errorf("redisstore: options: %w: %w", protocol.ErrUnfit, errors.Join(bad...))
	}
	return nil
}
