package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestNamesListsEveryScheduleOnceAndInOrder(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const stay = 2500 // more than a page
		var declarations []protocol.Declaration
		for i := range stay {
			declarations = append(declarations, protocol.Declaration{
				Name: fmt.Sprintf("stays%04d", i), Queue: []string{"default", "mail"}[i%2], Overlap: "skip", Body: []byte(`{"job":"j"}`)})
		}
		for some := range slices.Chunk(declarations, 100) {
			for _, answer := range b.store.Declare(b.Context(), some) {
				if answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
		}
		var listed []string
		for after := ""; ; {
			names, last, err := b.store.Names(b.Context(), protocol.NameRange{After: after})
			if err != nil {
				b.Fatal(err)
			}
			listed = append(listed, names...)
			if after = last; last == "" {
				break
			}
			b.declare("a new one before "+fmt.Sprint(len(listed)), "skip", `{"job":"j"}`)
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: after}); err != nil { // the next page begins behind a name that is gone
				b.Fatal(err)
			}
		}
		if len(listed) != stay || !slices.IsSorted(listed) || len(slices.Compact(listed)) != stay {
			b.Errorf("listed %d names, sorted %v; want each of %d once, in order", len(listed), slices.IsSorted(listed), stay)
		}
	})
}

func TestFindReadsSchedulesOfSeveralQueuesAndTheirCounters(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(30 * time.Second)
		b.scheduled("ran", "skip", at)
		b.work("s", protocol.WorkCall{Take: 1})
		mail := b.declareOn("mail", "waits", "skip", `{"job":"j"}`)
		tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
		b.place(*mail.Owed, mail.Revision, 0, tomorrow)
		b.declareOn("mail", "new", "skip", `{"job":"j"}`)
		found, err := b.store.Find(b.Context(), []string{"waits", "nobody", "ran", "new"})
		if err != nil || len(found) != 4 {
			b.Fatalf("found %+v, %v", found, err)
		}
		if f := found[0]; f.Partition.Queue != "mail" || !f.Waiting || !f.Cursor.At.Equal(tomorrow) || string(f.Definition) != string(mail.Stored) {
			b.Errorf("waits: %+v", f)
		}
		if found[1].Name != "" {
			b.Errorf("nobody: %+v, want nothing", found[1])
		}
		if f := found[2]; f.Waiting || f.Started != 1 || f.Placed != 1 || !f.Cursor.At.Equal(at) {
			b.Errorf("ran: %+v, want one placed and started, none waiting", f)
		}
		if f := found[3]; f.Name != "new" || f.Waiting || f.Cursor != (protocol.Cursor{}) {
			b.Errorf("new: %+v, want nothing placed", f)
		}
	})
}

// What somebody wrote into the registry by hand hides no other schedule, and is logged once.
func TestScheduleEntriesThatCannotBeReadHideNoOther(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		log := logTo(b.store)
		b.declare("good", "skip", `{"job":"j"}`)
		b.declare("zebra", "skip", `{"job":"j"}`)
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
		b.want("names", strings.Join(names, " "), "below brace empty good long more short size word zebra")
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
func TestNamesGoOnBehindAPageThatCannotBeRead(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		logTo(b.store)
		for i := range namesPerCall + 1 {
			b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, fmt.Sprintf("%05d", i)))
		}
		b.declare("last", "skip", `{"job":"j"}`)
		if names, _, err := b.store.Names(b.Context(), protocol.NameRange{}); err != nil || len(names) != 1 || names[0] != "last" {
			b.Errorf("names %v, %v; want the one that can be read", names, err)
		}
	})
}
