package tick

import (
	"errors"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// A burier decides how parked jobs that no worker has taken are moved to the dead jobs, and which jobs follow their deaths.
type burier struct{ log *slog.Logger }

// bury is a reap.BuryFunc.
func (b burier) bury(queue string, job *protocol.ExpiredJob, at time.Time) (protocol.Burial, bool) {
	burial, err := schedule.Bury(queue, job, at)
	if errors.Is(err, schedule.ErrNotHere) && !job.Last {
		return burial, false
	}
	if err != nil {
		b.log.Error("chime: the job that follows the end of another one cannot be read", "event", "job.unfollowed", "id", job.ID, "queue", queue, "error", err)
	}
	return burial, true
}
