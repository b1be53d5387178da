package svg

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each minute is in the cell of the day and hour that the clock shows. The expected counts use only time.Time, for unusual zones and days.
func TestEveryMinuteIsInTheCellOfItsHour(t *testing.T) {
	tests := []struct {
		zone string
		now  time.Time
	}{
		{"Europe/Berlin", time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC)},
		{"Europe/Berlin", time.Date(2027, 3, 28, 12, 0, 0, 0, time.UTC)},
		{"America/St_Johns", time.Date(2010, 11, 7, 12, 0, 0, 0, time.UTC)},
		{"America/St_Johns", time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)},
		{"Pacific/Apia", time.Date(2011, 12, 31, 12, 0, 0, 0, time.UTC)},
		{"Asia/Kathmandu", time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)},
		{"Australia/Lord_Howe", time.Date(2026, 4, 5, 12, 0, 0, 0, time.UTC)},
		{"Pacific/Kiritimati", time.Date(2026, 4, 5, 12, 0, 0, 0, time.UTC)},
	}
	for _, test := range tests {
		in := zone(t, test.zone)
		h := HeatMap{Now: test.now, Zone: in, Past: 3, Next: 3}
		want := map[string]int64{}
		for minute := -5 * 24 * 60; minute < 5*24*60; minute++ {
			at := test.now.Add(time.Duration(minute) * time.Minute)
			h.Events = append(h.Events, Event{At: at, N: 1, Tone: OK})
			want[at.In(in).Format("2006-01-02 15 -0700")]++
		}
		g := h.grid(14, 14, 24)
		shown := 0
		for at, cells := range g.cells {
			for _, c := range cells {
				began := time.Unix(c.from, 0).In(in)
				key := began.Format("2006-01-02 15 -0700")
				if got := c.past + c.next; got != want[key] || got != (c.to-c.from)/60 || dayOf(began) != at[0] || int64(began.Hour()) != at[1] {
					t.Errorf("%s: cell %v from %s has %d minutes, want %d", test.zone, at, key, got, want[key])
				}
				shown++
			}
		}
		first, last := date(g.first).Format(time.DateOnly), date(g.last).Format(time.DateOnly)
		for key := range want {
			if date := key[:len(time.DateOnly)]; date >= first && date <= last {
				shown--
			}
		}
		if shown != 0 {
			t.Errorf("%s: %d cells more than hours", test.zone, shown)
		}
		if last := g.last - g.first + 1; last != 6 {
			t.Errorf("%s: %d days, want 6", test.zone, last)
		}
	}
}

func TestOddHoursAreDrawnSo(t *testing.T) {
	tests := []struct {
		name, zone string
		now        time.Time
		day, hour  int
		want       string
	}{
		{"left out", "Europe/Berlin", time.Date(2027, 3, 28, 12, 0, 0, 0, time.UTC), 3, 2, "not on the clock"},
		{"twice", "Europe/Berlin", time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC), 3, 2, "0 | 0"},
		{"twice, across midnight", "America/St_Johns", time.Date(2010, 11, 7, 12, 0, 0, 0, time.UTC), 2, 23, "0 | 0"},
		{"a day left out", "Pacific/Apia", time.Date(2011, 12, 30, 12, 0, 0, 0, time.UTC), 2, 17, "not on the clock"},
		{"ordinary", "Asia/Kathmandu", time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), 2, 2, "0"},
	}
	for _, test := range tests {
		h := Hours{Now: test.now, Zone: zone(t, test.zone), Past: 3, Next: 1}
		table := h.Table()
		if got := table.Rows[test.day-1][1+test.hour]; got != test.want {
			t.Errorf("%s: %s at %02d in %s: %q, want %q", test.name, table.Rows[test.day-1][0], test.hour, test.zone, got, test.want)
		}
	}
	autumn := Hours{Now: time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC), Zone: zone(t, "Europe/Berlin"), Past: 1, Next: 1}.SVG()
	if n := strings.Count(string(autumn), "h11v5h-11z"); n != 2 {
		t.Errorf("%d cells of half the height, want 2: %s", n, autumn)
	}
	if spring := (Hours{Now: time.Date(2027, 3, 28, 12, 0, 0, 0, time.UTC), Zone: zone(t, "Europe/Berlin"), Past: 1, Next: 1}.SVG()); !strings.Contains(string(spring), `class="skipped"`) {
		t.Errorf("the skipped hour is not marked: %s", spring)
	}
	if weeks := (Weeks{Now: time.Date(2011, 12, 31, 0, 0, 0, 0, time.UTC), Zone: zone(t, "Pacific/Apia")}.SVG()); !strings.Contains(string(weeks), `class="skipped"`) {
		t.Errorf("the skipped day is not marked: %s", weeks)
	}
}

