package redisstore

import (
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// The queue in which a schedule lives goes back to a state before the schedule came there, or loses all. Then only marks are left of it. The sweep of
// the queue that it came from completes the move once more; so does whoever calls it by its name and finds an earlier mark.
func TestAScheduleOfWhichOnlyMarksAreLeftArrivesAgain(t *testing.T) {
	sweeps := func(b *bench) error {
		return b.store.Sweep(b.Context(), []protocol.Partition{{Queue: "default"}}, 0)[0].Err
	}
	pauses := func(b *bench) error {
		_, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: "s", Paused: true})
		return err
	}
	for _, c := range []struct {
		name   string
		before bool // the queue has an earlier mark afterwards
		act    func(b *bench) error
	}{{"sweep, earlier mark", true, sweeps}, {"sweep, nothing", false, sweeps}, {"pause, earlier mark", true, pauses}} {
		t.Run(c.name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.registerQueues()
				lossDeclare(b, b.store, "s", "default", 1)
				isMail := lossSlots[1].has
				empty := b.slotSnapshot(isMail)
				lossDeclare(b, b.store, "s", "mail", 2)
				lossDeclare(b, b.store, "s", "default", 3)
				marked := b.slotSnapshot(isMail)
				lossDeclare(b, b.store, "s", "mail", 4)
				if c.before {
					b.goBack(isMail, marked)
				} else {
					b.goBack(isMail, empty)
				}
				if err := c.act(b); err != nil {
					b.Fatal(err)
				}
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil || found[0].Partition.Queue != "mail" || !strings.Contains(string(found[0].Definition), moveBody(3)[1:]) {
					b.Errorf("found on %q: %s, %v, want what its mark has, on mail", found[0].Partition.Queue, found[0].Definition, err)
				}
				before := b.everything()
				if err := sweeps(b); err != nil {
					b.Fatal(err)
				}
				b.Want("after another sweep", b.everything(), before)
			})
		})
	}
}
