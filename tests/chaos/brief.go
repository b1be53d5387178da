//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime"
)

// briefSchedules puts schedules, moves them, and deletes each when two later ones exist. A deleted one may not come back.
type briefSchedules struct {
	*program
	schedules *chime.Schedules
	random    *rand.Rand
	number    int
	live      []declaration
}

// next puts another one, or moves or deletes the oldest one.
func (b *briefSchedules) next(ctx context.Context, put func(d declaration, queue string) error) {
	queue := queueNames[b.random.IntN(len(queueNames))]
	if len(b.live) == 3 {
		oldest := b.live[0]
		b.live = b.live[1:]
		if b.random.IntN(3) == 0 {
			_ = put(oldest, queue)
		}
		b.send(Deleting, oldest.name, 0, "")
		if b.schedules.Delete(ctx, oldest.name) == nil {
			b.send(Deleted, oldest.name, 0, "")
		}
		return
	}
	b.number++
	end := time.Now().Add(10 * time.Second)
	if b.End.Before(end) {
		end = b.End
	}
	d := declaration{
		fmt.Sprintf("%sbrief.%s.%d", changedPrefix, b.Name, b.number), every(1, end.Truncate(time.Second)),
		options(chime.OverlapAllow, chime.MisfireRunOnce, queue),
	}
	b.live = append(b.live, d)
	_ = put(d, queue)
}
