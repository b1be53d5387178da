package recurrence

import "strconv"

// Frequency is the unit of [Recurrence.Interval]. The zero value means that the rule runs once.
type Frequency uint8

// The frequencies, from the shortest.
const (
	Second Frequency = 1 + iota
	Minute
	Hour
	Day
	Week
	Month
	Year
)

// String returns the JSON word, such as "week". It returns "" for the zero value and "Frequency(8)" for an unknown one.
func (f Frequency) String() string {
	if int(f) >= len(frequencies) {
		return "Frequency(" + strconv.Itoa(int(f)) + ")"
	}
	return frequencies[f].word
}

// MarshalText returns the JSON word, and an empty text for the zero value. Its error for an unknown value is an [*Error] with
// [CodeFrequencyUnknown].
func (f Frequency) MarshalText() ([]byte, error) {
	if f > Year {
		return nil, unknownFrequency(f.String())
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads the JSON word in any case, its plural and its adverb (day, days, daily). An empty text gives the zero
// value. Its error for any other text is an [*Error] with [CodeFrequencyUnknown].
func (f *Frequency) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*f = 0
		return nil
	}
	read, ok := frequencyOf(string(text))
	if !ok {
		return unknownFrequency(string(text))
	}
	*f = read
	return nil
}

// frequencies holds the words and the largest interval of each Frequency.
var frequencies = [...]struct {
	word, adverb string
	maxInterval  int
}{
	0:      {},
	Second: {"second", "secondly", 1000},
	Minute: {"minute", "minutely", 1000},
	Hour:   {"hour", "hourly", 1000},
	Day:    {"day", "daily", 548},
	Week:   {"week", "weekly", 78},
	Month:  {"month", "monthly", 18},
	Year:   {"year", "yearly", 1000},
}

// frequencyOf returns the frequency of a word.
func frequencyOf(word string) (Frequency, bool) {
	word = lower(word)
	for f := Second; f <= Year; f++ {
		known := frequencies[f]
		if word == known.word || word == known.word+"s" || word == known.adverb {
			return f, true
		}
	}
	return 0, false
}

// unknownFrequency returns the error for a value that is not a frequency.
func unknownFrequency(value string) *Error {
	return newError(CodeFrequencyUnknown, "frequency", value, "must be second, minute, hour, day, week, month or year")
}
