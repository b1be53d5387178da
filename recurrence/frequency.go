package recurrence

import "strconv"

// Frequency is the unit of a Recurrence's interval. The zero value means that it runs once.
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

// String is the JSON word, such as "week"; for the zero value it is empty.
func (f Frequency) String() string {
	if int(f) >= len(frequencies) {
		return "Frequency(" + strconv.Itoa(int(f)) + ")"
	}
	return frequencies[f].word
}

// MarshalText gives the JSON word. It refuses a value that is no frequency; the zero value is the empty text.
func (f Frequency) MarshalText() ([]byte, error) {
	if f > Year {
		return nil, unknownFrequency(f.String())
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads the JSON word in any case, its plural and its adverb (days, daily). The empty text is the zero value.
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

// frequencies holds, for each Frequency, its words and the longest interval.
var frequencies = [...]struct {
	word, adverb string
	longest      int
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

// frequencyOf finds the frequency that a word names.
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

// unknownFrequency refuses a word or number that names no frequency.
func unknownFrequency(value string) *Error {
	return refuse(CodeFrequencyUnknown, "frequency", value, "must be second, minute, hour, day, week, month or year")
}
