package schedule

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// An occurrence whose local time is not stored, because an older program has placed it, is moved if the rule has it a little later by the data here. It is not moved if the rule
// still has its instant, or has other occurrences nearby.
func TestAnOccurrenceOfOldZoneDataIsMoved(t *testing.T) {
	created := instant(t, "2026-03-01T12:00:00Z")
	berlin := `"timeZone":"Europe/Berlin"`
	for _, c := range []struct {
		what, rule, planned string
		taken               time.Duration // after planned
		want                string        // empty: it is not moved
	}{
		{"its zone was an hour ahead", `{"recurrence":{"frequency":"day","schedule":{"hours":[9],"minutes":[0]},` + berlin + `}}`, "2026-06-10T06:00:00Z", time.Second, "2026-06-10T07:00:00Z"},
		{"of a month", `{"recurrence":{"frequency":"month","schedule":{"monthDays":[10],"hours":[9],"minutes":[0]},` + berlin + `}}`, "2026-06-10T06:30:00Z", time.Second, "2026-06-10T07:00:00Z"},
		{"of a cron line", `{"recurrence":{"cron":"0 9 * * *",` + berlin + `}}`, "2026-06-10T06:00:00Z", time.Second, "2026-06-10T07:00:00Z"},
		{"twice a day", `{"recurrence":{"frequency":"day","schedule":{"hours":[9,17],"minutes":[0]},` + berlin + `}}`, "2026-06-10T06:00:00Z", time.Second, "2026-06-10T07:00:00Z"},
		{"its first one", `{"recurrence":{"cron":"0 9 * * *",` + berlin + `}}`, "2026-03-02T07:00:00Z", time.Second, "2026-03-02T08:00:00Z"},
		{"taken after the new instant", `{"recurrence":{"cron":"0 9 * * *",` + berlin + `}}`, "2026-06-10T06:00:00Z", time.Hour, ""},
		{"its zone was an hour behind", `{"recurrence":{"cron":"0 9 * * *",` + berlin + `}}`, "2026-06-10T08:00:00Z", time.Second, ""},
		{"the rule has it", `{"recurrence":{"cron":"0 9 * * *",` + berlin + `}}`, "2026-06-10T07:00:00Z", time.Second, ""},
		{"four hours", `{"recurrence":{"cron":"0 9 * * *",` + berlin + `}}`, "2026-06-10T03:00:00Z", time.Second, ""},
		{"of each hour", `{"recurrence":{"cron":"30 * * * *",` + berlin + `}}`, "2026-06-10T07:00:00Z", time.Second, ""},
		{"one before it", `{"recurrence":{"cron":"0 4,9 * * *",` + berlin + `}}`, "2026-06-10T06:00:00Z", time.Second, ""},
		{"one behind it", `{"recurrence":{"cron":"0 9,10 * * *",` + berlin + `}}`, "2026-06-10T06:00:00Z", time.Second, ""},
		{"in UTC", `{"recurrence":{"cron":"0 9 * * *"}}`, "2026-06-10T08:00:00Z", time.Second, ""},
		{"the run at creation", `{"recurrence":{"frequency":"day","schedule":{"hours":[14],"minutes":[0]},` + berlin + `}}`, "2026-03-01T12:00:00Z", time.Second, ""},
	} {
		planned := instant(t, c.planned)
		got := ""
		if _, to := planFor(t, created, recurrence.MustParse(c.rule)).Counted(protocol.Zoned{}, planned, planned.Add(c.taken)); !to.IsZero() {
			got = to.UTC().Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s, %s planned at %s: moved to %q, want %q", c.what, c.rule, c.planned, got, c.want)
		}
	}
	planned := instant(t, "2026-06-10T06:00:00Z")
	p := planFor(t, created, recurrence.MustParse(`{"recurrence":{"cron":"0 9 * * *",`+berlin+`}}`))
	p.Revision = planned.UnixMicro()
	if _, to := p.Counted(protocol.Zoned{}, planned, planned.Add(time.Second)); !to.IsZero() {
		t.Errorf("an occurrence that was due when its definition changed is moved to %v", to)
	}
}

// No instant that a rule places is moved by the same data, in years with changes of summer time.
func TestWhatARulePlacesIsNotMoved(t *testing.T) {
	created := instant(t, "2026-01-01T00:00:30Z")
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		for _, rule := range []string{`"cron":"30 2 * * *"`, `"cron":"0 0 1 * *"`, `"cron":"30 1 * * 0"`, `"cron":"@every 7h"`,
			`"frequency":"day","schedule":{"hours":[2],"minutes":[30]}`, `"frequency":"day","interval":2`, `"frequency":"week"`, `"frequency":"hour","interval":8`} {
			p := planFor(t, created, recurrence.MustParse(fmt.Sprintf(`{"recurrence":{%s,"timeZone":%q}}`, rule, zone)))
			at, ok := p.first()
			for n := 0; ok && n < 400; n++ {
				if _, to := p.Counted(protocol.Zoned{}, at, p.due(at)); !to.IsZero() {
					t.Fatalf("%s in %s: %v is moved to %v", rule, zone, at, to)
				}
				at, ok = p.series.Next(at)
			}
		}
	}
}

