package pages

import (
	"context"
	"sync"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/rights"
)

// nextRuns has the schedules whose next occurrences are due first. They are read once for each reading of the store, and only if a page shows them. The zero
// value is empty.
type nextRuns struct {
	mu   sync.Mutex // only one reading at a time
	of   *Standing
	all  []*chime.Schedule
	note string // why all is empty
}

// read returns the schedules for a reading of the store.
func (n *nextRuns) read(ctx context.Context, store chime.Store, standing *Standing) (all []*chime.Schedule, note string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == standing {
		return n.all, n.note, nil
	}
	all, err = overview.Soonest(ctx, store, standing.queues(), overviewRows)
	if rights.Missing(err) {
		note, err = overview.Forbidden, nil
	}
	if err != nil {
		return nil, "", err
	}
	n.of, n.all, n.note = standing, all, note
	return all, note, nil
}
