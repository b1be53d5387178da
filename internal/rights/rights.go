// Package rights distinguishes missing rights of a store's user from all other errors.
package rights

import "strings"

// Missing reports whether a store refused a call because its user lacks a right or has not authenticated.
func Missing(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error() // through all wrapping errors; scripts put the answer into a sentence
	for _, answer := range []string{"NOPERM ", "NOAUTH ", "WRONGPASS ", "The user executing the script can't "} {
		if strings.Contains(text, answer) {
			return true
		}
	}
	return false
}
