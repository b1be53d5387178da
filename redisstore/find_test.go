package redisstore

import (
	"fmt"
	"slices"
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
			names, err := b.store.Names(b.Context(), after)
			if err != nil {
				b.Fatal(err)
			}
			if len(names) == 0 {
				break
			}
			listed = append(listed, names...)
			after = names[len(names)-1]
			b.declare("a new one before "+fmt.Sprint(len(listed)), "skip", `{"job":"j"}`)
			if _, err := b.store.Remove(b.Context(), after); err != nil { // the next page begins behind a name that is gone
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
