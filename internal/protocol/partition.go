package protocol

import "strings"

// A Partition is a part of a queue. All its keys live together, and every call touches one partition only.
type Partition struct {
	Queue string
	Index int
}

// PartitionOf returns the partition of a job or schedule among the partitions of its queue: the FNV-1a hash of the ID (of an
// occurrence: of its schedule's name), so that a schedule and its occurrences live together.
func PartitionOf(id string, partitions int) int {
	if partitions <= 1 {
		return 0
	}
	if at := strings.IndexByte(id, '@'); at >= 0 {
		id = id[:at]
	}
	hash := uint32(2166136261)
	for i := range len(id) {
		hash = (hash ^ uint32(id[i])) * 16777619
	}
	return int(hash % uint32(partitions))
}
