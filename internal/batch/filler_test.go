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

// A growingStore loses the answers of FillBatch while lost is true.
type growingStore struct {
	EndingStore
	lost   bool
	tokens []string
}

func (s *growingStore) GrowBatch(context.Context, string, string, protocol.Partition) (protocol.BatchRecord, error) {
	return protocol.BatchRecord{State: protocol.BatchRunning}, nil
}

func (s *growingStore) FillBatch(_ context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	s.tokens = append(s.tokens, calls[0].Token)
	if s.lost {
		return []protocol.FillAnswer{{Err: errors.New("lost")}}
	}
	return make([]protocol.FillAnswer, len(calls))
}

func (s *growingStore) ReportBatches(context.Context, []protocol.BatchReport) []protocol.ReportAnswer {
	return make([]protocol.ReportAnswer, 1)
}

// A call whose outcome is unknown and that the caller repeats has the same token, once; other calls have tokens of their own.
func TestAGrowthWithAnUnknownOutcomeIsRepeatedWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &growingStore{lost: true}
		g := NewGrower(store, Options{Timeout: time.Second})
		grow := func(id string) error {
			_, err := g.Grow(t.Context(), Growth{Batch: "x", Partition: protocol.Partition{Queue: "q"}, Items: []protocol.EnqueueItem{{ID: id}}})
			return err
		}
		if err := grow("a"); err == nil {
			t.Fatal("the answer was lost, and there is no error")
		}
		token := store.tokens[0]
		if len(store.tokens) < 2 || slices.ContainsFunc(store.tokens, func(other string) bool { return other != token }) {
			t.Errorf("the attempts of one call had the tokens %q", store.tokens)
		}
		store.lost, store.tokens = false, nil
		if err := errors.Join(grow("b"), grow("a"), grow("a")); err != nil {
			t.Error(err)
		}
		if store.tokens[0] == token || store.tokens[1] != token || store.tokens[2] == token {
			t.Errorf("%q: the second call of these repeats the one with the token %s", store.tokens, token)
		}
	})
}

// What is remembered of unknown outcomes is bounded.
func TestUnknownGrowthsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGrower(nil, Options{})
		for i := range maxUnknown + 10 {
			g.remember(fmt.Sprint(i), "token")
		}
		if len(g.unknown) > maxUnknown {
			t.Errorf("%d are remembered", len(g.unknown))
		}
		time.Sleep(unknownAge)
		if g.token(fmt.Sprint(maxUnknown+9)) == "token" {
			t.Error("an old one is remembered")
		}
	})
}
