package redisstore

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
)

func TestPlacingMeetsAWrongTypeBeforeItHasPlacedAnything(t *testing.T) {
	server := newBench(t, redistest.Start(t, redistest.Options{}).Client(nil))
	for _, key := range []string{"owed", "schedules", "cursors", "due", "idle", "counters", "state", "open"} {
		b := server.again()
		declared := b.declare("s", "skip", `{"job":"j"}`)
		wrong, aside := b.keys().prefix+key, b.keys().prefix+"aside"
		b.client.Rename(b.Context(), wrong, aside)
		b.client.Set(b.Context(), wrong, "not chime's", 0)
		before := b.contents()
		placement := protocol.Placement{Partition: defaultPartition, Name: "s", Revision: declared.Revision, Cursor: declared.Owed.Cursor, Instants: []time.Time{ago(-time.Second)}}
		if a := b.store.Place(b.Context(), []protocol.Placement{placement})[0]; !errors.Is(a.Err, protocol.ErrUnfit) {
			b.Errorf("%s of a wrong type: %+v, want ErrUnfit", key, a)
		}
		if after := b.contents(); !maps.Equal(before, after) {
			b.Errorf("%s of a wrong type: the call failed and left behind\n%s", key, difference(before, after))
		}
		b.client.Del(b.Context(), wrong)
		b.client.Rename(b.Context(), aside, wrong)
		if a := b.store.Place(b.Context(), []protocol.Placement{placement})[0]; a.Placed != 1 {
			b.Errorf("once %s was right again: %+v, want one placed", key, a)
		}
	}
}
