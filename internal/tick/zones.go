package tick

import (
	"context"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// zonesEvery is the time from one comparison of all waiting occurrences with the time zone data here to the next.
const zonesEvery = 10 * time.Minute

// A rezoner compares the waiting occurrences of partitions with the time zone data here, some at a time. It withdraws those that were planned with
// other data, so that they are placed again. It reads the definitions of those only. It belongs to one goroutine.
type rezoner struct {
	store protocol.ScheduleStore
	log   *slog.Logger
	zones schedule.Zones

	left   []protocol.Partition // of the round under way, the first one from cursor on
	cursor string
}

// step continues the round under way, or begins one of these partitions. It returns what is to be placed, and whether more is left of the round.
func (z *rezoner) step(ctx context.Context, partitions []protocol.Partition) (owed []protocol.Owed, more bool, err error) {
	if len(z.left) == 0 {
		z.left = append(z.left, partitions...)
	}
	for began := time.Now(); len(z.left) > 0 && time.Since(began) < stepTime && len(owed) == 0; {
		entries, next, err := z.store.ZonedIn(ctx, z.left[0], z.cursor)
		if err != nil {
			return nil, true, err
		}
		if owed, err = z.compare(ctx, z.left[0], entries); err != nil {
			return owed, true, err
		}
		if z.cursor = next; next == "" {
			z.left = z.left[1:]
		}
	}
	return owed, len(z.left) > 0, nil
}

// compare withdraws the occurrences of a partition that were planned with other data.
func (z *rezoner) compare(ctx context.Context, partition protocol.Partition, entries []protocol.ZonedEntry) ([]protocol.Owed, error) {
	var names []string
	zoned := map[string]protocol.Zoned{}
	for _, e := range entries {
		if z.zones.Differ(e.Zoned) {
			names, zoned[e.Name] = append(names, e.Name), e.Zoned
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	found, err := z.store.Find(ctx, names)
	if err != nil {
		return nil, err
	}
	var replans []protocol.Replan
	var owed []protocol.Owed
	for i := range found {
		f := &found[i]
		if f.Err != nil || f.Partition != partition || !f.Waiting {
			continue
		}
		at := protocol.Address{Partition: partition, Name: f.Name}
		if r, ok := schedule.ReplanOf(at, f.Definition, f.Cursor, zoned[f.Name]); ok && z.store.MayReplan(f.Name) {
			replans = append(replans, r)
		}
	}
	withdrawn, err := z.store.Replan(ctx, replans)
	for i, o := range withdrawn {
		if o != nil {
			o.Zoned = zoned[o.Name]
			owed = append(owed, *o)
			logReplanned(z.log, o, replans[i].Cursor.At)
		}
	}
	return owed, err
}

// logReplanned logs that an occurrence is planned again; o is owed instead of it.
func logReplanned(log *slog.Logger, o *protocol.Owed, planned time.Time) {
	log.Warn("chime: an occurrence was planned with other time zone data: it is planned again", "event", "schedule.replanned",
		"schedule", o.Name, "queue", o.Partition.Queue, "planned", planned)
}

// replanDeclared withdraws the waiting occurrences of declared schedules that did not change, if they were planned with other time zone data. The
// answers then have what is owed instead. If the store does not answer, the sweep of a leader finds them later.
func replanDeclared(ctx context.Context, store protocol.ScheduleStore, declarations []protocol.Declaration, answers []protocol.DeclareAnswer) {
	var zones schedule.Zones
	var replans []protocol.Replan
	var of []*protocol.DeclareAnswer
	for i := range answers {
		a := &answers[i]
		same := a.Err == nil && !a.New && !a.Changed && !a.Recount && !a.Outdated && !a.Newer && a.Owed == nil
		if !same || !zones.Differ(a.Zoned) {
			continue
		}
		at := protocol.Address{Partition: a.Partition, Name: declarations[i].Name}
		if r, ok := schedule.ReplanOf(at, a.Stored, a.Cursor, a.Zoned); ok && store.MayReplan(r.Name) {
			replans, of = append(replans, r), append(of, a)
		}
	}
	if len(replans) == 0 {
		return
	}
	withdrawn, _ := store.Replan(ctx, replans)
	for i, o := range withdrawn {
		if a := of[i]; o != nil {
			o.Zoned = a.Zoned
			a.Owed, a.Replanned, a.Cursor = o, a.Cursor.At, o.Cursor
		}
	}
}
