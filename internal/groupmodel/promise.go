package groupmodel

// A Promise is one thing that a queue with groups keeps, in words. The code that keeps it calls keeps with it, so that a Model can be made that
// breaks exactly this one: Broken. A test shows that a walk finds each of them.
type Promise string

// What the order between groups promises.
const (
	WholeSlotFirst   Promise = "a group that lacks a whole slot comes first"
	LeastShareFirst  Promise = "of groups that lack a whole slot the one with the least flights for its weight comes first"
	ShareOfSlots     Promise = "a group that has its share of the slots waits for the others"
	LeastTagFirst    Promise = "groups that have a right to a part of a slot take turns"
	TurnsByWeight    Promise = "a turn costs a group one over its weight"
	ArrivalAmongTags Promise = "of groups with equal tags the one that entered first comes first"
	NoCredit         Promise = "a group that enters has no credit from before"
	BoundedCredit    Promise = "a group of slow jobs gathers no credit without bound"
	NoDebt           Promise = "a group without jobs leaves no debt"
	OnlyTurnsCount   Promise = "a group that may start nothing counts in no share"
	TurnGivenBack    Promise = "a job that is given back unbegun returns its turn"
	Thirds           Promise = "jobs with a group and jobs without one share a batch"
)

// What the order within a group promises.
const (
	FirstPlaceFirst  Promise = "a take gets the first job of the line of a group"
	PlacesAscend     Promise = "places do not depend on a clock that steps back"
	BackKeepsPlace   Promise = "a job that is given back keeps its place"
	ReapKeepsPlace   Promise = "a job of a vanished session keeps its place"
	ServeKeepsPlace  Promise = "a job that was parked keeps its place"
	RetryLosesPlace  Promise = "a retry gets its place when a take finds it due"
	DueInOrder       Promise = "jobs due get their places in the order of their instants, then IDs"
	DueInSteps       Promise = "a take moves at most 500 jobs that are due"
	RequeueFirst     Promise = "a requeued job comes before all others of its group"
	ReplaceInLine    Promise = "replacing a job in line changes its body alone"
	ReplaceMoves     Promise = "a job that is replaced into another group joins its end"
	ReplaceAfter     Promise = "what replaces a job in flight joins the end when the flight ends"
	PurgeSparesBegun Promise = "a purge removes what is in line and nothing else"
	PurgeOfOneGroup  Promise = "a purge of a group leaves the others alone"
)

// What rules of groups promise.
const (
	Running           Promise = "a group never has more flights than Running"
	Starts            Promise = "a group never starts more than Starts within Per"
	LaterStartsCount  Promise = "of the starts of a group the later ones count when the earlier ones have ended"
	StartGivenBack    Promise = "a job that is given back unbegun returns its start"
	LaterIsNow        Promise = "a start that is later than the clock counts as of now"
	Paused            Promise = "a paused group starts nothing"
	Waiting           Promise = "a group never accepts more than Waiting to run now"
	OwnRule           Promise = "a group's own rule comes before the queue's"
	QueueRule         Promise = "a zero field of a group's rule is that of the queue's rule"
	NoLimitHolds      Promise = "NoLimit is no limit, also if the queue's rule has one"
	ResetKeepsPause   Promise = "resetting a rule keeps the pause"
	PauseKeepsRule    Promise = "a pause and its end lose no rule"
	InvalidRules      Promise = "a rule with bad values is refused and changes nothing"
	OrderedFlight     Promise = "an ordered group starts nothing while a job of it is in flight"
	OrderedRetry      Promise = "an ordered group starts nothing while a job of it waits for its retry"
	OrderedSnooze     Promise = "an ordered group starts nothing while a job of it is snoozed"
	OrderedParked     Promise = "an ordered group starts nothing while a job of it is parked"
	OrderedSuspect    Promise = "an ordered group starts nothing while a job of it is held back after two crashes"
	OrderedBack       Promise = "a blocker that is given back unbegun remains the blocker"
	OrderedResumes    Promise = "the blocker of an ordered group is the one that starts"
	DeadEndsBlocker   Promise = "a job that is dead blocks nothing"
	CancelEndsBlocker Promise = "a blocker that is cancelled or deleted blocks nothing"
	ReplaceEndsBlock  Promise = "a blocker that is replaced while it waits blocks nothing"
)

// What counts and settlements promise.
const (
	FlightsUntilReaped Promise = "a flight of a vanished session is counted until it is reaped"
	FlightsEnd         Promise = "the end of a flight reduces the count"
	LateSettlement     Promise = "a settlement of an earlier flight changes nothing"
	CancelledFlightEnd Promise = "a cancelled flight ends its job with any settlement"
	SecondCrashHeld    Promise = "a job is held back after its second crash"
	ThirdCrashDead     Promise = "a job is dead after its third crash"
	SleepersWoken      Promise = "a call that lets a job start wakes a sleeper"
	TakenOnce          Promise = "a take that is sent again starts nothing and gets the same answer"
	BlockerNamed       Promise = "lists name the blocker of an ordered group"
	NextStartNamed     Promise = "lists show the next start of a group whose starts are used"
	StartsAreHorizon   Promise = "the next start of a group is an instant that a sleeper knows"
	SuspectAlone       Promise = "a job that has crashed twice is taken alone"
	OnceBars           Promise = "an ID that was added with Once is not added so again before its time"
	DeleteTakesRules   Promise = "the rules and pauses of groups end with their queue"
)

// Promises are all of them.
var Promises = []Promise{
	WholeSlotFirst, LeastShareFirst, ShareOfSlots, LeastTagFirst, TurnsByWeight, ArrivalAmongTags, NoCredit, BoundedCredit, NoDebt, OnlyTurnsCount,
	TurnGivenBack, Thirds,
	FirstPlaceFirst, PlacesAscend, BackKeepsPlace, ReapKeepsPlace, ServeKeepsPlace, RetryLosesPlace, DueInOrder, DueInSteps, RequeueFirst,
	ReplaceInLine, ReplaceMoves, ReplaceAfter, PurgeSparesBegun, PurgeOfOneGroup,
	Running, Starts, LaterStartsCount, StartGivenBack, LaterIsNow, Paused, Waiting, OwnRule, QueueRule, NoLimitHolds, ResetKeepsPause, PauseKeepsRule,
	InvalidRules,
	OrderedFlight, OrderedRetry, OrderedSnooze, OrderedParked, OrderedSuspect, OrderedBack, OrderedResumes, DeadEndsBlocker, CancelEndsBlocker,
	ReplaceEndsBlock,
	FlightsUntilReaped, FlightsEnd, LateSettlement, CancelledFlightEnd, SecondCrashHeld, ThirdCrashDead,
	SleepersWoken, TakenOnce, BlockerNamed, NextStartNamed, StartsAreHorizon, SuspectAlone, OnceBars, DeleteTakesRules,
}
