package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

var reportScript = scripts.Load("jobs/report")

// maxReports is how many reports go into one call.
const maxReports = 100

// Report keeps how far handlers are. What is reported of one session goes together.
func (s *store) Report(ctx context.Context, reports []protocol.ProgressReport) error {
	if s.bad != nil {
		return s.bad
	}
	type holder struct {
		partition protocol.Partition
		session   string
	}
	var holders []holder
	of := map[holder][]protocol.ProgressReport{}
	for _, r := range reports {
		h := holder{r.Partition, r.Session}
		if of[h] == nil {
			holders = append(holders, h)
		}
		of[h] = append(of[h], r)
	}
	var calls []call
	for _, h := range holders {
		k := s.keys.partition(h.partition)
		for some := range slices.Chunk(of[h], maxReports) {
			var args []any
			for _, r := range some {
				args = append(args, r.ID, r.Fence, r.Progress)
			}
			calls = append(calls, newCall(&reportScript, []string{k.inflight(h.session), k.progress, k.state}, args))
		}
	}
	var errs []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		if err := cmd.Err(); err != nil {
			errs = append(errs, failure("report progress", "", err))
		}
	}
	return errors.Join(errs...)
}