// The stored local time decides what happens to an occurrence, also if the rule has others nearby.
func TestTheLocalTimeOfAnOccurrenceDecides(t *testing.T) {
	created := instant(t, "2026-03-01T12:00:00Z")
	const nine, both, hourly = `"cron":"0 9 * * *"`, `"cron":"0 9,10 * * *"`, `"cron":"0 * * * *"`
	for _, c := range []struct {
		what, rule, zone string
		planned          string
		offset           time.Duration
		taken            string
		counted, later   string // empty: planned; none
	}{
		{"an hour too early", nine, "", "06:00:00", 3 * time.Hour, "06:00:01", "", "07:00:00"},
		{"six hours too early", nine, "", "01:00:00", 8 * time.Hour, "01:00:01", "", "07:00:00"},
		{"beside another one", both, "", "06:00:00", 3 * time.Hour, "06:00:01", "", "07:00:00"},
		{"the other one has this instant", both, "", "07:00:00", 3 * time.Hour, "07:00:01", "", "08:00:00"},
		{"taken after the right time", nine, "", "06:00:00", 3 * time.Hour, "07:00:01", "", ""},
		{"an hour too late", nine, "", "08:00:00", time.Hour, "08:00:01", "07:00:00", ""},
		{"the same offset", nine, "", "07:00:00", 2 * time.Hour, "07:00:01", "", ""},
		{"the rule has no such local time", nine, "", "06:30:00", 3 * time.Hour, "06:30:01", "", ""},
		{"another zone", nine, "Asia/Tokyo", "06:00:00", 3 * time.Hour, "06:00:01", "", ""},
		{"each hour", hourly, "", "06:00:00", 3 * time.Hour, "06:00:01", "", ""},
	} {
		on := func(clock string) time.Time { return instant(t, "2026-06-10T"+clock+"Z") }
		z := protocol.Zoned{Planned: on(c.planned), Offset: c.offset, Zone: cmp.Or(c.zone, "Europe/Berlin")}
		p := planFor(t, created, recurrence.MustParse(`{"recurrence":{`+c.rule+`,"timeZone":"Europe/Berlin"}}`))
		counted, later := p.Counted(z, z.Planned, on(c.taken))
		want := time.Time{}
		if c.later != "" {
			want = on(c.later)
		}
		if !counted.Equal(on(cmp.Or(c.counted, c.planned))) || !later.Equal(want) {
			t.Errorf("%s: counted from %v, later %v; want %s, %s", c.what, counted, later, cmp.Or(c.counted, c.planned), c.later)
		}
	}
}

// What follows an occurrence has a later local time than the one that is used up, and no local time is left out.
func TestWhatFollowsHasALaterLocalTime(t *testing.T) {
	created := instant(t, "2026-03-01T12:00:00Z")
	const nine, both = `"cron":"0 9 * * *"`, `"cron":"0 9,10 * * *"`
	for _, c := range []struct {
		what, rule string
		planned    string // of the entry, with its offset
		offset     time.Duration
		cursor     string // the instant at it
		placed     bool
		next       string
		missed     int
	}{
		{"it ran too early", nine, "10T06:00:00", 3 * time.Hour, "10T06:00:00", true, "11T07:00:00", 0},
		{"it ran too early, and the next one is near", both, "10T06:00:00", 3 * time.Hour, "10T06:00:00", true, "10T08:00:00", 0},
		{"it ran too late", nine, "10T08:00:00", time.Hour, "10T08:00:00", true, "11T07:00:00", 0},
		{"it ran too late, at the instant of the next one", both, "10T08:00:00", time.Hour, "10T08:00:00", true, "11T07:00:00", 1},
		{"after a change it is still used up", nine, "10T06:00:00", 3 * time.Hour, "10T06:30:00", false, "11T07:00:00", 0},
		{"it was withdrawn", nine, "10T06:00:00", 3 * time.Hour, "10T05:00:00", false, "10T07:00:00", 0},
		{"it was withdrawn, and has passed", nine, "10T08:00:00", time.Hour, "10T07:30:00", false, "10T07:00:00", 0},
		{"it was withdrawn, and another one has passed", both, "10T09:00:00", time.Hour, "10T08:30:00", false, "10T08:00:00", 0},
	} {
		on := func(text string) time.Time { return instant(t, "2026-06-"+text+"Z") }
		p := planFor(t, created, recurrence.MustParse(`{"recurrence":{`+c.rule+`,"timeZone":"Europe/Berlin"}}`))
		got := p.Next(protocol.Owed{
			Cursor: protocol.Cursor{At: on(c.cursor), Used: 1, Placed: c.placed}, Since: on(c.cursor).Add(time.Second),
			Zoned: protocol.Zoned{Planned: on(c.planned), Offset: c.offset, Zone: "Europe/Berlin"},
		})
		if len(got.Instants) != 1 || !got.Instants[0].Equal(on(c.next)) || got.Missed != c.missed || got.Zone != "Europe/Berlin" || got.Offsets[0] != 2*time.Hour {
			t.Errorf("%s: %+v; want %s, %d missed", c.what, got, c.next, c.missed)
		}
	}
}
