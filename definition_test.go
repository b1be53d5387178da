package chime

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// storedText is a declaration as the store keeps it.
func storedText(d protocol.Declaration, state string, revision int64, created time.Time) []byte {
	return fmt.Appendf(nil, `{"revision":%d,"state":"%s","created":"%s","overlap":"%s",%s`,
		revision, state, created.UTC().Format(time.RFC3339), d.Overlap, d.Body[1:])
}

func TestADefinitionIsReadableAndKeepsItsText(t *testing.T) {
	type mail struct {
		To string `json:"to"`
	}
	rec := recurrence.MustParse(`{"startTime":"2026-01-01T08:00:00+01:00","recurrence":{"frequency":"weekly","interval":2,"schedule":{"weekDays":["friday","monday"],"hours":9},"timeZone":"Europe/Berlin"}}`)
	for _, c := range []struct {
		name    string
		rec     recurrence.Recurrence
		options []ScheduleOption
		want    string
	}{
		{"nothing said", recurrence.Recurrence{Cron: "0 9 * * *"}, nil,
			`{"version":1,"job":"report","recurrence":{"cron":"0 9 * * *"},"misfire":"run_once","grace":"1m0s"}`},
		{"everything said", rec,
			[]ScheduleOption{JobName("mail"), Args([]byte(`{"to":"a"}`)), MaxAttempts(3), Timeout(90 * time.Second), Misfire(MisfireCatchUp), Grace(time.Hour), NoImmediateRun(), Overlap(OverlapAllow)},
			`{"version":1,"job":"mail","recurrence":{"startTime":"2026-01-01T07:00:00Z","frequency":"week","interval":2,"schedule":{"hours":[9],"weekDays":["monday","friday"]},"timeZone":"Europe/Berlin"},"misfire":"catch_up","grace":"1h0m0s","noImmediateRun":true,"maxAttempts":3,"timeout":"1m30s","args":{"to":"a"}}`},
		{"msgpack arguments", recurrence.Recurrence{}, []ScheduleOption{Args(mail{"a"})},
			`{"version":1,"job":"report","recurrence":{},"misfire":"run_once","grace":"1m0s","payload":"gaJ0b6Fh"}`},
	} {
		d, err := declaration("report", c.rec, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if string(d.Body) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, d.Body, c.want)
		}
		p, err := newPlan(storedText(d, "live", 3, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
		if err != nil {
			t.Errorf("%s: read back: %v", c.name, err)
			continue
		}
		if again, err := p.canonical(); err != nil || string(again) != c.want {
			t.Errorf("%s: written again %s, %v; want the same text", c.name, again, err)
		}
	}
}

// A map has no order and a rule several spellings; a definition that is the same must not look changed.
func TestEqualDeclarationsHaveEqualText(t *testing.T) {
	args := func() any {
		m := map[string]any{}
		for i := range 50 {
			m[fmt.Sprint("k", i)] = map[string]int{"a": 1, "b": i}
		}
		return m
	}
	one, err := declaration("s", recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9, 8, 9}}, []ScheduleOption{Args(args())})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		other, err := declaration("s", recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{8, 9}}, []ScheduleOption{Args(args())})
		if err != nil || string(other.Body) != string(one.Body) {
			t.Fatalf("got %s, %v; want %s", other.Body, err, one.Body)
		}
	}
}

