package protocol

import "strings"

// A Partition is a part of a queue. All its keys live together, and every call touches one partition only.
type Partition struct {
	Queue string
	Index int
}

// PartitionOf returns the partition of a job or schedule among the partitions of its queue: the FNV-1a hash of its ID or name. Two
// cuts keep related jobs together: before the first # after the first byte, and then before the planned instant of an
// occurrence. So a schedule "r", its occurrence "r@2026-03-08T09:00:00Z" and a job "r#1" share one.
func PartitionOf(id string, partitions int) int {
	if partitions <= 1 {
		return 0
	}
	if at := strings.IndexByte(id[min(1, len(id)):], '#'); at >= 0 {
		id = id[:at+1]
	}
	if schedule, _, ok := CutOccurrence(id); ok {
		id = schedule
	}
	hash := uint32(2166136261)
	for i := range len(id) {
		hash = (hash ^ uint32(id[i])) * 16777619
	}
	return int(hash % uint32(partitions))
}
