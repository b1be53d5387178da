package chime

// An OverlapPolicy says what happens if an occurrence is taken while the last one of its schedule still runs. The store decides, in
// the step that takes the new one. One that waits for a retry does not run.
type OverlapPolicy string

const (
	OverlapSkip   OverlapPolicy = "skip"   // default: the new one is dropped and counted; one that waits for a retry stops nothing
	OverlapWait   OverlapPolicy = "wait"   // the new one runs when the last one has ended; at most one waits, others are dropped
	OverlapCancel OverlapPolicy = "cancel" // as wait, and the ctx of the running one ends with ErrReplaced; its retries end too
	OverlapAllow  OverlapPolicy = "allow"  // both run
)

// A MisfirePolicy says what becomes of an occurrence that is taken later than the grace after its instant, and of the instants
// missed since.
type MisfirePolicy string

const (
	MisfireRunOnce MisfirePolicy = "run_once" // default: it runs; those missed since are counted
	MisfireSkip    MisfirePolicy = "skip"     // it is counted, as are those missed since; none of them runs
	MisfireCatchUp MisfirePolicy = "catch_up" // those of the last 24 hours run, at most the newest 100, oldest first and one after the other; the others are counted
)

// A ScheduleState says whether a schedule makes jobs.
type ScheduleState string

const (
	StateLive      ScheduleState = "live"      // its next occurrence is placed, or about to be
	StatePaused    ScheduleState = "paused"    // nothing is placed until it is resumed
	StateCompleted ScheduleState = "completed" // its count is used up or its end has passed
)
