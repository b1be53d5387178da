package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// sharedParked is the entry, among the names with parked jobs, of the list of all names beyond the first thousand. The list's members are
// "<name>\t<job ID>".
const sharedParked = "*"

const (
	maxParkedLook   = 500 // names in one command
	sharedPeek      = 200 // members read of the shared list: this many of the newest, and as many at random
	maxServedShared = 100
)

// A parkedLook reads one partition to find which of the names that a worker handles have parked jobs. Its cost does not depend on
// the number of names with parked jobs.
type parkedLook struct {
	handled       []string
	lists         []*redis.FloatSliceCmd // of the names, maxParkedLook each, then sharedParked
	newest, other *redis.StringSliceCmd  // of the shared list
}

// lookUpParked adds to hints what is parked in partitions whose answers did not contain it: where the mark differs from the one that the
// caller has. A hint whose look-up failed is unchanged; the next answer has that mark again.
func (s *store) lookUpParked(ctx context.Context, partitions []protocol.Partition, looks []protocol.ParkedLook, hints []*protocol.WaitHint) {
	var pipe redis.Pipeliner
	under := make(map[int]*parkedLook)
	for i, look := range looks {
		if hints[i] == nil || len(look.Handled) == 0 {
			continue
		}
		if hints[i].ParkedMark == look.Seen || hints[i].ParkedMark == 0 {
			hints[i].Looked = hints[i].ParkedMark == 0
			continue
		}
		if pipe == nil {
			pipe = s.client.Pipeline()
		}
		under[i] = newParkedLook(ctx, pipe, s.keys.partition(partitions[i]), look.Handled)
	}
	if pipe == nil {
		return
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, look := range under {
		look.into(hints[i])
	}
}

func newParkedLook(ctx context.Context, pipe redis.Pipeliner, k partitionKeys, handled []string) *parkedLook {
	look := &parkedLook{handled: handled}
	for chunk := range slices.Chunk(handled, maxParkedLook) {
		look.lists = append(look.lists, pipe.ZMScore(ctx, k.unhandled, chunk...))
	}
	look.newest = pipe.ZRange(ctx, k.parked(sharedParked), -sharedPeek, -1)
	look.other = pipe.ZRandMember(ctx, k.parked(sharedParked), sharedPeek)
	return look
}

// into writes the result to a hint. A name without a list has no score there: 0 is not an instant at which a job was parked.
func (l *parkedLook) into(h *protocol.WaitHint) {
	var names []string
	n := 0
	for _, cmd := range l.lists {
		if cmd.Err() != nil || complete(cmd) != nil {
			return
		}
		for _, since := range cmd.Val() {
			if since != 0 {
				names = append(names, l.handled[n])
			}
			n++
		}
	}
	shared := l.shared()
	h.Parked, h.Looked = append(names, shared...), true
	if len(l.newest.Val()) > 0 {
		h.ParkedMark = 0 // only a part of the shared list was read: the next look continues
	}
}

// shared returns members of the shared list with a handled name.
func (l *parkedLook) shared() []string {
	var found []string
	for _, member := range append(l.newest.Val(), l.other.Val()...) {
		name, _, ok := strings.Cut(member, "\t")
		if ok && len(found) < maxServedShared && slices.Contains(l.handled, name) && !slices.Contains(found, member) {
			found = append(found, member)
		}
	}
	return found
}

var buryScript = scripts.Load("jobs/bury")

// Bury moves parked jobs that Sweep has returned to the dead jobs.
func (s *store) Bury(ctx context.Context, p protocol.Partition, burials []protocol.Burial) (int, error) {
	if len(burials) == 0 {
		return 0, s.bad
	}
	k := s.keys.partition(p)
	keys := []string{k.state, k.jobs, k.dead, k.ready, k.crashes, k.schedules, k.due, k.idle, k.unhandled, k.last, k.history, k.counters}
	keys = append(append(keys, k.grouping()...), k.outbox, k.outgoing, k.batches, k.reports)
	args := []any{s.options.ParkedRetention.Milliseconds(), s.options.MaxDead, s.keys.wake(), s.endedPrefix(p.Queue), 0}
	lists := map[string]int{} // name -> which one, from 1
	for i := range burials {
		name := burials[i].List
		if lists[name] == 0 {
			lists[name] = len(lists) + 1
			keys, args = append(keys, k.parked(name)), append(args, name)
		}
	}
	args[4] = len(lists)
	for i := range burials {
		b := &burials[i]
		read := b.Body
		if len(read) == 0 {
			read = b.Definition
		}
		body, in, queue := []byte(nil), "0", ""
		if b.Follower != nil {
			body, in, queue = b.Follower.Body, cmp.Or(followsLater(b.Follower), in), b.Follower.Queue
			if b.Follower.Batch != "" {
				queue += "\t" + b.Follower.Batch
			}
		}
		args = append(args, b.Entry, lists[b.List], read, b.Dead, body, in, queue)
	}
	values, err := s.runOne(ctx, "bury jobs of", p.Queue, newCall(&buryScript, keys, args))
	return int(values.number(1)), err
}
