package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxHistoryReads is how often a history is read again, because attempts of it were removed between the reading of its head and of its fields.
const maxHistoryReads = 3

// A historyRead is what one partition has of a schedule.
type historyRead struct {
	last    string
	history historyEntry
}

// A historyPlace is what is read of one partition: its schedules, by name, and for each an entry of …:last and one of …:history.
type historyPlace struct {
	names            []string
	lasts, histories *redis.SliceCmd
}

// readHistories reads the history of schedules, first where each one lives, then in the queues that it has left; runs: with the attempts.
func (s *store) readHistories(ctx context.Context, names []string, runs bool) ([]protocol.Stored, [][]historyRead, error) {
	for n := 1; ; n++ {
		stored, read, whole, err := s.readHistoriesOnce(ctx, names, runs)
		if err != nil || whole || n == maxHistoryReads {
			return stored, read, err
		}
	}
}

// readHistoriesOnce is one try. whole is false if some field of an attempt is missing.
func (s *store) readHistoriesOnce(ctx context.Context, names []string, runs bool) (stored []protocol.Stored, read [][]historyRead, whole bool, err error) {
	stored, err = s.Find(ctx, names)
	if err != nil {
		return nil, nil, false, err
	}
	partitions := make([][]protocol.Partition, len(stored))
	places := map[protocol.Partition]*historyPlace{}
	for i := range stored {
		if stored[i].Name == "" {
			continue
		}
		partitions[i] = append(slices.Clone(stored[i].Left), stored[i].Partition)
		slices.Reverse(partitions[i]) // where it lives first, then where it was before
		for _, partition := range partitions[i] {
			if places[partition] == nil {
				places[partition] = &historyPlace{}
			}
			places[partition].names = append(places[partition].names, stored[i].Name)
		}
	}
	delete(places, protocol.Partition{}) // of an entry in the registry that cannot be read
	if len(places) == 0 {
		return stored, make([][]historyRead, len(stored)), true, nil
	}
	pipe := s.client.Pipeline()
	for partition, p := range places {
		k := s.keys.partition(partition)
		p.lasts, p.histories = pipe.HMGet(ctx, k.last, p.names...), pipe.HMGet(ctx, k.history, p.names...)
	}
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return nil, nil, false, failure("read the history of schedules", "", err)
	}
	read = make([][]historyRead, len(stored))
	pipe = s.client.Pipeline()
	var asked []askedFields
	for i := range stored {
		for _, partition := range partitions[i] {
			r := historyRead{}
			if p := places[partition]; p != nil {
				at := slices.Index(p.names, stored[i].Name)
				r = historyRead{reply(p.lasts.Val()).text(at), parseHistory(reply(p.histories.Val()).text(at))}
			}
			read[i] = append(read[i], r)
			if fields := r.history.fields(); runs && len(fields) > 0 {
				asked = append(asked, askedFields{pipe.HMGet(ctx, s.keys.partition(partition).history, fields...), i, len(read[i]) - 1, len(fields)})
			}
		}
	}
	if len(asked) == 0 {
		return stored, read, true, nil
	}
	cmds, err = pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return nil, nil, false, failure("read the attempts of schedules", "", err)
	}
	whole = true
	for _, a := range asked {
		var runs strings.Builder
		for at := range a.n {
			text := reply(a.fields.Val()).text(at)
			whole = whole && text != ""
			runs.WriteString(parseHistory(text).runs)
		}
		read[a.schedule][a.place].history.runs = runs.String()
	}
	return stored, read, whole, nil
}

// askedFields are the fields of a schedule's attempts in one place.
type askedFields struct {
	fields          *redis.SliceCmd
	schedule, place int
	n               int
}

// A historyEntry is a parsed head of …:history, or a field with attempts: see scripts/lib/history.lua. Before layout 4 the head had the
// attempts.
type historyEntry struct {
	days, left, runs string
	short            string
	first, last      int64
}

// maxHistoryFields is the number of fields from which on a head counts as changed by hand, as in scripts/lib/history.lua.
const maxHistoryFields = 4000

func parseHistory(text string) (e historyEntry) {
	numbers := 2
	if head, ok := strings.CutPrefix(text, "="); ok {
		fields := strings.SplitN(head, " ", 10)
		if len(fields) < 10 {
			return e
		}
		e.short, numbers = fields[0], 9
		e.first, _ = strconv.ParseInt(fields[1], 10, 64)
		e.last, _ = strconv.ParseInt(fields[2], 10, 64)
	}
	for range numbers {
		_, text, _ = strings.Cut(text, " ")
	}
	if strings.HasPrefix(text, "d") {
		e.days, text, _ = strings.Cut(text[1:], " ")
	}
	if strings.HasPrefix(text, "x") {
		e.left, text, _ = strings.Cut(text[1:], " ")
	}
	if e.short == "" {
		e.runs = text
	}
	return e
}

// fields returns the names of the fields with attempts, the oldest first.
func (e historyEntry) fields() (names []string) {
	if e.short == "" || e.last-e.first >= maxHistoryFields {
		return nil
	}
	for n := e.first; n <= e.last; n++ {
		names = append(names, fmt.Sprint(e.short, "\t", n))
	}
	return names
}
