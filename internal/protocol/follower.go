package protocol

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Follower is a job that is added when another one has ended.
type Follower struct {
	Body []byte        // see package wire
	In   time.Duration // > 0: it is due so much later; milliseconds. Else it is added to the front of the queue, or of its group
	// Group is the group to which it belongs; empty: none. Its partition must be the only one of its queue.
	Group string
	// Queue is its queue; empty: that of the job before it. A job of another queue waits in the outbox of the partition until it is carried there: see
	// OutboxStore. Its Group is of that queue.
	Queue string
	Batch string // of which it is a member as soon as it is added; empty: none
}

// A QueueGroup is a group of a queue to which a job that follows another one belongs.
type QueueGroup struct {
	Queue string // empty: that of the first job
	Group string
}

// The ends of a job that another one may follow, in the ID of that job.
const (
	EndDone = "done"
	EndDead = "dead" // or it has expired
)

var followerEnding = regexp.MustCompile(`#(?:done-\d+\.(\d\d?)|dead-\d+(?:\.(\d\d?))?)$`)

// FollowerID is the ID of the job that follows the end of another one under a fence: see scripts/lib/follower.lua of package redisstore. schedule
// is the schedule of the job that has ended; empty: it has none.
func FollowerID(id, end string, fence int64, schedule string) string {
	before := 0
	if ending := followerEnding.FindStringSubmatch(id); ending != nil {
		before = 1
		if n, err := strconv.Atoi(ending[1] + ending[2]); err == nil {
			before = n
		}
	}
	if end == EndDead && before == 0 {
		return id + "#dead-" + strconv.FormatInt(fence, 10)
	}
	from := 1
	if schedule != "" && strings.HasPrefix(id, schedule) {
		from = len(schedule)
	}
	if at := strings.IndexByte(id[min(from, len(id)):], '#'); at >= 0 {
		id = id[:from+at]
	}
	return id + "#" + end + "-" + strconv.FormatInt(fence, 10) + "." + strconv.Itoa(before+1)
}
