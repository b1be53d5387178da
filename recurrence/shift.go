package recurrence

import "strconv"

// A Shift determines what happens to a run whose day is closed: it moves by at most 31 days, or it is dropped. Runs that move to the same instant
// count as one run.
type Shift uint8

// The shifts. A shift in the month uses the other direction if the month has no open day in its own direction.
const (
	ShiftDrop            Shift = iota // the run is dropped
	ShiftNext                         // to the next open day
	ShiftPrevious                     // to the previous open day
	ShiftNearest                      // to the nearest open day; if two are equally near, to the next one
	ShiftNextInMonth                  // to the next open day of its month, otherwise the previous one ("modified following")
	ShiftPreviousInMonth              // to the previous open day of its month, otherwise the next one ("modified preceding")
	ShiftNearestInMonth               // to the nearest open day of its month; if two are equally near, to the next one (the W of Quartz)
)

// shiftWords holds the JSON word of each Shift.
var shiftWords = [...]string{"drop", "next", "previous", "nearest", "nextInMonth", "previousInMonth", "nearestInMonth"}

// shiftAliases are words of finance that are also accepted.
var shiftAliases = map[string]Shift{
	"following": ShiftNext, "preceding": ShiftPrevious, "modifiedfollowing": ShiftNextInMonth, "modifiedpreceding": ShiftPreviousInMonth,
}

// String returns the JSON word, such as "nextInMonth". It returns "Shift(9)" for an unknown value.
func (s Shift) String() string {
	if int(s) >= len(shiftWords) {
		return "Shift(" + strconv.Itoa(int(s)) + ")"
	}
	return shiftWords[s]
}

// MarshalText returns the JSON word. Its error for an unknown value is an [*Error] with [CodeShiftValue].
func (s Shift) MarshalText() ([]byte, error) {
	if int(s) >= len(shiftWords) {
		return nil, unknownShift(s.String())
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads a JSON word in any case. An empty text gives the zero value. Its error for any other text is an [*Error]
// with [CodeShiftValue].
func (s *Shift) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = ShiftDrop
		return nil
	}
	read, ok := shiftOf(string(text))
	if !ok {
		return unknownShift(string(text))
	}
	*s = read
	return nil
}

// shiftOf returns the shift of a word, in any case.
func shiftOf(word string) (Shift, bool) {
	word = lower(word)
	for s, known := range shiftWords {
		if word == lower(known) {
			return Shift(s), true
		}
	}
	s, ok := shiftAliases[word]
	return s, ok
}

// unknownShift returns the error for a value that is not a shift.
func unknownShift(value string) *Error {
	return newError(CodeShiftValue, "shift", value, "must be drop, next, previous, nearest, nextInMonth, previousInMonth or nearestInMonth")
}
