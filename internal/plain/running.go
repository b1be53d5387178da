package plain

import (
	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// Running returns the number of running jobs of a queue for a table. If it is not known which of the jobs that workers hold have begun, the number is the
// most that may run: ≤5,012.
func Running(q *chime.QueueInfo) string {
	if q.Ahead < 0 {
		return "≤" + format.Count(q.Running)
	}
	return format.Count(q.Running)
}
