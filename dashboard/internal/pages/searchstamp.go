package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/jobfind"
)

// searchStamp returns the numbers of the queues that a search without a filter reads. While they remain the same, its jobs are most likely the same too. It is
// empty for searches whose jobs change without their queues: running jobs report progress.
func searchStamp(search jobfind.Search) string {
	if len(search.States) != 1 || search.States[0] == chime.JobRunning || !withoutPlace(search.Filter).Empty() {
		return ""
	}
	var text strings.Builder
	for _, q := range search.Queues {
		if search.Filter.Queue != "" && q.Name != search.Filter.Queue {
			continue
		}
		counts := []int64{q.Dead, q.Died}
		if !slices.Contains(search.States, chime.JobDead) {
			counts = append(counts, q.Waiting, q.Delayed, q.Running, q.Ahead, q.Vanished, q.Parked, q.Enqueued, q.Done, q.Failed, q.Retried, q.Cancelled, q.Expired, q.Next.UnixMilli(), q.Oldest.UnixMilli())
		}
		fmt.Fprintf(&text, "%s %v\n", q.Name, counts)
	}
	return text.String()
}
