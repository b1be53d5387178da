package render

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestLinksBeginWhereTheDashboardIsMounted(t *testing.T) {
	for path, want := range map[string]string{
		"": "/chime/", "schedules": "/chime/", "schedules/report": "/chime/", "schedules/a%2Fb": "/chime/", "jobs/mail/01kbq/edit": "/chime/", "jobs/": "/chime/",
	} {
		frame := &Frame{Path: path}
		page, err := url.Parse("https://example.org/chime/" + path)
		if err != nil {
			t.Fatal(err)
		}
		base, err := page.Parse(frame.Base())
		if err != nil {
			t.Fatal(err)
		}
		if base.Path != want {
			t.Errorf("the base of %q is %s, want %s", path, base.Path, want)
		}
	}
}

func TestALinkStaysBelowTheMount(t *testing.T) {
	base, _ := url.Parse("https://example.org/chime/")
	for _, path := range []string{"", "schedules", "/evil.example", "//evil.example", "javascript:alert(1)", "https://evil.example/x"} {
		link, err := base.Parse((&Frame{}).Href(path))
		if err != nil {
			t.Fatal(err)
		}
		if link.Host != "example.org" || !strings.HasPrefix(link.Path, "/chime/") {
			t.Errorf("Href(%q) leads to %s", path, link)
		}
	}
}

func TestLinksKeepTheZoneThatWasAskedFor(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	asked := &Frame{Path: "jobs", Zone: berlin, ZoneFixed: true, Query: url.Values{"q": {"job:a b"}, "zone": {"Europe/Berlin"}, "after": {"x"}}}
	own := &Frame{Path: "jobs", Zone: berlin, Query: asked.Query}
	for _, c := range []struct{ got, want string }{
		{asked.Href("queues"), "./queues?zone=Europe%2FBerlin"},
		{own.Href("queues"), "./queues"},
		{own.Href("jobs", "q", "a&b", "state", ""), "./jobs?q=a%26b"},
		{asked.Here("after", "", "sort", "name"), "./jobs?q=job%3Aa+b&sort=name&zone=Europe%2FBerlin"},
		{own.Here(), "./jobs?after=x&q=job%3Aa+b"},
		{own.Href(""), "./"},
		{own.Action(Path("schedules", "new"), "pause"), "./schedules/~new/pause"},
		{own.Action("", "preview"), "./preview"},
	} {
		if c.got != c.want {
			t.Errorf("the link is %s, want %s", c.got, c.want)
		}
	}
	if kept := asked.Kept("after"); len(kept) != 1 || kept[0] != (Pair{"q", "job:a b"}) {
		t.Errorf("the zone's form keeps %v, want the query without zone and after", kept)
	}
}

func TestThePageOneIsOnIsMarkedInTheRail(t *testing.T) {
	for path, want := range map[string]string{"": "Overview", "schedules/report/edit": "Schedules", "jobs/q/1": "Jobs", "search": ""} {
		var active []string
		for _, item := range (&Frame{Path: path}).Nav() {
			if item.Active {
				active = append(active, item.Name)
			}
		}
		if got := strings.Join(active, " "); got != want {
			t.Errorf("on %q %q is marked, want %q", path, got, want)
		}
	}
}

func TestAPageEscapesWhatItIsGiven(t *testing.T) {
	const hostile = `"></title><script>alert(1)</script>`
	frame := &Frame{Path: `x"><script>`, Query: url.Values{hostile: {hostile}}, Title: hostile, Site: hostile, Namespace: hostile, Viewer: hostile,
		Search: hostile, Events: hostile, Flash: hostile, Stale: hostile, Banners: []Banner{{hostile, hostile, hostile, hostile, hostile, hostile}}, Now: time.Now()}
	var page bytes.Buffer
	if err := Page(&page, "error", frame, Failure{404, hostile, hostile, []Lead{{hostile, hostile, hostile, hostile}}}); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); strings.Contains(text, "<script>alert") || strings.Contains(text, "</title><") {
		t.Errorf("the page has a text that is not escaped:\n%s", text)
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
