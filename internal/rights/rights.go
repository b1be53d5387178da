// Package rights tells errors of a store's user who lacks a right from all others.
package rights

import "strings"

// Missing reports whether a store answered that its user may not do what was asked, or has not said who they are.
func Missing(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error() // through all that has wrapped it; scripts put the answer into a sentence
	for _, answer := range []string{"NOPERM ", "NOAUTH ", "WRONGPASS ", "The user executing the script can't "} {
		if strings.Contains(text, answer) {
			return true
		}
	}
	return false
}
