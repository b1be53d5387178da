package schedule

// The overlap policies, as they are stored.
const (
	OverlapSkip   = "skip"
	OverlapWait   = "wait"
	OverlapCancel = "cancel"
	OverlapAllow  = "allow"
)

// The misfire policies, as they are stored.
const (
	MisfireRunOnce = "run_once"
	MisfireSkip    = "skip"
	MisfireCatchUp = "catch_up"
)

// The bounds of MisfireCatchUp: how far back, and how many occurrences including the one that was late.
const (
	CatchUpWindow = catchUpWindow
	MaxCatchUp    = maxCatchUp
)
