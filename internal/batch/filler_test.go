package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The IDs of members sort in the order of the items, and no two batches have the same one: not two of one millisecond, and not two with one ID.
func TestMemberIDsAreUniqueAndInOrder(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	seen := map[string]string{}
	for _, b := range []struct {
		id      string
		created time.Time
	}{{"a", now}, {"b", now}, {"a", now.Add(time.Millisecond)}} {
		var ids []string
		for _, position := range []int64{1, 2, 63, 64, 65, 4095, 4096, 4097, 262144, MaxItems - 1, MaxItems} {
			id := memberID(b.created, b.id, position)
			at := fmt.Sprint(b.id, b.created, position)
			if other := seen[id]; other != "" || len(id) != 16 {
				t.Errorf("%s and %s have the ID %q", at, other, id)
			}
			seen[id], ids = at, append(ids, id)
		}
		if !slices.IsSorted(ids) {
			t.Errorf("the IDs of %s are not in order: %q", b.id, ids)
		}
	}
}

// A growingStore loses the answers of FillBatch.
type growingStore struct {
	growerStore
	tokens []string
}

func (s *growingStore) GrowBatch(_ context.Context, _, token string, _ protocol.Partition) (protocol.BatchRecord, error) {
	s.tokens = append(s.tokens, token)
	return protocol.BatchRecord{State: protocol.BatchRunning}, nil
}

func (s *growingStore) FillBatch(_ context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	s.tokens = append(s.tokens, calls[0].Token)
	return []protocol.FillAnswer{{Err: errors.New("lost")}}
}

// All attempts of a growth have its token, and the error is ErrUnknown if no answer came.
func TestAGrowthWithoutAnAnswerIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &growingStore{}
		g := NewGrower(store, Options{Timeout: time.Second})
		_, err := g.Grow(t.Context(), Growth{Token: "mine", Batch: "x", Partition: protocol.Partition{Queue: "q"}, Items: []protocol.EnqueueItem{{ID: "a"}}})
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%v, want an unknown outcome", err)
		}
		if len(store.tokens) < 3 || slices.ContainsFunc(store.tokens, func(token string) bool { return token != "mine" }) {
			t.Errorf("the attempts had the tokens %q", store.tokens)
		}
	})
}
