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
