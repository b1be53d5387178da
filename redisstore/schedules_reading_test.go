package redisstore

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A few schedules of each of many partitions are read with a script, others with plain commands. Both find the same: with a placed occurrence and without,
// owed, paused, taken, and with counters.
func TestSchedulesAreReadAlikeWithAScriptAndWithCommands(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(-time.Hour)
		var names []string
		for i := range 3 * maxScripted {
			name := fmt.Sprintf("s%02d", i)
			names = append(names, name)
			answer := b.DeclareOn("mail", name, "skip", `{"job":"j"}`)
			if i%3 > 0 {
				b.Place(*answer.Owed, answer.Revision, 0, at.Add(time.Duration(i)*time.Minute))
			}
		}
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		b.client.HSet(b.Context(), mail.counters, "s04/done", 7, "s05/failed", 2)
		b.client.HSet(b.Context(), mail.owners, "s07", "me 3")
		b.client.ZRem(b.Context(), mail.due, "s08@"+at.Add(8*time.Minute).UTC().Format(time.RFC3339)) // it was taken
		var others []string                                                                           // each on a queue of its own
		for i := range maxCommanded {
			name := fmt.Sprintf("other%d", i)
			others = append(others, name)
			b.DeclareOn("queue-"+name, name, "skip", `{"job":"j"}`)
		}
		together, err := b.store.Find(b.Context(), append(names, "none"))
		if err != nil {
			b.Fatal(err)
		}
		placed, owed := 0, 0
		for i, name := range append(names, "none") {
			alone, err := b.store.Find(b.Context(), append([]string{name}, others...))
			if err != nil {
				b.Fatal(err)
			}
			if name != "none" && alone[0].Now.IsZero() {
				b.Errorf("%s is read without the time", name)
			}
			alone[0].Now, together[i].Now = time.Time{}, time.Time{}
			if !reflect.DeepEqual(alone[0], together[i]) {
				b.Errorf("%s is read as %+v with a script, and as %+v with commands", name, alone[0], together[i])
			}
			if alone[0].Waiting {
				placed++
			}
			if !alone[0].Since.IsZero() {
				owed++
			}
		}
		if placed != 2*maxScripted-1 || owed != maxScripted || together[4].Counters.Done != 7 || together[7].Owner.Version != 3 {
			b.Errorf("%d are placed and %d owed, %+v, %+v; want %d and %d, and the counters and the owner", placed, owed, together[4], together[7], 2*maxScripted-1, maxScripted)
		}
	})
}
