package protocol

import (
	"fmt"
	"strings"
	"testing"
)

func TestAnOccurrenceIsInThePartitionOfItsSchedule(t *testing.T) {
	seen := make(map[int]bool)
	for i := range 100 {
		name := fmt.Sprint("schedule-", i)
		p := PartitionOf(name, 7)
		if p < 0 || p > 6 || PartitionOf(name+"@2026-03-08T09:00:00Z", 7) != p {
			t.Errorf("%s: %d and %d", name, p, PartitionOf(name+"@2026-03-08T09:00:00Z", 7))
		}
		seen[p] = true
	}
	if len(seen) != 7 || PartitionOf("a", 1) != 0 || PartitionOf("a", 0) != 0 {
		t.Errorf("%d of 7 partitions are used", len(seen))
	}
	// FNV-1a of "a" is 0xe40c292c: what is stored relies on it.
	if got, want := PartitionOf("a", 1<<31-1), int(uint32(0xe40c292c)%(1<<31-1)); got != want {
		t.Errorf("PartitionOf(\"a\") = %#x, want %#x", got, want)
	}
}

func TestNamesHaveOneAlphabetAndAtMost100Characters(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "email:welcome": true, "A-Z_0.9": true, strings.Repeat("n", 100): true,
		"": false, "a b": false, "a@b": false, "a/b": false, "{a}": false, "a|b": false, "ä": false, "a\x00": false, "*": false, "?": false,
		strings.Repeat("n", 101): false, strings.Repeat("n", 1<<20): false,
	} {
		err := CheckName("queue", name)
		if (err == nil) != good || err != nil && (len(err.Error()) > 200 || !strings.Contains(err.Error(), "queue")) {
			t.Errorf("%.50q: %v, want good %v", name, err, good)
		}
	}
}
