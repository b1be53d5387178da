//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/redisstore"
)

// namespace is the default of redisstore.Options{}.
const namespace = "chime"

// A Snapshot is the data on the server after a run.
type Snapshot struct {
	Done       int64 // counted completions
	Schedules  []*chime.Schedule
	Dead       map[string]string // key of a dead job → the reason
	Unreadable []string          // dead jobs without a readable body
	Queues     []*chime.QueueInfo
	Keys       []string // every key
	Bodies     int64    // of jobs
}

// TakeSnapshot reads a snapshot.
func TakeSnapshot(ctx context.Context, client redis.UniversalClient) (*Snapshot, error) {
	store := redisstore.New(client, redisstore.Options{})
	s := &Snapshot{Dead: map[string]string{}}
	var err error
	if s.Queues, err = chime.NewQueues(store).List(ctx); err != nil {
		return nil, err
	}
	for _, queue := range s.Queues {
		s.Done += queue.Done
	}
	for schedule, err := range chime.NewSchedules(store).List(ctx, chime.ScheduleFilter{}) {
		if err != nil {
			return nil, err
		}
		s.Schedules = append(s.Schedules, schedule)
	}
	for all := client.Scan(ctx, 0, namespace+":*", 1000).Iterator(); ; {
		if !all.Next(ctx) {
			err = all.Err()
			break
		}
		s.Keys = append(s.Keys, all.Val())
	}
	if err != nil {
		return nil, err
	}
	for _, key := range s.Keys {
		if strings.HasSuffix(key, "}:jobs") {
			n, err := client.HLen(ctx, key).Result()
			if err != nil {
				return nil, err
			}
			s.Bodies += n
		}
		if strings.HasSuffix(key, "}:dead") {
			if err := s.readDead(ctx, client, strings.TrimSuffix(key, "dead")); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// readDead reads the dead set of one partition.
func (s *Snapshot) readDead(ctx context.Context, client redis.UniversalClient, prefix string) error {
	ids, err := client.ZRange(ctx, prefix+"dead", 0, -1).Result()
	if err != nil {
		return err
	}
	for _, id := range ids {
		body, err := client.HGet(ctx, prefix+"jobs", id).Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		envelope, err := wire.DecodeEnvelope(body)
		if err != nil {
			s.Unreadable = append(s.Unreadable, fmt.Sprintf("%s: %v", id, err))
			continue
		}
		key := id
		if envelope.Schedule == "" && !strings.Contains(id, "@") {
			if err := wire.Decode(envelope.Payload, &key); err != nil {
				s.Unreadable = append(s.Unreadable, fmt.Sprintf("%s: %v", id, err))
				continue
			}
		}
		if envelope.Name == followerName {
			key = followerKey(key, id)
		}
		s.Dead[key] = envelope.LastError
	}
	return nil
}

// Idle reports whether no work is left: no job waits, runs or is due, and every schedule has completed.
func (s *Snapshot) Idle() bool {
	for _, q := range s.Queues {
		if q.Waiting+q.Delayed+q.InFlight()+q.Parked+q.Outbox.Waiting > 0 {
			return false
		}
	}
	for _, schedule := range s.Schedules {
		if schedule.State != chime.StateCompleted {
			return false
		}
	}
	return true
}

// Owes reports whether a step of a schedule is to be made although no work is left. A process that died after it had begun to move a schedule leaves one, and
// another process makes it a second later.
func (s *Snapshot) Owes() bool {
	return slices.ContainsFunc(s.Keys, func(key string) bool { return strings.HasSuffix(key, "}:owed") })
}

// left describes the unfinished work.
func (s *Snapshot) left() string {
	var text strings.Builder
	for _, q := range s.Queues {
		if q.Waiting+q.Delayed+q.InFlight()+q.Parked+q.Outbox.Waiting > 0 {
			fmt.Fprintf(&text, " %s has %d waiting, %d delayed, %d in flight, %d parked, %d for other queues;", q.Name, q.Waiting, q.Delayed, q.InFlight(), q.Parked, q.Outbox.Waiting)
		}
	}
	for _, schedule := range s.Schedules {
		if schedule.State != chime.StateCompleted {
			fmt.Fprintf(&text, " schedule %s is %s;", schedule.Name, schedule.State)
		}
	}
	return strings.TrimSuffix(text.String(), ";")
}

// mayStay are the keys of a partition that a run may leave, by the part after the hash tag: data for readers, and data that a later call trims.
// Every other key contains work, and must be gone.
var mayStay = map[string]string{
	"state":     "fence, layout",
	"callers":   "trimmed after an hour",
	"counters":  "counts",
	"runs":      "past runs",
	"dead":      "dead jobs, kept for 30 days",
	"jobs":      "bodies of dead jobs only: see Orphans",
	"schedules": "completed schedules",
	"cursors":   "cursors of completed schedules",
	"idle":      "killed workers, dropped by the next one that sleeps",
	"gone":      "marks of moves, kept for 7 days",
	"results":   "results of jobs, kept for their retention",
	"kept":      "when each result expires",
	"once":      "unique keys of jobs, until they expire",
	"handlers":  "which worker handles which jobs, to unpark jobs",
	"owners":    "owners of declared schedules",
	"last":      "last results of schedules",
	"history":   "attempts of schedules",
	"places":    "groups of dead jobs",
	"groups":    "starts of groups that still count",
	"grules":    "rules of groups",
	"minutes":   "samples",
	"hours":     "samples",
	"sampled":   "values at the last sample",
	"measured":  "workers' measurements since then",
	"shapes":    "shapes of errors",
	"delivered": "jobs that were brought to other queues, kept for a minute",
	"outgoing":  "these jobs: none waits, see Idle",
	"carried":   "what other queues have taken",
	"inbox":     "what other queues have brought",
	"batches":   "counts of batches, until their homes forget them",
	"reports":   "counts that their homes get later: of batches that the emptied server has lost, a day later; a batch that does not end is found by checkEnds",
	"origins":   "queues that a schedule has left, with some of its counts",
}

// Orphans returns the keys that contain work although no work is left.
func (s *Snapshot) Orphans() []string {
	var left []string
	for _, key := range s.Keys {
		if strings.HasPrefix(key, namespace+":{/") && !strings.HasSuffix(key, "}:outbox") {
			continue // not a key of a queue's partition: it contains no work, unless jobs that follow batches wait there
		}
		_, name, partition := strings.Cut(key, "}:")
		if _, ok := mayStay[name]; partition && !ok {
			left = append(left, key)
		}
	}
	if s.Bodies != int64(len(s.Dead)) {
		left = append(left, fmt.Sprintf("%d bodies of %d dead jobs", s.Bodies, len(s.Dead)))
	}
	return left
}
