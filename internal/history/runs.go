package history

import (
	"cmp"
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/schedule"
)

// Runs reads the runs that schedules keep, of several schedules in one call. Each result is as [chime.Schedules.Runs] returns it, the newest
// first; it is nil for a schedule that does not exist.
func Runs(ctx context.Context, store chime.Store, names []string) ([][]*chime.RunInfo, error) {
	found, err := store.Protocol().Runs(ctx, names)
	if err != nil {
		return nil, err
	}
	all := make([][]*chime.RunInfo, len(found))
	for i, of := range found {
		if of.Name == "" {
			continue
		}
		all[i] = make([]*chime.RunInfo, 0, len(of.Runs))
		job := schedule.JobNameOf(of.Definition)
		for _, run := range of.Runs {
			all[i] = append(all[i], &chime.RunInfo{
				ID: cmp.Or(run.ID, schedule.OccurrenceID(of.Name, run.Planned)), Name: cmp.Or(run.Name, job), Queue: of.Partition.Queue, Schedule: of.Name,
				Planned: run.Planned, Started: run.Started, Ended: run.Ended, Outcome: chime.RunOutcome(run.Outcome),
				Attempt: run.Attempt, Fence: run.Fence, Error: run.Error, Note: run.Note, Worker: run.Worker, Manual: run.Manual, Backfilled: run.Backfilled,
			})
		}
	}
	return all, nil
}
