package recurrence

import (
	"testing"
	"time"
)

func TestDatesEndWithTheLastDayThatIsNamed(t *testing.T) {
	day := func(text string) (at time.Time) {
		if text != "" {
			at, _ = time.Parse(time.DateOnly, text)
		}
		return at
	}
	for text, want := range map[string]string{
		`{"frequency":"day"}`: "",
		`{"frequency":"day","except":{"dates":["easter","orthodoxEaster-2/orthodoxEaster+1"]}}`:          "",
		`{"frequency":"day","except":{"dates":["12-25","12-24/01-06"]}}`:                                 "",
		`{"frequency":"day","except":{"dates":["2026-12-25","12-26"]}}`:                                  "2026-12-25",
		`{"frequency":"day","only":{"dates":"2026-01-01/2027-03-31"},"except":[{"dates":"2026-12-25"}]}`: "2027-03-31",
		`{"frequency":"day","except":[{"dates":"2028-01-01","times":"09:00"},{"dates":["2027-12-31"]}]}`: "2028-01-01",
		`{"frequency":"day","endTime":"2026-12-25T18:00Z","except":{"dates":"2026-12-25"}}`:              "",
		`{"frequency":"day","endTime":"2027-01-31","except":{"dates":"2026-12-25"}}`:                     "2026-12-25",
	} {
		if got := MustParse(text).DatesEnd(); !got.Equal(day(want)) {
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
}
