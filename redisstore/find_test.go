package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestNamesReturnsEveryScheduleThatStays(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const stay = 1000 // more than a hash keeps in one piece
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
		seen, pages := map[string]bool{}, 0
		for cursor, first := "", true; first || cursor != ""; first = false {
			names, next, err := b.store.Names(b.Context(), cursor)
			if err != nil {
				b.Fatal(err)
			}
			for _, name := range names {
				seen[name] = true
			}
			cursor = next
			pages++
			b.declare(fmt.Sprintf("new%d", pages), "skip", `{"job":"j"}`)
			if pages > stay {
				b.Fatal("Names returns no end")
			}
		}
		for i := range stay {
			if name := declarations[i].Name; !seen[name] {
				b.Errorf("%s is not among the names", name)
			}
		}
		if _, _, err := b.store.Names(b.Context(), "somebody else's"); err == nil {
			b.Error("a cursor that is no number: no error")
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
