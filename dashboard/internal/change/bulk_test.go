package change

import (
	"strings"
	"testing"
)

// Where a search has ended before the last job, that nothing fits is not said of all jobs.
func TestNothingThatFitsIsSaidOfWhatWasLookedAt(t *testing.T) {
	for more, want := range map[bool]string{false: "none fits any more", true: "There are more"} {
		answer, err := (&Changer{}).changeSelected(&Form{}, requeues, selection{more: more}, nil, "jobs")
		if err != nil || !strings.Contains(answer.Said, want) || answer.Ask != nil {
			t.Errorf("more %v: got %q, %v, %v; want %q", more, answer.Said, answer.Ask, err, want)
		}
	}
}

// The audit names what was ticked, as far as it has room.
func TestTheAuditNamesTheFirstOfWhatWasTicked(t *testing.T) {
	long := strings.Repeat("x", 2*maxNamed)
	for want, ticked := range map[string][]string{
		"":                              nil,
		"mail/a, send: refused":         {"mail/a", "send\trefused"},
		"a, b, c, d, e and 2 more":      strings.Split("abcdefg", ""),
		long[:maxNamed]:                 {long},
		long[:maxNamed] + " and 1 more": {long, "b"},
	} {
		if got := firstOf(ticked); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
