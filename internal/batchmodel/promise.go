package batchmodel

// A Promise is one thing that a store keeps for batches, in words. The code of a Model that keeps it calls keeps with it, so that a Model can be made that
// breaks exactly this one: Broken. A test shows that a walk finds each of them.
type Promise string

// What partitions promise.
const (
	VersionsGrow  Promise = "each change of the counts draws a higher version"
	PositionOnce  Promise = "a partition takes a position once"
	ClosedRefuses Promise = "a partition that was closed takes no item, and a batch is sealed when all are closed"
	MarkRefuses   Promise = "a partition in which a batch was cancelled takes no item of it"
	TakesEnd      Promise = "a take ends members of a batch that was cancelled in its partition, and does not return them"
	GrowthOnce    Promise = "a partition takes a growth once"
	VoidUsesUp    Promise = "the token of a growth that is void adds nothing later"
	OutboxCounts  Promise = "what is in an outbox is counted by its source"
	RequeueCounts Promise = "a dead member that is requeued is left"
	Raises        Promise = "a partition that went back draws a version above the one at home"
	ReportsAgain  Promise = "a partition also reports counts that the home has had"
)

// What homes promise.
const (
	NotedFirst         Promise = "a home knows a partition before it is filled"
	LowerRefused       Promise = "a home takes no report of a lower version"
	TargetsNamed       Promise = "a home learns of a partition to which a member has gone from the report of its source"
	ClearedByReport    Promise = "a growth is cleared together with the report that has it"
	LowerClearsNothing Promise = "a report that the home does not take clears no growth"
	EndedRefuses       Promise = "a batch that has ended does not grow"
	PendingHolds       Promise = "a growth that is under way holds up the end"
	SecondLook         Promise = "each partition is asked once more before the end"
	EndCompares        Promise = "a batch ends only if its record has not changed since the second look began"
	LookCloses         Promise = "a batch ends only if each partition takes no item any more"
	EndsOnce           Promise = "a batch ends once"
	DeadHolds          Promise = "a batch with dead members is not done"
)

// Promises are all of them.
var Promises = []Promise{
	VersionsGrow, PositionOnce, ClosedRefuses, MarkRefuses, TakesEnd, GrowthOnce, VoidUsesUp, OutboxCounts, RequeueCounts, Raises, ReportsAgain,
	NotedFirst, LowerRefused, TargetsNamed, ClearedByReport, LowerClearsNothing, EndedRefuses, PendingHolds, SecondLook, EndCompares, LookCloses, EndsOnce, DeadHolds,
}
