package redisstore

import "context"

var deleteWaitingScript = scripts.Load("schedules/delete_waiting")

// deleteWaiting deletes the jobs of a schedule that was deleted in these queues, but for those that run, in steps of about 500 jobs that a
// partition holds. What comes back from a run meanwhile may stay.
func (s *store) deleteWaiting(ctx context.Context, name string, queues []string) error {
	for _, queue := range queues {
		partition, err := s.partitionOf(ctx, queue, name)
		if err != nil {
			return err
		}
		k := s.keys.partition(partition)
		parked, err := s.client.ZRange(ctx, k.unhandled, 0, -1).Result()
		if err != nil {
			return failure("list the parked jobs of", queue, err)
		}
		for _, place := range []string{"behind", "due", "dead", "ready"} {
			if err := s.deleteWaitingIn(ctx, k, name, place, sharedParked); err != nil {
				return err
			}
		}
		for _, job := range parked {
			if err := s.deleteWaitingIn(ctx, k, name, "parked", job); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteWaitingIn looks through one place, again if it has found any there: where what is deleted moves the others, as in the store in
// memory, a step may have passed over some.
func (s *store) deleteWaitingIn(ctx context.Context, k partitionKeys, name, place, parked string) error {
	keys := []string{k.due, k.dead, k.ready, k.jobs, k.crashes, k.behind, k.schedules, k.state, k.unhandled, k.parked(parked), k.stale, k.last, k.once, k.results, k.kept}
	deleted := int64(0)
	for at := "0"; ; {
		values, err := s.runOne(ctx, "delete the waiting jobs of schedule", name, newCall(&deleteWaitingScript, keys, []any{name, place, at, parked}))
		if err != nil {
			return err
		}
		deleted += values.number(1)
		if at = values.text(0); at != "0" {
			continue
		}
		if deleted == 0 || place == "ready" { // what is in ready stays there
			return nil
		}
		deleted = 0
	}
}
