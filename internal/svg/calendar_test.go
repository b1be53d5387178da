package svg

import (
	"slices"
	"testing"
	"time"
)

func TestTheAxisShowsWhatTheClockShows(t *testing.T) {
	tests := []struct {
		name, zone, from string
		span             time.Duration
		step             int64
		want             []string
	}{
		{"Berlin goes back: 02:30 comes twice", "Europe/Berlin", "2026-10-25T00:00:00Z", 2 * time.Hour, 1800,
			[]string{"02:00 CEST", "02:30 CEST", "02:00 CET", "02:30 CET", "03:00 CET"}},
		{"Berlin goes forward: 02:00 does not come", "Europe/Berlin", "2027-03-28T00:00:00Z", 2 * time.Hour, 1800,
			[]string{"01:00 CET", "01:30 CET", "03:00 CEST", "03:30 CEST", "04:00 CEST"}},
		{"round by its own clock, which is 45 minutes off", "Asia/Kathmandu", "2026-06-01T00:00:00Z", 2 * time.Hour, hour,
			[]string{"06:00 +0545", "07:00 +0545"}},
		{"half an hour off, and back at one minute past midnight", "America/St_Johns", "2010-11-07T01:30:00Z", 2 * time.Hour, hour,
			[]string{"23:00 NDT", "00:00 NDT", "00:00 NST"}},
		{"a day that does not come", "Pacific/Apia", "2011-12-30T04:00:00Z", 12 * time.Hour, 6 * hour,
			[]string{"18:00 -10", "00:00 +14", "06:00 +14"}},
	}
	for _, test := range tests {
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range rounds(from.Unix(), from.Add(test.span).Unix(), test.step, zone(t, test.zone)) {
			got = append(got, at.Format("15:04 MST"))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestADayBeginsOnce(t *testing.T) {
	tests := []struct {
		name, zone string
		from, to   time.Time
		want       []string
	}{
		{"the day that Apia left out", "Pacific/Apia", time.Date(2011, 12, 28, 12, 0, 0, 0, time.UTC), time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC),
			[]string{"29 Dec 00:00", "31 Dec 00:00", "1 Jan 00:00"}},
		{"midnight twice", "America/St_Johns", time.Date(2010, 11, 6, 0, 0, 0, 0, time.UTC), time.Date(2010, 11, 8, 12, 0, 0, 0, time.UTC),
			[]string{"6 Nov 00:00", "7 Nov 00:00", "8 Nov 00:00"}},
		{"no midnight", "America/Sao_Paulo", time.Date(2018, 11, 3, 0, 0, 0, 0, time.UTC), time.Date(2018, 11, 5, 12, 0, 0, 0, time.UTC),
			[]string{"3 Nov 00:00", "4 Nov 01:00", "5 Nov 00:00"}},
	}
	for _, test := range tests {
		var got []string
		for _, at := range midnights(test.from.Unix(), test.to.Unix(), zone(t, test.zone)) {
			got = append(got, at.Format("2 Jan 15:04"))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
