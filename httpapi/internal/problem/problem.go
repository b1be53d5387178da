// Package problem is how the API says what is wrong: RFC 9457, with a code for programs, everything that is wrong with a body, and the words of
// Azure's service for its old clients.
package problem

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const maxValue = 100 // bytes of a mistake's value that are shown

// A Problem is why a request was not carried out. It is an error.
type Problem struct {
	Code       Code          // what programs branch on
	Detail     string        // what is wrong, and what to do, for people
	Errors     []Mistake     // all that is wrong with the request, in its order; at most MaxMistakes
	RetryAfter time.Duration // when to try again; 0: not said
}

// New makes a problem of a code and its detail.
func New(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid makes one of what is wrong with a request: its code and detail are those of the first mistake. Of none it is nil. What several checks have
// found of one field, with the same code, is said once, in the words of the first.
func Invalid(mistakes []Mistake) *Problem {
	if len(mistakes) == 0 {
		return nil
	}
	first := mistakes[0]
	p := &Problem{Code: Code(first.Code), Detail: first.Field + ": " + first.Detail}
	for _, m := range mistakes {
		said := slices.ContainsFunc(p.Errors, func(e Mistake) bool { return e.Code == m.Code && e.Field == m.Field })
		if said || len(p.Errors) == MaxMistakes {
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