func TestRefusedDeclarationsNameFieldValueAndLimit(t *testing.T) {
	hour := recurrence.Recurrence{Frequency: recurrence.Hour}
	for _, c := range []struct {
		name    string
		rec     recurrence.Recurrence
		options []ScheduleOption
		want    string
	}{
		{"", hour, nil, "name is missing"},
		{"a@b", hour, nil, `name "a@b" has '@'`},
		{"a/b", hour, nil, `name "a/b" has '/'`},
		{strings.Repeat("x", 101), hour, nil, "101 characters: want at most 100"},
		{"s", recurrence.Recurrence{Frequency: recurrence.Hour, Minutes: []int{60}}, nil, "60"},
		{"s", recurrence.Recurrence{Cron: "61 * * * *"}, nil, "cron"},
		{"s", recurrence.Recurrence{Cron: "0 0 30 2 *"}, nil, "cron"},
		{"s", recurrence.Recurrence{Frequency: recurrence.Hour, TimeZone: "Mars/Olympus"}, nil, "Mars/Olympus"},
		{"s", hour, []ScheduleOption{Grace(0)}, "grace 0s: want 1s to 8760h"},
		{"s", hour, []ScheduleOption{Grace(-time.Second)}, "grace -1s"},
		{"s", hour, []ScheduleOption{Queue("a b")}, `queue "a b"`},
		{"s", hour, []ScheduleOption{JobName("")}, "job name is missing"},
		{"s", hour, []ScheduleOption{MaxAttempts(0)}, "max attempts 0"},
		{"s", hour, []ScheduleOption{Timeout(0)}, "timeout 0s"},
		{"s", hour, []ScheduleOption{Overlap("both")}, `overlap policy "both"`},
		{"s", hour, []ScheduleOption{Misfire("often")}, `misfire policy "often"`},
		{"s", hour, []ScheduleOption{nil}, "an option is nil"},
		{"s", hour, []ScheduleOption{Args(func() {})}, "args: "},
		{"s", hour, []ScheduleOption{Args(make([]byte, DefaultMaxPayload+1))}, "1048577 bytes, the limit is 1048576"},
		{"s", recurrence.Recurrence{}, []ScheduleOption{NoImmediateRun()}, "NoImmediateRun forbids that"},
	} {
		if _, err := declaration(c.name, c.rec, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.10q, %v: got %v, want an error with %q", c.name, c.rec, err, c.want)
		}
	}
	_, err := declaration("a b", recurrence.Recurrence{Cron: "x"}, []ScheduleOption{Grace(0), Args(make([]byte, 2<<20))})
	var refused *recurrence.Error
	if !errors.As(err, &refused) || !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("got %v: want all that is wrong, joined, the rule's error and ErrPayloadTooLarge among it", err)
	}
}

// The largest declaration that is accepted is one that can be read.
func TestArgumentsOfTheLimitAreReadBack(t *testing.T) {
	for _, args := range []any{make([]byte, DefaultMaxPayload), []byte(`"` + strings.Repeat("x", DefaultMaxPayload-2) + `"`), []byte(`"` + strings.Repeat("<", DefaultMaxPayload-2) + `"`)} {
		p := planFor(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), recurrence.Recurrence{Cron: "0 9 * * *"}, Args(args))
		if string(p.payload()) != string(args.([]byte)) {
			t.Errorf("arguments that begin with %.10q changed", args)
		}
	}
}

