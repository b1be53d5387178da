package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/storesuite"
)

// A worker with one slot takes jobs of groups too, beside any number of jobs that are due.
func TestASingleSlotAlternatesBetweenDueJobsAndGroups(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 20 {
			item := storesuite.Job(fmt.Sprint("due", i))
			item.At = b.serverTime().Add(-time.Minute)
			b.Enqueue(item)
		}
		b.Enqueue(several("a", 20)...)
		counts := map[byte]int{}
		for range 12 {
			counts[b.Take("s", 1)[0].ID[0]]++
		}
		if counts['a'] < 4 {
			t.Errorf("of 12 jobs %d belong to the group, want a third at least", counts['a'])
		}
	})
}
