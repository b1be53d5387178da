package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

func TestADefinitionIsReadableAndKeepsItsText(t *testing.T) {
	type mail struct {
		To string `json:"to"`
	}
	rec := recurrence.MustParse(`{"startTime":"2026-01-01T08:00:00+01:00","recurrence":{"frequency":"weekly","interval":2,"schedule":{"weekDays":["friday","monday"],"hours":9},"timeZone":"Europe/Berlin"}}`)
	for _, c := range []struct {
		name    string
		rec     recurrence.Recurrence
		options []option
		want    string
	}{
		{"no options", recurrence.Recurrence{Cron: "0 9 * * *"}, nil,
			`{"version":1,"job":"report","recurrence":{"cron":"0 9 * * *"},"misfire":"run_once","grace":"1m0s"}`},
		{"all options", rec,
			[]option{jobName("mail"), withArgs([]byte(`{"to":"a"}`)), maxAttempts(3), withTimeout(90 * time.Second), withMisfire(MisfireCatchUp), withGrace(time.Hour), noImmediateRun(), withOverlap(OverlapAllow)},
			`{"version":1,"job":"mail","recurrence":{"startTime":"2026-01-01T07:00:00Z","frequency":"week","interval":2,"schedule":{"hours":[9],"weekDays":["monday","friday"]},"timeZone":"Europe/Berlin"},"misfire":"catch_up","grace":"1h0m0s","noImmediateRun":true,"maxAttempts":3,"timeout":"1m30s","args":{"to":"a"}}`},
		{"msgpack arguments", recurrence.Recurrence{Cron: "@daily"}, []option{withArgs(mail{"a"})},
			`{"version":1,"job":"report","recurrence":{"cron":"@daily"},"misfire":"run_once","grace":"1m0s","payload":"gaJ0b6Fh"}`},
	} {
		d, err := declaration("report", c.rec, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if string(d.Body) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, d.Body, c.want)
		}
		p, err := Compile(storedText(d, "live", 3, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
		if err != nil {
			t.Errorf("%s: read back: %v", c.name, err)
			continue
		}
		if again, err := p.Declare("report", "default"); err != nil || string(again.Body) != c.want {
			t.Errorf("%s: written again %s, %v; want the same text", c.name, again.Body, err)
		}
	}
}

// An empty rule is a forgotten field, so it is refused; but an empty rule that an earlier version has stored can be read.
func TestAnEmptyRuleIsRefusedButStillRead(t *testing.T) {
	for _, rec := range []recurrence.Recurrence{{}, {TimeZone: "Europe/Berlin"}} {
		_, err := declaration("report", rec, nil)
		var invalid *protocol.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "recurrence" || invalid.Limit != "a Frequency, a Cron or a StartTime" {
			t.Errorf("%+v: got %v, want an InvalidError of the recurrence that names what is missing", rec, err)
		}
	}
	created := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p, err := Compile([]byte(`{"revision":1,"state":"live","created":"2026-03-01T09:00:00Z","overlap":"skip","version":1,"job":"report","recurrence":{},"misfire":"run_once","grace":"1m0s"}`))
	if err != nil {
		t.Fatal(err)
	}
	if next := p.Next(protocol.Owed{Since: created}).Instants; len(next) != 1 || !next[0].Equal(created) {
		t.Errorf("the stored one runs at %v, want once, at its creation", next)
	}
}

// Maps have no order, and a rule has several spellings. Nevertheless equal definitions must have equal text.
func TestEqualDeclarationsHaveEqualText(t *testing.T) {
	args := func() any {
		m := map[string]any{}
		for i := range 50 {
			m[fmt.Sprint("k", i)] = map[string]int{"a": 1, "b": i}
		}
		return m
	}
	one, err := declaration("s", recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9, 8, 9}}, []option{withArgs(args())})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		other, err := declaration("s", recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{8, 9}}, []option{withArgs(args())})
		if err != nil || string(other.Body) != string(one.Body) {
			t.Fatalf("got %s, %v; want %s", other.Body, err, one.Body)
		}
	}
}

func TestArgumentsOfTheLargestSizeAreReadBack(t *testing.T) {
	for _, args := range []any{make([]byte, maxPayload()), []byte(`"` + strings.Repeat("x", maxPayload()-2) + `"`), []byte(`"` + strings.Repeat("<", maxPayload()-2) + `"`)} {
		p := planFor(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), recurrence.Recurrence{Cron: "0 9 * * *"}, withArgs(args))
		if string(p.Payload) != string(args.([]byte)) {
			t.Errorf("arguments that begin with %.10q changed", args)
		}
	}
}

