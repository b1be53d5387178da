package recurrence

// A textElement is a list of texts in a filter.
type textElement struct {
	name              string
	badType, badValue Code
	example           string
	limit             int                                         // the largest number of texts
	canonical         func(text string) (form string, bad string) // bad is the reason to refuse the text, or ""
}

var (
	dateTexts = textElement{"dates", CodeDatesType, CodeDatesValue, "2026-12-25", 1000, canonicalDates}
	timeTexts = textElement{"times", CodeTimesType, CodeTimesValue, "09:00/17:30", 100, canonicalTimes}
)

// check refuses a text that the element cannot hold.
func (e textElement) check(field, text string) *Error {
	if _, bad := e.canonical(text); bad != "" {
		return newError(e.badValue, field, text, "%s", bad)
	}
	return nil
}

func canonicalDates(text string) (string, string) {
	entry, bad := parseDates(text)
	return entry.String(), bad
}

func canonicalTimes(text string) (string, string) {
	first, last, bad := parseTimes(text)
	return formatTimes(first, last), bad
}
