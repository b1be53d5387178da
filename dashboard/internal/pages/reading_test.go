package pages

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
)

// Before the first jobs are read a page says so, and not how many it found among none of them. A number that may grow is at least so large.
func TestAPageSaysThatItStillReads(t *testing.T) {
	groups := []FailureGroup{{Group: jobfind.Group{Count: 917, Job: "imports", Error: "disk full"}}}
	for _, c := range []struct {
		page, region  string
		model         any
		wanted, wrong string
	}{
		{"jobs", "list", &Jobs{State: "dead", Filtered: true, Next: "x", Total: 5, Empty: (&Jobs{Filtered: true, Next: "x"}).empty(true)}, "The jobs are being read.|Reading…", "0 found"},
		{"jobs", "list", &Jobs{State: "dead", Filtered: true, Next: "x", Total: 5, Looked: 500, Empty: (&Jobs{Filtered: true, Next: "x", Looked: 500}).empty(true)},
			"None of the jobs that were read so far matches.|0 found among the first 500", "Reading"},
		{"failures", "groups", &Failures{GoOn: []GoOn{{"dead", "x"}}, Empty: (&Failures{GoOn: []GoOn{{"dead", "x"}}}).empty()}, "The failed jobs are being read.|Reading…", "first 0"},
		{"failures", "groups", &Failures{GoOn: []GoOn{{"dead", "x"}}, Groups: groups, Jobs: 917, Looked: 2000}, "At least 917 jobs in 1 group|the newest 2,000 jobs", "Reading"},
		{"failures", "groups", &Failures{Groups: groups, Jobs: 917, Looked: 2000}, ">917 jobs in 1 group", "At least"},
	} {
		text, _, err := render.Region(c.page, c.region, &render.Frame{Path: c.page, Zone: time.UTC, Now: time.Now()}, c.model)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range strings.Split(c.wanted, "|") {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q: %s", c.page, want, text)
			}
		}
		if strings.Contains(text, c.wrong) {
			t.Errorf("%s has %q: %s", c.page, c.wrong, text)
		}
	}
}
