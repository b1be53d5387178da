package service

import (
	"slices"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A Condition is the client's condition for a change.
type Condition struct {
	Match []int64 // If-Match: one of these revisions
	Any   bool    // If-Match: *: it exists
	None  bool    // If-None-Match: *: it does not exist
}

// check returns a problem if the stored revision does not match the condition. A revision of 0 means that nothing is stored.
func (c Condition) check(revision int64) error {
	switch {
	case c.None && revision != 0:
		return problem.New(problem.Exists, "it already exists, at revision %d, and If-None-Match allows creating only", revision)
	case (c.Any || len(c.Match) > 0) && revision == 0:
		return problem.New(problem.Changed, "it does not exist, and If-Match allows changing only")
	case !c.Any && len(c.Match) > 0 && !slices.Contains(c.Match, revision):
		return problem.New(problem.Changed, "it is at revision %d, which If-Match does not contain: get it again and repeat the change", revision)
	}
	return nil
}
