package recurrence

import (
	"testing"
	"time"
)

func TestParseDatesReadsEveryDayOfTheYears1900To2199(t *testing.T) {
	for at := minTime; at.Before(horizonTime); at = at.AddDate(0, 0, 1) {
		day := at.Unix() / secondsPerDay
		text := at.Format(time.DateOnly)
		entry, reason := parseDates(text)
		if want := (dateEntry{first: day, last: day}); reason != "" || entry != want {
			t.Fatalf("%s reads as %+v %q, want %+v", text, entry, reason, want)
		}
		if entry.String() != text {
			t.Fatalf("%s is written as %s", text, entry)
		}
	}
}

func TestParseDatesReadsEveryDayOfTheYear(t *testing.T) {
	before := int64(0)
	for at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2000; at = at.AddDate(0, 0, 1) {
		text := at.Format("01-02")
		entry, reason := parseDates(text)
		day := int64(at.Month())*32 + int64(at.Day())
		if want := (dateEntry{yearly: true, first: day, last: day}); reason != "" || entry != want || day <= before {
			t.Errorf("%s reads as %+v %q, want %+v", text, entry, reason, want)
		}
		if entry.String() != text {
			t.Errorf("%s is written as %s", text, entry)
		}
		before = day
	}
}

func TestParseDatesReadsRanges(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		want            dateEntry
	}{
		{"1970-01-01/1970-01-02", "1970-01-01/1970-01-02", dateEntry{yearly: false, first: 0, last: 1}},
		{"1969-12-31/1970-01-01", "1969-12-31/1970-01-01", dateEntry{yearly: false, first: -1, last: 0}},
		{"2026-12-20/2027-01-03", "2026-12-20/2027-01-03", dateEntry{yearly: false, first: 20807, last: 20821}},
		{"2026-12-25/2026-12-25", "2026-12-25", dateEntry{yearly: false, first: 20812, last: 20812}},
		{"1900-01-01/2199-12-31", "1900-01-01/2199-12-31", dateEntry{yearly: false, first: -25567, last: 84005}},
		{"12-20/12-31", "12-20/12-31", dateEntry{yearly: true, first: 404, last: 415}},
		{"12-20/01-03", "12-20/01-03", dateEntry{yearly: true, first: 404, last: 35}},
		{"12-25/12-25", "12-25", dateEntry{yearly: true, first: 409, last: 409}},
		{"02-29/03-01", "02-29/03-01", dateEntry{yearly: true, first: 93, last: 97}},
		{"01-01/12-31", "01-01/12-31", dateEntry{yearly: true, first: 33, last: 415}},
		{"easter", "easter", dateEntry{easter, true, 0, 0}},
		{"EASTER-0", "easter", dateEntry{easter, true, 0, 0}},
		{"Easter-02", "easter-2", dateEntry{easter, true, -2, -2}},
		{"easter+70/easter+70", "easter+70", dateEntry{easter, true, 70, 70}},
		{"easter-2/easter+1", "easter-2/easter+1", dateEntry{easter, true, -2, 1}},
		{"easter-70/Easter", "easter-70/easter", dateEntry{easter, true, -70, 0}},
		{"orthodoxeaster", "orthodoxEaster", dateEntry{orthodoxEaster, true, 0, 0}},
		{"orthodoxEaster-2/ORTHODOXEASTER+1", "orthodoxEaster-2/orthodoxEaster+1", dateEntry{orthodoxEaster, true, -2, 1}},
	} {
		entry, reason := parseDates(c.text)
		if reason != "" || entry != c.want {
			t.Errorf("%s reads as %+v %q, want %+v", c.text, entry, reason, c.want)
		}
		if got := entry.String(); got != c.canonical {
			t.Errorf("%s is written as %s, want %s", c.text, got, c.canonical)
		}
	}
}

func TestParseDatesRefusesWithAReason(t *testing.T) {
	for reason, texts := range map[string][]string{
		datesWant: {"", " ", "/", "2026", "2026-12", "12", "1-1", "12-5", "12-25 ", " 12-25", "+2-25", "2026-12-25/", "/2026-12-25", "12-25/", "2026-12-25/2026-12-26/2026-12-27",
			"2026-12-24T10:00:00Z", "20261225", "26-12-25", "2026-12-5", "2026/12/25", "25.12.2026", "2026-12-25--2026-12-26", "02026-12-25", "december", "12-25\x00", "１2-25",
			"easter ", " easter", "easter-", "easter+", "easter2", "easter--2", "easter+1.5", "easter+1d", "easter+１", "easter+0000000001", "eastern", "orthodox", "orthodoxEaster 1", "orthodox easter",
			"easter/", "/easter", "easter/easter/easter", "easter/christmas"},
		datesFar:     {"easter+71", "easter-71", "orthodoxEaster+100", "easter-2/easter+999999999"},
		datesFeasts:  {"easter/orthodoxEaster", "easter-2/12-25", "01-01/easter", "2026-04-03/easter+1", "orthodoxEaster/2026-05-05"},
		datesNoDay:   {"2026-02-29", "2026-02-30", "1900-02-29", "2100-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-04-31", "02-30", "04-31", "13-01", "00-01", "01-00", "01-32", "2026-02-28/2026-02-29"},
		datesYears:   {"1899-12-31", "2200-01-01", "0000-01-01", "9999-12-31", "2199-12-31/2200-01-01"},
		datesMixed:   {"2026-12-24/12-31", "12-24/2026-12-31"},
		datesReverse: {"2026-12-31/2026-12-01", "2027-01-01/2026-12-31", "easter+1/easter-2", "easter/easter-1"},
	} {
		for _, text := range texts {
			if entry, got := parseDates(text); got != reason {
				t.Errorf("%q: got %+v %q, want %q", text, entry, got, reason)
			}
		}
	}
}