// What a stored definition must be for this program to act on it; what another program may act on is told apart.
func TestStoredDefinitionsThatAreNotComputed(t *testing.T) {
	const good = `{"revision":1,"state":"live","created":"2026-01-01T00:00:00Z","overlap":"skip","version":1,"job":"x","recurrence":{"frequency":"hour"},"misfire":"skip","grace":"1m0s"}`
	if _, err := newPlan([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := newPlan([]byte(strings.Replace(good, `"version":1`, `"version":1,"colour":{"of":["later"]}`, 1))); err != nil {
		t.Errorf("a field of a later version: %v; want it ignored", err)
	}
	for _, c := range []struct {
		old, new  string
		elsewhere bool
	}{
		{`"version":1`, `"version":2`, true},
		{`"version":1,"job":"x","recurrence":{"frequency":"hour"}`, `"version":2,"job":"x","recurrence":{"frequency":"fortnight"}`, true},
		{`{"frequency":"hour"}`, `{"frequency":"hour","timeZone":"Mars/Olympus"}`, true},
		{`{"frequency":"hour"}`, `{"cron":"CRON_TZ=Mars/Olympus 0 9 * * *"}`, true},
		{`"misfire":"skip"`, `"misfire":"twice"`, true},
		{`{"frequency":"hour"}`, `{"frequency":"fortnight"}`, false},
		{`{"frequency":"hour"}`, `{"frequency":"year","schedule":{"months":[2]},"startTime":"2026-01-30"}`, false},
		{`"job":"x"`, `"job":"../x"`, false},
		{`"job":"x"`, `"job":""`, false},
		{`"job":"x"`, `"job":7`, false},
		{`"grace":"1m0s"`, `"grace":"-1m0s"`, false},
		{`"grace":"1m0s"`, `"grace":"9000000h"`, false},
		{`"grace":"1m0s"`, `"grace":"` + strings.Repeat("9", 1000) + `"`, false},
		{`"grace":"1m0s"`, `"grace":"1m0s","timeout":"0s"`, false},
		{`"grace":"1m0s"`, `"grace":"1m0s","maxAttempts":-1`, false},
		{`"created":"2026-01-01T00:00:00Z",`, ``, false},
		{`"created":"2026-01-01T00:00:00Z"`, `"created":"yesterday"`, false},
		{good, ``, false},
		{good, `[]`, false},
		{good, `null`, false},
		{good, strings.Repeat(`{"a":`, 1<<18), false},
		{good, strings.Repeat(" ", maxDefinition) + good, false},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		_, err := newPlan([]byte(text))
		if err == nil || errors.Is(err, errNotHere) != c.elsewhere {
			t.Errorf("%.60q for %.60q: got %v; want an error, to be left to others: %v", c.new, c.old, err, c.elsewhere)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.60q: an error of %d bytes", c.new, len(err.Error()))
		}
	}
}

func TestALoggedDefinitionHasNoArguments(t *testing.T) {
	for _, args := range []any{[]byte(`{"password":"hunter2"}`), map[string]string{"password": "hunter2"}} {
		d, err := declaration("s", recurrence.Recurrence{Cron: "0 9 * * *"}, []ScheduleOption{Args(args)})
		if err != nil {
			t.Fatal(err)
		}
		got := forLog(storedText(d, "live", 1, time.Unix(0, 0)))
		if strings.Contains(got, "hunter2") || strings.Contains(got, "payload") || !strings.Contains(got, ` bytes"`) || !strings.Contains(got, "0 9 * * *") {
			t.Errorf("got %s; want the rule, and of the arguments their size", got)
		}
	}
	if got := forLog([]byte("password hunter2")); strings.Contains(got, "hunter2") {
		t.Errorf("got %s; want nothing of what cannot be read", got)
	}
}

func TestRememberedPlansAreBounded(t *testing.T) {
	var c plans
	created := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	small, _ := declaration("s", recurrence.Recurrence{Cron: "0 9 * * *"}, nil)
	large, _ := declaration("s", recurrence.Recurrence{Cron: "0 9 * * *"}, []ScheduleOption{Args(make([]byte, DefaultMaxPayload))})
	for i := range plansKept + 100 {
		if _, err := c.of(fmt.Sprint("small", i), storedText(small, "live", int64(i), created)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		if _, err := c.of(fmt.Sprint("large", i), storedText(large, "live", int64(i), created)); err != nil {
			t.Fatal(err)
		}
	}
	bytes := 0
	for _, p := range c.byName {
		bytes += len(p.text)
	}
	if len(c.byName) > plansKept || bytes > plansBytes || bytes != c.bytes {
		t.Errorf("%d plans with %d bytes of text, %d by its own count; want at most %d and %d", len(c.byName), bytes, c.bytes, plansKept, plansBytes)
	}
	one, _ := c.of("x", storedText(small, "live", 1, created))
	if again, _ := c.of("x", storedText(small, "live", 1, created)); again != one {
		t.Error("the same definition was compiled twice")
	}
	if other, _ := c.of("x", storedText(small, "live", 2, created)); other == one || other.Revision != 2 {
		t.Error("another revision was not compiled")
	}
}

// Whatever stands in the store, reading it ends in a plan or an error, and a plan can be asked.
func FuzzDefinition(f *testing.F) {
	created := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, rec := range []recurrence.Recurrence{{}, {Cron: "*/7 1-5 * * 1"}, {Frequency: recurrence.Month, MonthDays: []int{-1}, TimeZone: "Europe/Berlin", Count: 3}} {
		for _, args := range []any{nil, []byte(`[1]`), map[string]int{"a": 1}} {
			d, err := declaration("s", rec, []ScheduleOption{Args(args), Misfire(MisfireCatchUp)})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(storedText(d, "live", 1, created))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		forLog(text)
		p, err := newPlan(text)
		if err != nil {
			return
		}
		at, ok := p.first()
		if !ok {
			return
		}
		placement := p.next(protocol.Owed{Cursor: protocol.Cursor{At: at, Used: 1, Placed: true}, Since: at.Add(3 * time.Hour)})
		if len(placement.Instants) > catchUpMost || placement.Missed < 0 || placement.Missed > missedMost {
			t.Fatalf("%d instants, %d missed", len(placement.Instants), placement.Missed)
		}
		for _, next := range placement.Instants {
			if !next.After(at) {
				t.Fatalf("%v follows %v", next, at)
			}
			at = next
		}
	})
}
