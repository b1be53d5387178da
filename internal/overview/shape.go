package overview

import (
	"strings"

	"github.com/chimejobs/chime/internal/jobfind"
)

const maxShape = 200 // number of bytes of an error that count

// Shape returns the first line of an error with # in place of the parts that differ between jobs.
func Shape(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > maxShape {
		text = strings.ToValidUTF8(text[:maxShape], "")
	}
	return jobfind.Normalize(text)
}
