// Package chaos runs chime under faults for minutes and then checks what happened against a history. The history is kept outside the server that
// has the faults. Workers, schedulers and enqueuers are real child processes on a real redis-server. A plan made from a seed kills and stops them,
// cuts their connections, loses replies, makes the server forget its scripts, kills it, and empties it once. It also lets one slot go back to an
// earlier state while the others keep theirs (Rollback), as a fail-over of one node of a cluster does.
//
//	make chaos                      ten minutes with a new seed, recorded in docs/reliability.md
//	make chaos FOR=60s SEED=7       a minute of the plan of seed 7, not recorded
//
// The children write one line for each event (Event): a batch of jobs is offered, is accepted, a run begins, a run ends. A line has left the
// process before the next thing happens, so a kill loses no line. The test process keeps them (History), and at the end compares them with the data
// on the server (Snapshot):
//
//   - every accepted job finished or is dead with a reason;
//   - no job ran again without a cause: a failed attempt, or a fault that took it from its worker;
//   - the server has counted each completion once;
//   - a job with OnDone that is done was followed by one job, on the same queue or on another one;
//   - a batch ended after all its members, its two jobs were added once, and it is done if no member is dead;
//   - every instant of every schedule was run, counted as missed or counted as skipped;
//   - no job overtook another one of its ordered group, and no more jobs of a group ran or started than its rule permits, as far as that is visible outside
//     the server (checkGroups);
//   - under OverlapSkip and OverlapWait no two occurrences of a schedule ran at once;
//   - no key has work left in it;
//   - after sweeps and a repair every schedule lives in one queue, and a deleted one in none.
//
// If a queue goes back, the checker accepts exactly what this explains: a job that was added after that state is lost; a job that was taken or
// ended after it runs again; an occurrence that began after it may be skipped or missed as well; and a schedule that was moved or deleted after it runs in
// both queues until the next sweep. If the registry of schedules goes back, a schedule that was put after that state, and is then put in another queue, runs
// in both until the next sweep.
//
// Times are measured and shown, but no time decides whether a run passes. So a busy machine may run it.
package chaos