func TestACellShowsTheWorstOutcomeAndTheCount(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 21, hour, minute, 0, 0, time.UTC) }
	h := Hours{Now: now, From: at(3, 30), Until: at(20, 0), Past: 1, Next: 1, Events: []Event{
		{at(3, 10), 2, OK},
		{at(5, 0), 3, OK}, {at(5, 1), 1, Fail}, {at(5, 2), 1, Late},
		{at(6, 0), 1, Missed}, {at(8, 0), 1, Tone(200)},
		{at(7, 0), 0, Fail}, {at(7, 0), -1, Fail},
		{at(14, 0), 1, OK}, {at(14, 45), 1, Fail},
		{at(16, 0), 4, Fail},
		{at(23, 59), 1, OK},
	}}
	row := h.Table().Rows[0]
	for hour, want := range map[int]string{
		2: "not known", 3: "2", 4: "0", 5: "5, failed", 6: "1, missed", 7: "0", 8: "1", 14: "1, 1 to come", 15: "0", 16: "4 to come", 19: "0", 20: "not known", 23: "1 to come",
	} {
		if got := row[1+hour]; got != want {
			t.Errorf("%02d: %q, want %q", hour, got, want)
		}
	}
	const sentence = `aria-label="runs by hour from 21 Nov to 22 Nov, UTC: 10 until now, 1 hour with failures, 1 hour with missed ones, 30 hours of which nothing is known; 6 to come."`
	if svg := string(h.SVG()); !strings.Contains(svg, sentence) {
		t.Errorf("%s\nwant %s", svg[:500], sentence)
	}
}

func TestADepthIsByTheNumber(t *testing.T) {
	for _, test := range []struct {
		most, n int64
		want    int
	}{{0, 0, 0}, {1, 1, 1}, {4, 1, 1}, {4, 4, 4}, {16, 16, 6}, {60, 60, 6}, {60, 1, 1}, {3600, 60, 4}, {1e12, 1e12, 6}} {
		g := cellGrid{most: test.most}
		if got := g.level(test.n); got != test.want {
			t.Errorf("%d of at most %d: h%d, want h%d", test.n, test.most, got, test.want)
		}
	}
}

func TestADayIsOneCellWhateverItsClockDoes(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	h := Weeks{Now: time.Date(2026, 10, 26, 12, 0, 0, 0, berlin), Zone: berlin, Past: 2, Next: 1}
	for hour := range 25 {
		h.Events = append(h.Events, Event{time.Date(2026, 10, 25, 0, 30, 0, 0, berlin).Add(time.Duration(hour) * time.Hour), 1, OK})
	}
	if row := h.Table().Rows[0]; row[0] != "Sun 25 Oct" || row[1] != "25" {
		t.Errorf("%q, want 25 on Sun 25 Oct", row)
	}
}

func TestTheLegendNamesEachToneByItsWord(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	for tone, want := range map[Tone]string{Off: "dropped", Paused: "paused", Missed: "missed", Fail: "failed", Late: "late", OK: "done"} {
		h := Hours{Now: now, From: now.Add(-3 * time.Hour), Until: now, Past: 1, Next: 1, Events: []Event{{now.Add(-2 * time.Hour), 1, tone}}}
		words := map[string]bool{}
		for _, m := range regexp.MustCompile(`<text class="axis" x="[^"]*" y="[^"]*">([a-z ]+)</text>`).FindAllStringSubmatch(string(h.SVG()), -1) {
			words[m[1]] = true
		}
		if !words[want] || len(words) != 2 || !words["not known"] {
			t.Errorf("the legend of a map with one %s run has %v, want %q and \"not known\"", want, words, want)
		}
	}
}
