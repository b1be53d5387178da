package command_test

import (
	"strings"
	"testing"
)

func TestJobsAreListedByTheInstantSinceWhichTheyAreInTheirState(t *testing.T) {
	for _, c := range []struct {
		args string
		want wants
	}{
		{"list state:dead --sort newest --limit 2 -o name", wants{out: []string{"/"}, err: []string{"there are more: add --after"}}},
		{"list state:dead --since -1h -o name", wants{out: []string{"media/r00"}}},
		{"list state:dead --until -1h -o name", wants{}},
		{"list state:dead --until -1h", wants{err: []string{"no job matches"}}},
		{"list state:dead --sort down", wants{code: 2, err: []string{"--sort \"down\": want newest or oldest"}}},
		{"list state:dead --since soon", wants{code: 2, err: []string{"--since \"soon\": want 2026"}}},
		{"list since:2026-11-27 --since -1h", wants{code: 2, err: []string{"--since: the filter has since: too"}}},
		{"list --since now --until -1h", wants{code: 2, err: []string{"--until: want a time after --since"}}},
		{"groups --since -1h", wants{out: []string{"resize"}}},
		{"groups --until -1h", wants{err: []string{"no failed job matches"}}},
		{"requeue --filter state:dead --until -1h -y", wants{out: []string{"0 jobs requeued.\n"}}},
		{"requeue --filter state:dead --since -1h -y", wants{out: []string{"15 jobs requeued.\n"}}},
		{"requeue r00 --since -1h -y", wants{code: 2, err: []string{"--since and --until: want them with --filter"}}},
	} {
		s := newShop(t)
		args := append([]string{"jobs"}, strings.Fields(c.args)...)
		c.want.check(t, s.Run(t, args...), args...)
	}
}

// The order is over all queues, and the pages continue in it.
func TestDeadJobsAreListedOverAllQueues(t *testing.T) {
	s := newShop(t)
	list := func(args ...string) []string {
		t.Helper()
		got := s.Run(t, append([]string{"jobs", "list", "state:dead", "-o", "name"}, args...)...)
		if got.Code != 0 {
			t.Fatalf("%v: exit %d, %s", args, got.Code, got.Err)
		}
		return strings.Fields(got.Out)
	}
	newest, oldest := list("--sort", "newest"), list("--sort", "oldest")
	if len(newest) != 15 || len(oldest) != 15 {
		t.Fatalf("got %d and %d jobs, want 15", len(newest), len(oldest))
	}
	for i := range newest {
		if newest[i] != oldest[14-i] {
			t.Errorf("%v is not the reverse of %v", newest, oldest)
			break
		}
	}
}
