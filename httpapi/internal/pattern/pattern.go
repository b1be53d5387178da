// Package pattern matches names with patterns in which * means any characters.
package pattern

import "strings"

// Match reports whether a pattern matches a whole text; `*` matches any characters, or none. It compiles nothing, because a request may have many
// targets.
func Match(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok && strings.Contains(rest, "*") {
		first, rest, _ = strings.Cut(rest, "*")
		_, text, ok = strings.Cut(text, first)
	}
	return ok && strings.HasSuffix(text, rest)
}
