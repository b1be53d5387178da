package recurrence

import "strconv"

// ClockChanges sets what happens to times that the clocks skip or repeat.
type ClockChanges uint8

// The values of ClockChanges. They have no effect on a rule of all 24 hours, which follows elapsed time.
const (
	ClockOnce  ClockChanges = iota // skipped times run later, by the length of the gap; repeated ones on the first pass
	ClockSkip                      // skipped times do not run; repeated ones run on the first pass
	ClockShown                     // a time runs whenever the clocks show it: not at all, once or twice
)

// clockWords holds the JSON word of each ClockChanges.
var clockWords = [...]string{"once", "skip", "shown"}

// String returns the JSON word, such as "skip". It returns "ClockChanges(9)" for an unknown value.
func (c ClockChanges) String() string {
	if int(c) >= len(clockWords) {
		return "ClockChanges(" + strconv.Itoa(int(c)) + ")"
	}
	return clockWords[c]
}

// MarshalText returns the JSON word. Its error for an unknown value is an [*Error] with [CodeClockChangesValue].
func (c ClockChanges) MarshalText() ([]byte, error) {
	if int(c) >= len(clockWords) {
		return nil, unknownClockChanges(c.String())
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads a JSON word in any case. An empty text gives the zero value. Its error for any other text is an [*Error]
// with [CodeClockChangesValue].
func (c *ClockChanges) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = ClockOnce
		return nil
	}
	read, ok := clockChangesOf(string(text))
	if !ok {
		return unknownClockChanges(string(text))
	}
	*c = read
	return nil
}

// clockChangesOf returns the value that a word names, in any case.
func clockChangesOf(word string) (ClockChanges, bool) {
	word = lower(word)
	for c, known := range clockWords {
		if word == known {
			return ClockChanges(c), true
		}
	}
	return 0, false
}

// unknownClockChanges returns the error for a value that is not one of the words.
func unknownClockChanges(value string) *Error {
	return newError(CodeClockChangesValue, "clockChanges", value, "must be once, skip or shown")
}
