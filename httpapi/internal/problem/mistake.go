package problem

import "github.com/chimejobs/chime/httpapi/action"

// A Mistake is one thing that is wrong with a request: a code, the field, the value, what is wanted.
type Mistake = action.Problem

// MaxMistakes is how many an answer has at most.
const MaxMistakes = 100
