// Package shape returns the shape of an error: its text without the parts that differ from job to job. Failures of one job name with one shape are one
// group, on all surfaces.
package shape

import (
	"regexp"
	"strings"
)

// maxText is the number of bytes of an error that count.
const maxText = 200

// Of returns the first line of an error, at most its first 200 bytes, as Normalize returns it.
func Of(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return Normalize(text)
}

var (
	quoted  = regexp.MustCompile(`"[^"]*(?:"|$)|` + "`[^`]*(?:`|$)") // text was cut, so a quote may be open at its end
	single  = regexp.MustCompile(`(^|[\s(\[{=:,])'[^']*(?:'|$)`)     // not the apostrophe of a word
	numbers = regexp.MustCompile(`\b0[xX][0-9a-fA-F]+\b|\b[0-9a-fA-F]*[0-9][0-9a-fA-F]*\b|[0-9]+`)
)

// Normalize replaces by # the parts of an error that differ from job to job: text in quotes, numbers, and hexadecimal numbers.
func Normalize(text string) string {
	text = quoted.ReplaceAllString(text, "#")
	text = single.ReplaceAllString(text, "$1#")
	return numbers.ReplaceAllString(text, "#")
}
