package top

import (
	"regexp"
	"strings"
)

const maxShape = 200 // bytes of an error that are looked at

var differing = regexp.MustCompile(`"[^"]*"|'[^']*'|\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}\b|[0-9]+`)

// shape is an error with # for what differs from job to job: numbers, hexadecimal words, what is quoted. Only the first line counts.
func shape(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > maxShape {
		text = strings.ToValidUTF8(text[:maxShape], "")
	}
	return differing.ReplaceAllString(text, "#")
}
