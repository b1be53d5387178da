package chime

import (
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// An OverlapPolicy says what happens when an occurrence is taken while the last one of its schedule is still running. The
// store decides, in the step that takes the new one.
type OverlapPolicy string

const (
	OverlapSkip   OverlapPolicy = schedule.OverlapSkip   // the new one is dropped and counted (default)
	OverlapWait   OverlapPolicy = schedule.OverlapWait   // the new one runs when the last has ended; at most one waits, more are dropped
	OverlapCancel OverlapPolicy = schedule.OverlapCancel // as wait, and the running one's ctx ends with ErrReplaced
	OverlapAllow  OverlapPolicy = schedule.OverlapAllow  // both run
)

// A MisfirePolicy says what happens to an occurrence taken later than the grace after its instant, and to those missed since.
type MisfirePolicy string

const (
	MisfireRunOnce MisfirePolicy = schedule.MisfireRunOnce // it runs; those missed since are counted (default)
	MisfireSkip    MisfirePolicy = schedule.MisfireSkip    // it is counted with those missed since; none of them runs
	MisfireCatchUp MisfirePolicy = schedule.MisfireCatchUp // all missed in the last 24 hours run, oldest first, at most 100; more are counted
)

// A ScheduleState says whether a schedule makes jobs.
type ScheduleState string

const (
	StateLive      ScheduleState = protocol.StateLive      // its next occurrence is placed, or about to be
	StatePaused    ScheduleState = protocol.StatePaused    // nothing is placed until it is resumed
	StateCompleted ScheduleState = protocol.StateCompleted // its count is used up or its end has passed
)
