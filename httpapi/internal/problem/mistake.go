package problem

import "github.com/chimejobs/chime/httpapi/action"

// A Mistake is one error of a request: a code, the field, the value, the expected value.
type Mistake = action.Problem

// MaxMistakes is the maximum number of mistakes in an answer.
const MaxMistakes = 100
