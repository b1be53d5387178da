// Package sim runs the whole of chime in one process under fake time: workers, schedulers, programs that enqueue jobs, operators and a dashboard, on
// the simulated Redis of internal/simredis. Hours take seconds, and every fault is cheap.
//
//	make sim                 the plans of new seeds for ten minutes
//	make sim FOR=1h SEED=7   the plans of seed 7 and the following ones, for an hour of real time
//
// A Plan is plain data, computed from a seed: which processes there are, what they do and when (Act), and which faults there are and when (Fault).
// Simulate carries out a plan in a bubble of testing/synctest. It has several rounds. After each round everything rests: the faults are over, every process
// runs again, and what was paused is resumed. Then no work may be left, Verify finds nothing, and the counts fit (World.rest). Between two rounds there
// is a Night of days: in most nights no process runs, in some one worker or one scheduler is left. Its few occurrences are missed, caught up or late.
//
// All processes write into a History: a job is offered, is accepted, a run begins, a run ends, an act returns. At the end a judge compares the history
// with the data on the server. It knows the promises of docs/reliability.md, and no code of chime: every accepted job ends, no job runs again without a
// cause, a cancelled job does not start, a deleted schedule does not run, no limit is exceeded, an ordered group stays in order, every batch ends once and
// after its last member, and every instant of an unchanged schedule has run or is counted.
//
// Shrink makes a failing plan smaller: it drops faults, acts and processes and shortens times as long as the same kind of finding remains. Plan.String
// prints what is left as a time line.
//
// A process that is stopped (Stall) differs from one that a signal stops: nothing that it sends arrives until the stall ends, but its own timers
// continue, because all processes share the clock of the bubble. tests/chaos stops real processes.
package sim
