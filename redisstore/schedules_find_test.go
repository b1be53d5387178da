package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// A manual entry in the registry hides no other schedule, and is logged once.
func TestScheduleEntriesThatCannotBeReadHideNoOther(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		log := logTo(b.store)
		b.Declare("good", "skip", `{"job":"j"}`)
		b.Declare("zebra", "skip", `{"job":"j"}`)
		registry := b.store.keys.registry()
		for _, entry := range []string{
			"brace\ta}:b\t7", "empty\t\t7", "long\t" + strings.Repeat("x", 1<<16) + "\t7", "size\tword\t7", "word\tdefault\tabc", "below\tdefault\t-1",
			"short\tdefault", "more\tdefault\t7\t7", "nothing", "", "\t\t",
		} {
			b.client.ZAdd(b.Context(), registry, redisZ(0, entry))
		}
		b.client.HSet(b.Context(), b.store.keys.queues(), "word", "abc")
		var names []string
		for range 2 {
			var err error
			if names, _, err = b.store.Names(b.Context(), protocol.NameRange{}); err != nil {
				b.Fatal(err)
			}
		}
		b.Want("names", strings.Join(names, " "), "below brace empty good long more short size word zebra")
		if n := strings.Count(log.String(), "event=store.unreadable"); n != 10 {
			b.Errorf("%d lines are logged, want 10, one for each entry that cannot be read:\n%s", n, log.String())
		}
		found, err := b.store.Find(b.Context(), names)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range found {
			good := f.Name == "good" || f.Name == "zebra"
			if (f.Err == nil) != good || f.Name == "" {
				b.Errorf("%s: error %v, want one for all but good and zebra", f.Name, f.Err)
			}
			if f.Err != nil && len(f.Err.Error()) > 1000 {
				b.Errorf("%s: the error has %d bytes", f.Name, len(f.Err.Error()))
			}
		}
		for _, name := range []string{"brace", "empty", "long", "word"} {
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: name}); err == nil {
				b.Errorf("%s: removed from a queue that cannot be", name)
			}
		}
		if n := len(b.client.HGetAll(b.Context(), b.store.keys.queues()).Val()); n != 2 {
			b.Errorf("%d queues are registered, want the 2 that were", n)
		}
	})
}

// A whole page of such entries is not the end of the list.
func TestNamesContinueAfterAPageThatCannotBeRead(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		logTo(b.store)
		for i := range namesPerCall + 1 {
			b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, fmt.Sprintf("%05d", i)))
		}
		b.Declare("last", "skip", `{"job":"j"}`)
		if names, _, err := b.store.Names(b.Context(), protocol.NameRange{}); err != nil || len(names) != 1 || names[0] != "last" {
			b.Errorf("names %v, %v; want the one that can be read", names, err)
		}
	})
}
