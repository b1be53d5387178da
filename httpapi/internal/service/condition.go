package service

import (
	"slices"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A Condition is what a client wants to be true of what he changes.
type Condition struct {
	Match []int64 // If-Match: one of these revisions
	Any   bool    // If-Match: *: it exists
	None  bool    // If-None-Match: *: it does not exist
}

// check returns a problem if what is there is not what the client wants to change. A revision of 0 says that nothing is there.
func (c Condition) check(revision int64) error {
	switch {
	case c.None && revision != 0:
		return problem.New(problem.Exists, "it exists, at revision %d, and If-None-Match asks that it does not", revision)
	case (c.Any || len(c.Match) > 0) && revision == 0:
		return problem.New(problem.Changed, "it does not exist, and If-Match asks that it does")
	case !c.Any && len(c.Match) > 0 && !slices.Contains(c.Match, revision):
		return problem.New(problem.Changed, "it is at revision %d, which If-Match does not name: get it again and repeat the change", revision)
	}
	return nil
}
