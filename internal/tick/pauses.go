package tick

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// pausesEvery is the time between the leader's searches for pauses that are over. One that ends earlier is ended at its time.
const pausesEvery = 10 * time.Second

// endPauses ends the pauses that are over, places what their schedules are owed, and returns the time until the next one ends; -1: none has an end.
func (u *upkeep) endPauses(ctx context.Context) (next time.Duration, err error) {
	answer, err := u.store.EndPauses(ctx, u.partitions)
	for _, of := range answer.Ended {
		u.logEnd(&of)
	}
	if len(answer.Owed) > 0 {
		_, _ = u.placer.place(ctx, answer.Owed) // what fails is owed still: the search for it reports that
	}
	return answer.Next, err
}

// logEnd logs the end of a pause.
func (u *upkeep) logEnd(of *protocol.EndedPause) {
	switch {
	case of.Schedule != "":
		u.log.Info("chime: the pause of a schedule has ended", "event", "pause.ended", "schedule", of.Schedule, "queue", of.Partition.Queue)
	case of.Group != "":
		u.log.Info("chime: the pause of a group has ended", "event", "pause.ended", "group", of.Group, "queue", of.Partition.Queue)
	case of.Partition.Index == 0: // once for a queue
		u.log.Info("chime: the pause of a queue has ended", "event", "pause.ended", "queue", of.Partition.Queue)
	}
}
