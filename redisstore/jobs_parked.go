package redisstore

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// sharedParked stands among the names with parked jobs for the list of all names beyond the first thousand. Its members are
// "<name>\t<job ID>".
const sharedParked = "*"

const (
	maxParkedLook   = 500 // names in one command
	sharedPeek      = 200 // members of the shared list that are looked at: so many of the newest, and as many anywhere
	maxServedShared = 100
)

// A parkedLook is what is read of one partition to find the names with parked jobs among those that a worker handles. It costs the same
// however many names have parked jobs.
type parkedLook struct {
	handled       []string
	lists         []*redis.FloatSliceCmd // of the names, maxParkedLook each, then sharedParked
	newest, other *redis.StringSliceCmd  // of the shared list
}

// lookUpParked adds to hints what is parked in partitions that their answers did not say: where the mark is not the one that the
// caller has seen. A hint whose look-up failed is left as it is; the next answer has that mark again.
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

// into writes to a hint what was found. A name without a list has no score there: 0 is no instant at which a job was parked.
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
		h.ParkedMark = 0 // only some of the shared list was looked at: the next look goes on
	}
}

// shared returns members of the shared list whose names are handled.
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

// Bury gives up parked jobs as Sweep has returned them.
func (s *store) Bury(ctx context.Context, p protocol.Partition, burials []protocol.Burial) (int, error) {
	if len(burials) == 0 {
		return 0, s.bad
	}
	k := s.keys.partition(p)
	keys := []string{k.state, k.jobs, k.dead, k.ready, k.crashes, k.schedules, k.due, k.idle, k.unhandled, k.last, k.history, k.counters}
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
		args = append(args, b.Entry, lists[b.List], read, b.Dead, b.OnDeath)
	}
	values, err := s.runOne(ctx, "bury jobs of", p.Queue, newCall(&buryScript, keys, args))
	return int(values.number(1)), err
}
