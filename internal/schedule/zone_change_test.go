package schedule

import (
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
