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
		{`error:"connection refused" state:retrying`, Filter{Error: "connection refused", State: chime.JobRetrying}},
		{`error:"a \"b\" \\ c"`, Filter{Error: `a "b" \ c`}},
		{"error:100%*", Filter{Error: "100%*"}},
		{"header:tenant=acme", Filter{Header: map[string]string{"tenant": "acme"}}},
		{`header:"made by=a b" header:x= header:y=a=b:c*`, Filter{Header: map[string]string{"made by": "a b", "x": "", "y": "a=b:c*"}}},
		{"schedule:invoices worker:app-1*", Filter{Schedule: Pattern{"invoices", false}, Worker: Pattern{"app-1", true}}},
		{"older:1h newer:3d", Filter{Older: time.Hour, Newer: 72 * time.Hour}},
		{"older:1d12h30m", Filter{Older: 36*time.Hour + 30*time.Minute}},
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

// The printed form of a filter has the same meaning.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"report state:dead", `error:"a \" b" job:x*`, "attempt:>3 older:1d2h", `"a:b"* worker:""*`, "a\u00a0b"} {
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
