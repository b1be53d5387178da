package protocol

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
)

func TestWhatBelongsTogetherIsInOnePartition(t *testing.T) {
	seen := make(map[int]bool)
	for i := range 100 {
		name := fmt.Sprint("schedule-", i)
		p := PartitionOf(name, 7)
		seen[p] = true
		for _, id := range []string{name + "@2026-03-08T09:00:00Z", name + "#1", name + "#1#2", name + "@2026-03-08T09:00:00Z#dead-7"} {
			if got := PartitionOf(id, 7); p < 0 || p > 6 || got != p {
				t.Errorf("%s is in %d, %s in %d", name, p, id, got)
			}
		}
	}
	if len(seen) != 7 || PartitionOf("a", 1) != 0 || PartitionOf("a", 0) != 0 || PartitionOf("", 7) < 0 {
		t.Errorf("%d of 7 partitions are used", len(seen))
	}
	// A # in front belongs to the name, and so does an @ that does not begin an occurrence's ending.
	for _, id := range []string{"#a", "anna@example.com", "a@2026-03-08"} {
		if PartitionOf(id, 1<<31-1) != hashOf(id) {
			t.Errorf("%s is cut", id)
		}
	}
	// FNV-1a of "a" is 0xe40c292c: the stored data depend on it.
	if got, want := PartitionOf("a", 1<<31-1), int(uint32(0xe40c292c)%(1<<31-1)); got != want {
		t.Errorf("PartitionOf(\"a\") = %#x, want %#x", got, want)
	}
}

// hashOf is the FNV-1a hash as its authors define it.
func hashOf(text string) int {
	h := fnv.New32a()
	h.Write([]byte(text))
	return int(h.Sum32() % (1<<31 - 1))
}

func TestSchedulesAndIDsAreNamedByData(t *testing.T) {
	for id, good := range map[string]bool{
		"a": true, "anna@example.com": true, "report:2026/11/22 at noon": true, "größe": true, "{x}|#@*?": true, "#": true, "名前": true,
		"\u00a0x": false, "x\u3000": false, " x": false, "x ": false, "x\n": false, "a\tb": false, "a\x00b": false, "a\x1fb": false, "a\x7fb": false,
		"a\u0085b": false, "a\u200bb": false, "a\u202eb": false, "\ufeffa": false, "a\u00adb": false, "": false, "a\xffb": false,
		"a\u2028b": true, "a b": true, "a\u00a0b": true,
		"r@2026-03-08T09:00:00Z": false, "@2026-03-08T09:00:00Z": false, "r@9999-99-99T99:99:99Z": false,
		"r@2026-03-08T09:00:00Z/mail": true, "2026-03-08T09:00:00Z": true, "r@2026-03-08T09:00:00": true, "r@2026-03-08t09:00:00Z": true, "r#2026-03-08T09:00:00Z": true,
		strings.Repeat("x", 200): true, strings.Repeat("x", 201): false, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false,
		strings.Repeat("x", 1<<20): false,
	} {
		err := CheckID("name", id)
		var invalid *InvalidError
		if (err == nil) != good || err != nil && (!errors.As(err, &invalid) || invalid.Field != "name" || len(err.Error()) > 400) {
			t.Errorf("%.50q: %v, want good %v", id, err, good)
		}
	}
}

func TestOnlyTheEndingIdentifiesAnOccurrence(t *testing.T) {
	for id, want := range map[string]string{
		"r@2026-03-08T09:00:00Z": "r", "a@b@2026-03-08T09:00:00Z": "a@b", "r@2026-03-08T09:00:00Z@2026-03-08T09:00:00Z": "r@2026-03-08T09:00:00Z",
		"anna@example.com": "", "r@2026-03-08T09:00:00Z/mail": "", "@2026-03-08T09:00:00Z": "", "": "", "Z": "",
	} {
		schedule, instant, ok := CutOccurrence(id)
		if schedule != want || ok != (want != "") || ok && instant != "2026-03-08T09:00:00Z" {
			t.Errorf("%q: %q, %q, %v; want %q", id, schedule, instant, ok, want)
		}
	}
}

func TestNamesHaveOneAlphabetAndAtMost100Characters(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "email:welcome": true, "A-Z_0.9": true, strings.Repeat("n", 100): true,
		"": false, "a b": false, "a@b": false, "a/b": false, "{a}": false, "a|b": false, "ä": false, "a\x00": false, "*": false, "?": false,
		strings.Repeat("n", 101): false, strings.Repeat("n", 1<<20): false,
	} {
		err := CheckName("queue", name)
		var invalid *InvalidError
		if (err == nil) != good || err != nil && (!errors.As(err, &invalid) || len(err.Error()) > 200 || !strings.Contains(err.Error(), "queue")) {
			t.Errorf("%.50q: %v, want good %v", name, err, good)
		}
	}
}
