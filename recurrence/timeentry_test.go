package recurrence

import (
	"fmt"
	"testing"
)

func TestParseTimesReadsEveryMinuteAndSecondOfTheDay(t *testing.T) {
	for second := range secondsPerDay {
		text := fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)
		first, last, reason := parseTimes(text)
		if first != second || last != second || reason != "" || formatTimes(first, last) != text {
			t.Fatalf("%s reads as %d to %d %q, written as %s", text, first, last, reason, formatTimes(first, last))
		}
		if second%60 > 0 {
			continue
		}
		text = text[:5]
		first, last, reason = parseTimes(text)
		if first != second || last != second+59 || reason != "" || formatTimes(first, last) != text {
			t.Fatalf("%s reads as %d to %d %q, written as %s", text, first, last, reason, formatTimes(first, last))
		}
	}
}

func TestParseTimesReadsRanges(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		first, last     int
	}{
		{"02:00/03:59", "02:00/03:59", 7200, 14399},
		{"09:00/17:30", "09:00/17:30", 32400, 63059},
		{"22:00/05:59", "22:00/05:59", 79200, 21599},
		{"00:00/23:59", "00:00/23:59", 0, 86399},
		{"09:00/09:00", "09:00", 32400, 32459},
		{"09:00:00/09:00:59", "09:00", 32400, 32459},
		{"09:00:30/09:00:30", "09:00:30", 32430, 32430},
		{"09:00:00/09:00:00", "09:00:00", 32400, 32400},
		{"01:00:51/18:15", "01:00:51/18:15", 3651, 65759},
		{"01:00/18:15:30", "01:00/18:15:30", 3600, 65730},
		{"09:00:00/17:30:59", "09:00/17:30", 32400, 63059},
		{"09:00:00/17:30:00", "09:00/17:30:00", 32400, 63000},
		{"09:00:30/09:00", "09:00:30/09:00", 32430, 32459},
		{"09:01/09:00", "09:01/09:00", 32460, 32459},
		{"23:59:59/00:00:00", "23:59:59/00:00:00", 86399, 0},
	} {
		first, last, reason := parseTimes(c.text)
		if first != c.first || last != c.last || reason != "" {
			t.Errorf("%s reads as %d to %d %q, want %d to %d", c.text, first, last, reason, c.first, c.last)
		}
		got := formatTimes(first, last)
		if got != c.canonical {
			t.Errorf("%s is written as %s, want %s", c.text, got, c.canonical)
		}
		if a, b, _ := parseTimes(got); a != first || b != last {
			t.Errorf("%s, written as %s, comes back as %d to %d", c.text, got, a, b)
		}
	}
}

func TestParseTimesRefusesWithAReason(t *testing.T) {
	const none = "names a time that does not exist"
	for reason, texts := range map[string][]string{
		timesWant: {"", " ", "/", "9", "9-17", "9:00", "09", "09:0", "0900", "09:00:", "09:00:5", "09:00:00.5", "09:00Z", "09:00+01:00", "09.00", " 09:00", "09:00 ",
			"09:00/", "/09:00", "09:00/10:00/11:00", "09:00-17:00", "noon", "+9:00", "009:00", "T09:00", "09:00\x00", "０9:00"},
		"must be at most 23:59, which lasts until midnight: there is no 24:00": {"24:00", "18:00/24:00", "24:00:00", "24:30"},
		none: {"25:00", "09:60", "09:00:60", "99:99", "09:00/09:60"},
	} {
		for _, text := range texts {
			if first, last, got := parseTimes(text); got != reason {
				t.Errorf("%q: got %d to %d %q, want %q", text, first, last, got, reason)
			}
		}
	}
}
