package format

import "strings"

// FirstLine returns the first line of a text that is not blank, without spaces at its ends: what a list shows of an error.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
