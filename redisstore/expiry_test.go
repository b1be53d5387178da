package redisstore

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

var givesExpiry = regexp.MustCompile(`'(P?EXPIRE(AT)?|P?SETEX|GETEX|HP?EXPIRE(AT)?|EX|PX|EXAT|PXAT)'|\.(P?Expire(At|NX|XX|GT|LT)?|SetEx|GetEx|HP?Expire(At)?)\(`)

// A server whose maxmemory-policy is one of volatile-* evicts keys with an expiry. Only the step that deletes a queue gives an expiry to a key.
func TestOnlyTheDeletionOfAQueueGivesAnExpiry(t *testing.T) {
	giving := map[string]int{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".lua") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := len(givesExpiry.FindAll(text, -1)); n > 0 {
			giving[path] = n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(giving) != 1 || giving["scripts/queues/delete_queue.lua"] != 5 {
		t.Errorf("an expiry is given in %v, want five times in scripts/queues/delete_queue.lua only", giving)
	}
}

// No key of a queue in use has an expiry, even if the queue was deleted before.
func TestOnlyWhatADeletedQueueLeavesExpires(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		use := func() {
			b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), protocol.EnqueueItem{ID: "c", In: time.Hour, Body: []byte("\x01c")})
			b.Declare("s", "skip", dailyBody)
			b.Sleeping("w")
			b.Take("s1", 1)
			if _, err := b.sweep(); err != nil {
				b.Fatal(err)
			}
		}
		expiring := func() (found []string) {
			for _, key := range b.keysLike("*") {
				if b.client.TTL(b.Context(), key).Val() != -1 {
					found = append(found, key)
				}
			}
			return found
		}
		use()
		if found := expiring(); len(found) > 0 {
			b.Errorf("%v expire on a queue in use", found)
		}
		// nothing is on the queue any more
		b.client.Del(b.Context(), b.keys().ready, b.keys().due, b.keys().schedules, b.keys().owed, b.keys().sessions)
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Fatal(remains, err)
		}
		if len(expiring()) == 0 {
			b.Error("nothing expires that a deleted queue has left")
		}
		use()
		if found := expiring(); len(found) > 0 {
			b.Errorf("%v expire on a queue that was deleted and is used again", found)
		}
	})
}

// A policy that evicts any key is refused; one that evicts only keys with an expiry is logged once.
func TestEvictionPolicies(t *testing.T) {
	for policy, want := range map[string]struct {
		refused bool
		lines   int
	}{
		"noeviction": {}, "": {}, "allkeys-lru": {refused: true}, "allkeys-lrm": {refused: true}, "volatile-lru": {lines: 1}, "volatile-ttl": {lines: 1}, "unheard-of": {refused: true},
	} {
		var lines strings.Builder
		c := serverCheck{log: slog.New(slog.NewTextHandler(&lines, nil))}
		for range 2 {
			err := c.evicts(context.Background(), policy, " of a")
			if refused := err != nil; refused != want.refused || refused && !strings.Contains(err.Error(), policy+" of a") {
				t.Errorf("%q: got the error %v, want one: %v", policy, err, want.refused)
			}
		}
		if n := strings.Count(lines.String(), "maxmemory-policy "+policy+" of a"); n != want.lines {
			t.Errorf("%q was logged %d times, want %d:\n%s", policy, n, want.lines, lines.String())
		}
	}
}
