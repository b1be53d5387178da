package render

import (
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

var tag = regexp.MustCompile(`<[^>]*>`)

// The zones have a summer time of an hour, one of 30 minutes, an offset of 45 minutes, no offset, and a day that did not exist.
func TestTimesAreThoseOfTheZone(t *testing.T) {
	for _, c := range []struct{ zone, instant, at, clock, day string }{
		{"Europe/Berlin", "2026-03-29T00:59:59Z", "29 Mar 01:59:59 CET", "01:59:59 CET", "Sun 29 Mar"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z", "29 Mar 03:00:00 CEST", "03:00:00 CEST", "Sun 29 Mar"},
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "25 Oct 02:30:00 CEST", "02:30:00 CEST", "Sun 25 Oct"},
		{"Europe/Berlin", "2026-10-25T01:30:00Z", "25 Oct 02:30:00 CET", "02:30:00 CET", "Sun 25 Oct"},
		{"Asia/Kathmandu", "2026-03-29T18:14:59Z", "29 Mar 23:59:59 +0545", "23:59:59 +0545", "Sun 29 Mar"},
		{"Asia/Kathmandu", "2026-03-29T18:15:00Z", "30 Mar 00:00:00 +0545", "00:00:00 +0545", "Mon 30 Mar"},
		{"America/St_Johns", "2026-03-08T05:29:59Z", "8 Mar 01:59:59 NST", "01:59:59 NST", "Sun 8 Mar"},
		{"America/St_Johns", "2026-03-08T05:30:00Z", "8 Mar 03:00:00 NDT", "03:00:00 NDT", "Sun 8 Mar"},
		{"America/St_Johns", "2026-11-01T04:30:00Z", "1 Nov 01:00:00 NST", "01:00:00 NST", "Sun 1 Nov"},
		{"Pacific/Apia", "2011-12-30T09:59:59Z", "29 Dec 2011 23:59:59 -10", "23:59:59 -10", "Thu 29 Dec 2011"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "31 Dec 2011 00:00:00 +14", "00:00:00 +14", "Sat 31 Dec 2011"},
		{"UTC", "2025-12-31T23:59:59Z", "31 Dec 2025 23:59:59 UTC", "23:59:59 UTC", "Wed 31 Dec 2025"},
		{"Pacific/Apia", "2025-12-31T23:59:59Z", "1 Jan 12:59:59 +13", "12:59:59 +13", "Thu 1 Jan"},
	} {
		at, err := time.Parse(time.RFC3339, c.instant)
		if err != nil {
			t.Fatal(err)
		}
		frame := &Frame{Zone: zone(t, c.zone), Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}
		for show, shown := range map[string][2]string{
			"at": {string(frame.At(at)), c.at}, "clock": {string(frame.Clock(at)), c.clock}, "day": {string(frame.Day(at)), c.day},
		} {
			if got := tag.ReplaceAllString(shown[0], ""); got != shown[1] {
				t.Errorf("%s of %s in %s is %q, want %q", show, c.instant, c.zone, got, shown[1])
			}
			if !strings.Contains(shown[0], `datetime="`+c.instant+`" data-show="`+show+`"`) {
				t.Errorf("%s of %s is %s, from which a script cannot recreate it", show, c.instant, shown[0])
			}
		}
	}
}

func TestATimeShowsUTCAndTheZoneItBelongsTo(t *testing.T) {
	at := time.Date(2026, 11, 21, 13, 30, 0, 0, time.UTC)
	frame := &Frame{Zone: zone(t, "Europe/Berlin"), Now: at}
	got := frame.AtOf(at, zone(t, "Asia/Kathmandu"))
	const want = `<time datetime="2026-11-21T13:30:00Z" data-show="at" data-of="Asia/Kathmandu" title="2026-11-21 13:30:00 UTC, 2026-11-21 19:15:00 +0545 in Asia/Kathmandu">21 Nov 14:30:00 CET</time>`
	if got != want {
		t.Errorf("the time is\n%s, want\n%s", got, want)
	}
	for _, got := range []any{frame.At(time.Time{}), frame.Both(time.Time{}), frame.AtOf(time.Time{}, nil)} {
		if got != (&Frame{}).Rel(time.Time{}) || !strings.Contains(tag.ReplaceAllString(string((&Frame{}).Rel(time.Time{})), ""), "–") {
			t.Errorf("a zero time is %s", got)
		}
	}
}

func TestTemplatesCountAnyWholeNumber(t *testing.T) {
	for n, want := range map[any]string{0: "0", int64(-1234567): "-1,234,567", uint64(10204): "10,204"} {
		if got, err := count(n); got != want || err != nil {
			t.Errorf("%v is formatted %q, %v, want %q", n, got, err, want)
		}
	}
	if got, err := plural(uint8(1), "job", "jobs"); got != "1 job" || err != nil {
		t.Errorf("one job is written %q, %v", got, err)
	}
	if _, err := plural(0.5, "job", "jobs"); err == nil {
		t.Error("half a job has been counted")
	}
}

func TestOnlyRelativeTimesAreLeftOutOfAHash(t *testing.T) {
	at := time.Date(2026, 11, 21, 13, 30, 0, 0, time.UTC)
	text := func(now time.Time, at time.Time, name string) uint64 {
		frame := &Frame{Now: now}
		return hashOf("<td>" + string(frame.Rel(at)) + "</td><td>" + string(frame.At(at)) + name + string(frame.Rel(at)) + "</td>")
	}
	first := text(at, at, "a")
	if text(at.Add(time.Second), at, "a") != first {
		t.Error("a second later the hash differs")
	}
	if text(at, at.Add(time.Second), "a") == first {
		t.Error("another instant has the same hash")
	}
	if text(at, at, "b") == first {
		t.Error("another text between two relative times has the same hash")
	}
	if text(at, at, `<time data-show="at">x</time>`) == text(at, at, `<time data-show="at">y</time>`) {
		t.Error("the contents of other times are not hashed")
	}
}
