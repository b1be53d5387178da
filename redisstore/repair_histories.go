package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var verifyHistoriesScript = scripts.Load("repair/verify_histories")

// A historyScan is what one reading of …:history has found.
type historyScan struct {
	names  map[string]string       // short → the schedule whose head has it
	heads  map[string]historyEntry // schedule → its head
	fields map[string][2]int64     // short → the least and the greatest number of its fields
	full   bool                    // there are more than maxVerifying: the others are not known
}

// histories verifies that each field with attempts belongs to a schedule: other fields would never be removed. A short is never used again. So if
// a later, complete reading has no head for the short of a field, the field belongs to no schedule.
func (v *verifier) histories(ctx context.Context, p protocol.Partition) error {
	first, err := v.scanHistories(ctx, p, true)
	if err != nil || first.full {
		return err
	}
	var doubtful []string
	unnamed := false
	for short, n := range first.fields {
		name, known := first.names[short]
		if head := first.heads[name]; !known || n[0] < head.first || n[1] > head.last {
			doubtful = append(doubtful, short)
			unnamed = unnamed || !known
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	again := first
	if unnamed {
		if again, err = v.scanHistories(ctx, p, false); err != nil || again.full {
			return err
		}
	}
	slices.Sort(doubtful)
	for _, short := range doubtful {
		n, name := first.fields[short], again.names[short]
		for from := n[0]; from <= n[1] && from-n[0] < maxHistoryFields; from += protocol.MaxItems {
			if err := v.judgeHistory(ctx, p, short, name, from, min(from+protocol.MaxItems-1, n[1])); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeHistory reports which of the fields from first to last belong to no schedule. name is the schedule whose head has their short.
func (v *verifier) judgeHistory(ctx context.Context, p protocol.Partition, short, name string, first, last int64) error {
	args := []any{"", flag(v.repair)}
	for n := first; n <= last; n++ {
		args = append(args, fmt.Sprint(short, "\t", n), name)
	}
	values, err := v.script(ctx, p, &verifyHistoriesScript, v.repair, []string{v.store.keys.partition(p).history, v.store.keys.partition(p).state}, args...)
	if err != nil {
		return err
	}
	if n := len(values.texts(2)); n > 0 {
		v.found(protocol.Finding{
			Kind: protocol.FoundHistory, Queue: p.Queue, ID: short, Schedule: name, Repaired: v.repair,
			Detail: fmt.Sprintf("%d fields with attempts belong to no history of a schedule: they would never be removed", n), Remedy: "they are removed",
		})
	}
	return nil
}

// scanHistories reads …:history; fields: with the fields of attempts.
func (v *verifier) scanHistories(ctx context.Context, p protocol.Partition, fields bool) (*historyScan, error) {
	found := &historyScan{names: map[string]string{}, heads: map[string]historyEntry{}, fields: map[string][2]int64{}}
	for cursor, begun := "0", false; (cursor != "0" || !begun) && !found.full; begun = true {
		values, err := v.script(ctx, p, &verifyHistoriesScript, false, []string{v.store.keys.partition(p).history, v.store.keys.partition(p).state}, cursor, "")
		if err != nil {
			return nil, err
		}
		cursor = values.text(0)
		for pair := range slices.Chunk(values.texts(2), 2) {
			short, number, isField := strings.Cut(pair[0], "\t")
			n, err := strconv.ParseInt(number, 10, 64)
			if head := parseHistory(pair[1]); !isField && head.short != "" {
				found.names[head.short], found.heads[pair[0]] = pair[0], head
			} else if isField && fields && err == nil {
				known, ok := found.fields[short]
				if !ok {
					known = [2]int64{n, n}
				}
				found.fields[short] = [2]int64{min(known[0], n), max(known[1], n)}
			}
		}
		found.full = len(found.names)+len(found.fields) > 2*maxVerifying
	}
	return found, nil
}
