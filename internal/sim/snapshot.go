package sim

import (
	"context"
	"errors"

	"github.com/chimejobs/chime"
)

// A snapshot is the data on the server after a plan.
type snapshot struct {
	dead       map[string]bool // queue and ID of the dead jobs
	names      map[string]bool // keys of jobs that are dead or delayed and follow others
	schedules  map[string]*chime.Schedule
	done       int
	superseded int
}

// takeSnapshot reads a snapshot.
func takeSnapshot(ctx context.Context, store chime.Store) (*snapshot, error) {
	s := &snapshot{dead: map[string]bool{}, names: map[string]bool{}, schedules: map[string]*chime.Schedule{}}
	jobs := chime.NewJobs(store)
	for _, queue := range queues {
		info, err := chime.NewQueues(store).Get(ctx, queue)
		if errors.Is(err, chime.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.done += int(info.Done)
		for job, err := range jobs.List(ctx, chime.JobFilter{Queue: queue, State: chime.JobDead, Limit: 500}) {
			if err != nil {
				return nil, err
			}
			s.dead[queue+" "+job.ID] = true
			var root string
			if job.Name == nextName && job.Decode(&root) == nil {
				s.names[root] = true
			}
		}
	}
	for schedule, err := range chime.NewSchedules(store).List(ctx, chime.ScheduleFilter{}) {
		if err != nil {
			return nil, err
		}
		s.schedules[schedule.Name] = schedule
		s.superseded += int(schedule.Counters.Superseded)
	}
	return s, nil
}

// followed reports whether a job that follows the job of a key is dead.
func (s *snapshot) followed(key string) bool { return s.names[key] }
