package pages

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestTheListOfJobsHasAnOrderAndALastPage(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		newest := strings.Fields(jobsPage(t, site, "state=dead").ids())
		if len(newest) != 12 {
			t.Fatalf("%d dead jobs, want 12: %v", len(newest), newest)
		}
		oldest := strings.Fields(jobsPage(t, site, "state=dead&sort=oldest").ids())
		for i := range newest {
			if newest[i] != oldest[11-i] {
				t.Fatalf("%v is not the reverse of %v", newest, oldest)
			}
		}
		last := jobsPage(t, site, "state=dead&limit=5&before=end")
		if got := strings.Join(newest[7:], " "); last.ids() != got || last.Next != "" || last.Newer == "" || !last.Later || last.Last {
			t.Errorf("the last page: %s, next %q, newer %q; want %s", last.ids(), last.Next, last.Newer, got)
		}
		before := jobsPage(t, site, "state=dead&limit=5&before="+url.QueryEscape(last.Newer))
		if got := strings.Join(newest[2:7], " "); before.ids() != got || before.Next == "" || before.Newer == "" {
			t.Errorf("the page before it: %s, next %q; want %s", before.ids(), before.Next, got)
		}
		again := jobsPage(t, site, "state=dead&limit=5&after="+url.QueryEscape(before.Next))
		if again.ids() != last.ids() || again.Newer == "" {
			t.Errorf("the page after that: %s, want the last one, %s", again.ids(), last.ids())
		}
		first := jobsPage(t, site, "state=dead&limit=5")
		if first.Newer != "" || !first.Last || first.Later {
			t.Errorf("the first page: newer %q, last %v", first.Newer, first.Last)
		}
		down := jobsPage(t, site, "state=dead&sort=-error&limit=3")
		if down.Next != "" || down.Among != 12 || down.Partly || down.Sorted() == "" || len(down.Rows) != 3 {
			t.Errorf("sorted by the error: %+v, %q", down.Order, down.Sorted())
		}
		for _, query := range []string{"state=waiting&before=end", "state=dead&before=x", "state=dead&before=end&after=x", "state=dead&sort=job&before=end", "state=waiting&sort=newest", "state=dead&sort=x"} {
			if _, err := readPage(t, site.Jobs, query); err == nil {
				t.Errorf("%s was accepted", query)
			}
		}
		var wrong *QueryError
		if _, err := readPage(t, site.Jobs, "state=dead&sort=job&after=x"); !errors.As(err, &wrong) {
			t.Errorf("a sorted list with a place: got %v", err)
		}
	})
}

// A link to a view has the zone of the page, and instants in place of ages.
func TestALinkToAViewShowsTheSameLater(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		m := jobsPage(t, site, "state=dead&q=newer:1h")
		if !strings.Contains(m.Share, "since:") || strings.Contains(m.Share, "newer") {
			t.Errorf("the link has the filter %q", m.Share)
		}
		if shared := jobsPage(t, site, "state=dead&q="+url.QueryEscape(m.Share)); shared.ids() != m.ids() {
			t.Errorf("the link shows %s, want %s", shared.ids(), m.ids())
		}
	})
}
