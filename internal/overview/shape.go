package overview

import (
	"strings"

	"github.com/chimejobs/chime/internal/jobfind"
)

const maxShape = 200 // bytes of an error that are looked at

// Shape is the first line of an error with # for what differs from job to job.
func Shape(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > maxShape {
		text = strings.ToValidUTF8(text[:maxShape], "")
	}
	return jobfind.Normalize(text)
}
