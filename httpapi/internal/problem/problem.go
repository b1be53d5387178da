// Package problem is the error format of the API: RFC 9457, with a code for programs, all mistakes of a body, and the words of Azure's service for
// its old clients.
package problem

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const maxValue = 100 // maximum bytes of a mistake's value

// A Problem is the reason why a request was refused or failed. It is an error.
type Problem struct {
	Code       Code          // for programs
	Detail     string        // the error, and what to do, for people
	Errors     []Mistake     // all mistakes of the request, in its order; at most MaxMistakes
	RetryAfter time.Duration // the wait before the next try; 0: not given
}

// New returns a problem with a code and a detail.
func New(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns a problem for the mistakes of a request, with the code and detail of the first one; nil without mistakes. If several mistakes have
// the same field and code, only the first is kept.
func Invalid(mistakes []Mistake) *Problem {
	if len(mistakes) == 0 {
		return nil
	}
	first := mistakes[0]
	p := &Problem{Code: Code(first.Code), Detail: first.Field + ": " + first.Detail}
	for _, m := range mistakes {
		reported := slices.ContainsFunc(p.Errors, func(e Mistake) bool { return e.Code == m.Code && e.Field == m.Field })
		if reported || len(p.Errors) == MaxMistakes {
			continue
		}
		if len(m.Value) > maxValue {
			m.Value = strings.ToValidUTF8(m.Value[:maxValue], "")
		}
		p.Errors = append(p.Errors, m)
	}
	return p
}

// Error is the detail with the code.
func (p *Problem) Error() string { return fmt.Sprintf("httpapi: %s (%s)", p.Detail, p.Code) }