// A definition that only this program cannot compute gives ErrNotHere; one that no program can compute gives another error.
func TestCompileRefusesBadDefinitions(t *testing.T) {
	const good = `{"revision":1,"state":"live","created":"2026-01-01T00:00:00Z","overlap":"skip","version":1,"job":"x","recurrence":{"frequency":"hour"},"misfire":"skip","grace":"1m0s"}`
	if _, err := Compile([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := Compile([]byte(strings.Replace(good, `"version":1`, `"version":1,"colour":{"of":["later"]}`, 1))); err != nil {
		t.Errorf("a field of a later version: %v; want it ignored", err)
	}
	for _, c := range []struct {
		old, new  string
		elsewhere bool
	}{
		{`"version":1`, `"version":5`, true},
		{`"version":1,"job":"x","recurrence":{"frequency":"hour"}`, `"version":5,"job":"x","recurrence":{"frequency":"fortnight"}`, true},
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
		_, err := Compile([]byte(text))
		if err == nil || errors.Is(err, ErrNotHere) != c.elsewhere {
			t.Errorf("%.60q for %.60q: got %v; want an error that is ErrNotHere: %v", c.new, c.old, err, c.elsewhere)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%.60q: an error of %d bytes", c.new, len(err.Error()))
		}
	}
}

func TestALoggedDefinitionHasNoArguments(t *testing.T) {
	for _, args := range []any{[]byte(`{"password":"hunter2"}`), map[string]string{"password": "hunter2"}} {
		d, err := declaration("s", recurrence.Recurrence{Cron: "0 9 * * *"}, []option{withArgs(args)})
		if err != nil {
			t.Fatal(err)
		}
		got := ForLog(storedText(d, "live", 1, time.Unix(0, 0)))
		if strings.Contains(got, "hunter2") || strings.Contains(got, "payload") || !strings.Contains(got, ` bytes"`) || !strings.Contains(got, "0 9 * * *") ||
			!strings.HasPrefix(got, `{"text":"Every day at 09:00 UTC`) {
			t.Errorf("got %s; want the text of the rule, the rule, and only the size of the arguments", got)
		}
	}
	if got := ForLog([]byte("password hunter2")); strings.Contains(got, "hunter2") {
		t.Errorf("got %s; want nothing of an unreadable text", got)
	}
}

func TestRememberedPlansAreBounded(t *testing.T) {
	var c Plans
	created := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	small, _ := declaration("s", recurrence.Recurrence{Cron: "0 9 * * *"}, nil)
	large, _ := declaration("s", recurrence.Recurrence{Cron: "0 9 * * *"}, []option{withArgs(make([]byte, maxPayload()))})
	for i := range maxPlans + 100 {
		if _, err := c.Of(fmt.Sprint("small", i), storedText(small, "live", int64(i), created)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		if _, err := c.Of(fmt.Sprint("large", i), storedText(large, "live", int64(i), created)); err != nil {
			t.Fatal(err)
		}
	}
	bytes := 0
	for _, p := range c.byName {
		bytes += len(p.text)
	}
	if len(c.byName) > maxPlans || bytes > maxPlanBytes || bytes != c.bytes {
		t.Errorf("%d plans with %d bytes of text, %d by its own count; want at most %d and %d", len(c.byName), bytes, c.bytes, maxPlans, maxPlanBytes)
	}
	one, _ := c.Of("x", storedText(small, "live", 1, created))
	if again, _ := c.Of("x", storedText(small, "live", 1, created)); again != one {
		t.Error("the same definition was compiled twice")
	}
	if other, _ := c.Of("x", storedText(small, "live", 2, created)); other == one || other.Revision != 2 {
		t.Error("another revision was not compiled")
	}
}

// Any text gives a plan or an error, and a plan gives a valid placement.
func FuzzDefinition(f *testing.F) {
	created := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, rec := range []recurrence.Recurrence{{StartTime: created}, {Cron: "*/7 1-5 * * 1"}, {Frequency: recurrence.Month, MonthDays: []int{-1}, TimeZone: "Europe/Berlin", Count: 3}} {
		for _, args := range []any{nil, []byte(`[1]`), map[string]int{"a": 1}} {
			d, err := declaration("s", rec, []option{withArgs(args), withMisfire(MisfireCatchUp)})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(storedText(d, "live", 1, created))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ForLog(text)
		p, err := Compile(text)
		if err != nil {
			return
		}
		at, ok := p.first()
		if !ok {
			return
		}
		placement := p.Next(protocol.Owed{Cursor: protocol.Cursor{At: at, Used: 1, Placed: true}, Since: at.Add(3 * time.Hour)})
		if len(placement.Instants) > maxCatchUp || placement.Missed < 0 || placement.Missed > maxMissed {
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

// Programs of every version read noImmediateRun beside the rule. None of them would ignore immediateRun in it: older ones refuse an unknown key.
func TestNoImmediateRunOfARuleIsStoredBesideIt(t *testing.T) {
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hourly := recurrence.Recurrence{Frequency: recurrence.Hour}
	without := hourly
	without.NoImmediateRun = true
	d, err := declaration("report", without, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := storedText(d, "live", 1, created)
	if !bytes.Contains(text, []byte(`"recurrence":{"frequency":"hour"},"misfire":"run_once","grace":"1m0s","noImmediateRun":true`)) {
		t.Errorf("stored as %s", text)
	}
	inside := bytes.Replace(text, []byte(`{"frequency":"hour"}`), []byte(`{"frequency":"hour","immediateRun":false}`), 1)
	inside = bytes.Replace(inside, []byte(`,"noImmediateRun":true`), nil, 1)
	for _, stored := range [][]byte{text, inside} {
		read, err := Read(stored)
		if err != nil || !read.Recurrence.Equal(without) {
			t.Errorf("%s is read as %+v (%v)", stored, read, err)
		}
	}
	with, err := declaration("report", hourly, nil)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := Read(storedText(with, "live", 1, created)); err != nil || !read.Recurrence.Equal(hourly) {
		t.Errorf("read as %+v (%v), want a run at creation", read, err)
	}
}

// An older program stored such a schedule, because its rule matched at the creation only. It still has no run, and is not an error.
func TestAStoredRuleThatRunsAtItsCreationOnlyIsReadWithoutThatRun(t *testing.T) {
	never := recurrence.Recurrence{
		Frequency: recurrence.Month, MonthDays: []int{30}, Months: []time.Month{time.February},
		MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Monday}},
	}
	d, err := declaration("report", never, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Replace(storedText(d, "live", 1, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), []byte(`"grace":"1m0s"`), []byte(`"grace":"1m0s","noImmediateRun":true`), 1)
	p, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	if first, ok := p.first(); ok {
		t.Errorf("first run %v, want none", first)
	}
	if _, err := declaration("report", never, []option{noImmediateRun()}); err == nil {
		t.Error("a rule that never runs is declared")
	}
}
