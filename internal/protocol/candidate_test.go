package protocol

import (
	"os"
	"testing"
)

func TestACandidateSaysWhereItRuns(t *testing.T) {
	host, _ := os.Hostname()
	if got, pid := SplitCandidate(NewCandidate()); got != host || pid != os.Getpid() {
		t.Errorf("a new candidate runs on %q with pid %d, want %q and %d", got, pid, host, os.Getpid())
	}
	if one, other := NewCandidate(), NewCandidate(); one == other {
		t.Error("two candidates have the same name")
	}
	for name, want := range map[string]struct {
		host string
		pid  int
	}{
		"app-2:4711:RANDOM":    {"app-2", 4711},
		"fe80::1:4711:RANDOM":  {"fe80::1", 4711},
		":4711:RANDOM":         {"", 4711},
		"JBSWY3DPEHPK3PXPJBSW": {},
		"app-2:RANDOM":         {},
		"app-2:x:RANDOM":       {},
		"app-2:-1:RANDOM":      {},
		"":                     {},
	} {
		if host, pid := SplitCandidate(name); host != want.host || pid != want.pid {
			t.Errorf("%q runs on %q with pid %d, want %q and %d", name, host, pid, want.host, want.pid)
		}
	}
}
