package times_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chimejobs/chime/internal/times"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

var now = time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)

func TestInstantsAreReadInTheZone(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"2026-11-21T09:00:00Z":      "2026-11-21T09:00:00Z",
		"2026-11-21T09:00:00+05:45": "2026-11-21T03:15:00Z",
		"2026-11-21T09:00:00.25Z":   "2026-11-21T09:00:00.25Z",
		"2026-11-21 09:00":          "2026-11-21T08:00:00Z",
		"2026-11-21 09:00:30":       "2026-11-21T08:00:30Z",
		"2026-07-21T09:00":          "2026-07-21T07:00:00Z",
		"2026-11-21":                "2026-11-20T23:00:00Z",
		"now":                       "2026-11-21T13:26:48Z",
		"-2h":                       "2026-11-21T11:26:48Z",
		"+3d":                       "2026-11-24T13:26:48Z",
		"+1d12h30m":                 "2026-11-23T01:56:48Z",
		"-1w":                       "2026-11-14T13:26:48Z",
		"+0s":                       "2026-11-21T13:26:48Z",
		"2027-03-28 02:30":          "2027-03-28T01:30:00Z", // skipped: the offset before the gap
		"2026-10-25 02:30":          "2026-10-25T00:30:00Z", // shown twice: the first
		"1900-01-01T00:00:00Z":      "1900-01-01T00:00:00Z",
		"2199-12-31T23:59:59Z":      "2199-12-31T23:59:59Z",
	} {
		got, err := times.Parse(text, now, berlin)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestATimeThatClocksLeaveOutOrShowTwiceIsRefused(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"2027-03-28 02:30":          "skip 02:30 on 28 March 2027; want a time that they show, as 2027-03-28T03:30:00+02:00",
		"2027-10-31 02:30":          "show 02:30 on 31 October 2027 twice; want one of them, 2027-10-31T02:30:00+02:00 or 2027-10-31T02:30:00+01:00",
		"2027-10-31T02:30:00":       "twice",
		"2027-10-31 01:59":          "",
		"2027-10-31 03:00":          "",
		"2027-03-28 03:00":          "",
		"2027-03-28":                "",
		"2027-10-31T02:30:00+01:00": "",
		"-2h":                       "",
	} {
		got, err := times.ParseOnce(text, now, berlin)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"2027-10-03 01:45", "2027-04-04 01:45"} { // half an hour in Lord Howe
		_, err := times.ParseOnce(text, now, zone(t, "Australia/Lord_Howe"))
		if twice := text == "2027-04-04 01:45"; twice != (err != nil) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsNoInstantIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "tomorrow", "9:00", "21.11.2026", "2026-02-30", "2026-11-21 24:00", "2026-11-21 09:00 CET", "+", "-", "+3", "+d", "+3y", "+3d ", "-1.5h",
		"+-2h", "+99999999999s", "+9999999999w", "1899-12-31T23:59:59Z", "2200-01-01", "+10000w", "9999-01-01 00:00",
	} {
		if got, err := times.Parse(text, now, time.UTC); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestInstantsAsPeopleReadThem(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for at, want := range map[string]string{
		"2026-11-21T13:30:00Z": "14:30:00", "2026-11-21T23:00:00Z": "22 Nov", "2026-10-31T17:00:00Z": "31 Oct", "2027-11-21T13:30:00Z": "21 Nov 2027",
	} {
		instant, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := times.Short(instant, now, berlin); got != want {
			t.Errorf("%s: got %q, want %q", at, got, want)
		}
	}
	if got, want := times.Full(time.Date(2027, 3, 28, 1, 30, 0, 0, time.UTC), berlin), "Sun 28 Mar 2027 03:30:00 CEST"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"Europe/Berlin": "times are Europe/Berlin (CET)", "UTC": "times are UTC", "Asia/Kathmandu": "times are Asia/Kathmandu (+0545)",
	} {
		if got := times.Header(zone(t, name), now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
