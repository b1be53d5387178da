// Package repo_test has the rules about the repository itself: which files there are, what imports what, and what documents and scripts name.
package repo_test

import (
	"fmt"
	"os"
	"testing"
)

// The tests read files by their paths from the root of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
