package jobfind

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

func TestAFilterIsReadAsItIsTyped(t *testing.T) {
	for _, c := range []struct {
		text string
		want Filter
	}{
		{"", Filter{}},
		{"  report ", Filter{Words: []string{"report"}}},
		{"report* 01kbq3m", Filter{Words: []string{"report", "01kbq3m"}}},
		{"report@2026-11-21T09:00:00Z", Filter{Words: []string{"report@2026-11-21T09:00:00Z"}}},
		{`"order:17"`, Filter{Words: []string{"order:17"}}},
		{"state:dead queue:mail", Filter{State: chime.JobDead, Queue: "mail"}},
		{"job:report", Filter{Job: Pattern{"report", false}}},
		{"job:report*", Filter{Job: Pattern{"report", true}}},
		{`job:"a b"*`, Filter{Job: Pattern{"a b", true}}},
		{"job:mail:send", Filter{Job: Pattern{"mail:send", false}}},
		{`group:tenant-42 state:dead`, Filter{Group: "tenant-42", State: chime.JobDead}},
		{`group:"a b"`, Filter{Group: "a b"}},
		{"group:ten*", Filter{Group: "ten*"}},
		{"batch:import/7 state:dead", Filter{Batch: "import/7", State: chime.JobDead}},
		{`error:"connection refused" state:retrying`, Filter{Error: "connection refused", State: chime.JobRetrying}},
		{`error:"a \"b\" \\ c"`, Filter{Error: `a "b" \ c`}},
		{"error:100%*", Filter{Error: "100%*"}},
		{"header:tenant=acme", Filter{Header: map[string]string{"tenant": "acme"}}},
		{`header:"made by=a b" header:x= header:y=a=b:c*`, Filter{Header: map[string]string{"made by": "a b", "x": "", "y": "a=b:c*"}}},
		{"schedule:invoices worker:app-1*", Filter{Schedule: Pattern{"invoices", false}, Worker: Pattern{"app-1", true}}},
		{"older:1h newer:3d", Filter{Older: time.Hour, Newer: 72 * time.Hour}},
		{"older:1d12h30m", Filter{Older: 36*time.Hour + 30*time.Minute}},
		{"since:2026-11-27", Filter{Since: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)}},
		{`since:"2026-11-27 14:00" until:2026-11-27T15:00`, Filter{Since: time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC), Until: time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)}},
		{"until:2026-11-27T14:00:00.25+01:00", Filter{Until: time.Date(2026, 11, 27, 14, 0, 0, 250e6, time.FixedZone("", 3600))}},
		{"attempt:3", Filter{Attempt: Range{3, 3}}},
		{"attempt:>3", Filter{Attempt: Range{4, 0}}},
		{"attempt:>=3", Filter{Attempt: Range{3, 0}}},
		{"attempt:<3", Filter{Attempt: Range{0, 2}}},
		{"attempt:<=3", Filter{Attempt: Range{0, 3}}},
	} {
		got, err := Parse(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %+v, %v; want %+v", c.text, got, err, c.want)
			continue
		}
		if again, err := Parse(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q prints as %q, which reads as %+v, %v", c.text, got.String(), again, err)
		}
	}
}

func TestAFilterThatIsWrongSaysWhatIsWrongWithWhichKey(t *testing.T) {
	for _, c := range []struct{ text, field, value string }{
		{"stat:dead", "filter stat", "dead"},
		{"state:died", "filter state", "died"},
		{"state:", "filter state", ""},
		{"job:", "filter job", ""},
		{"group:", "filter group", ""},
		{"group:\x01", "filter group", "\x01"},
		{"batch:\x01", "filter batch", "\x01"},
		{"header:tenant", "filter header", "tenant"},
		{"header:=acme", "filter header", "=acme"},
		{"header:a=1 header:a=2", "filter header", "a=2"},
		{"state:dead state:parked", "filter state", "parked"},
		{`error:"open`, "filter error", `"open`},
		{`error:"a"b`, "filter error", `"a"b`},
		{`error:a"b"`, "filter error", `a"b"`},
		{`""`, "filter", `""`},
		{"*", "filter", `""`},
		{"older:soon", "filter older", "soon"},
		{"older:-1h", "filter older", "-1h"},
		{"older:0s", "filter older", "0s"},
		{"newer:9999d", "filter newer", "9999d"},
		{"newer:3660d1h", "filter newer", "3660d1h"},
		{"since:now", "filter since", "now"},
		{"since:-2h", "filter since", "-2h"},
		{"until:soon", "filter until", "soon"},
		{"since:2026-11-27 until:2026-11-27", "filter until", "2026-11-27T00:00:00Z"},
		{"attempt:many", "filter attempt", "many"},
		{"attempt:=>3", "filter attempt", "=>3"},
		{"attempt:>=0", "filter attempt", ">=0"},
		{"attempt:<1", "filter attempt", "<1"},
		{"attempt:1000001", "filter attempt", "1000001"},
		{strings.Repeat("a", 2049), "filter", "2049 bytes"},
	} {
		_, err := Parse(c.text)
		var invalid *chime.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field || invalid.Value != c.value || invalid.Limit == "" {
			t.Errorf("%.40q: got %v, want an error of %s with the value %q", c.text, err, c.field, c.value)
		}
	}
}

// An instant without an offset is on the clock of the reader. Its printed form has the offset, so that it means the same for everybody.
func TestAnInstantOfAFilterIsInTheZoneOfTheReader(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	filter, err := ParseIn("state:dead since:2026-07-01T14:00 until:2026-11-27", berlin)
	if want := "state:dead since:2026-07-01T14:00:00+02:00 until:2026-11-27T00:00:00+01:00"; err != nil || filter.String() != want {
		t.Errorf("got %q, %v; want %q", filter.String(), err, want)
	}
	filter, err = Parse("older:1h newer:3d job:report")
	frozen := filter.Frozen(time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC), berlin)
	if want := "job:report since:2026-11-24T15:00:00+01:00 until:2026-11-27T14:00:00+01:00"; err != nil || frozen.String() != want {
		t.Errorf("frozen: got %q, %v; want %q", frozen.String(), err, want)
	}
}

// The printed form of a filter has the same meaning.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"report state:dead", `error:"a \" b" job:x*`, "attempt:>3 older:1d2h", `"a:b"* worker:""*`, "since:2026-11-27 until:2026-11-27T14:00:00+01:00", "a\u00a0b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := Parse(text)
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "filter") || len(text) > 4*maxText {
				t.Fatalf("%q: error %q", text, err)
			}
			return
		}
		printed := filter.String()
		if len(printed) > maxText {
			return
		}
		if again, err := Parse(printed); err != nil || !reflect.DeepEqual(again, filter) {
			t.Fatalf("%q is %+v and prints as %q, which is %+v, %v", text, filter, printed, again, err)
		}
	})
}
