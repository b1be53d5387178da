package render

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Frame has the parts around a page, and formats its times and links.
type Frame struct {
	Path      string     // of the page: escaped, relative to where the dashboard is mounted, without a first slash; "": the overview
	Query     url.Values // of the page
	Title     string     // of the page
	Site      string     // the application's name; "": chime
	Namespace string

	Environment string // the name of the system; "": none
	Color       string // of the environment; "": none
	Elsewhere   []Pair // other dashboards: a name and a URL

	Zone      *time.Location // the time zone of the page; nil: UTC
	ZoneFixed bool           // the viewer chose Zone: links keep it, and the browser does not use its own zone
	Posted    bool           // the page is the response to a form: its address has no page, so no other zone is offered
	Now       time.Time      // by the store's clock
	Viewer    string         // "": no name
	ReadOnly  bool
	Counts    map[string]int // the numbers in the rail, by the first segment of the pages' paths
	Search    string         // the text in the search field
	Events    string         // the relative URL of the page's stream; "": none
	Banners   []Banner
	Flash     string // the result of an action
	Stale     string // why the figures are old; "": they are current
	Again     int    // seconds until the page is loaded again; 0: never
	OwnZone   string // the zone of the page's subject, which the zone field also proposes; "": none
	Script    string // a script that only this page has; "": none
}

// A Banner shows a problem of the whole store on every page.
type Banner struct {
	Kind     string // fail or late
	Text     string
	Path     string // of the page with details; "": none
	Name, Is string // name and value of its query; "": none
	Do       string // the text of the link
}

// A Nav is a page in the rail.
type Nav struct {
	Path, Name, Icon string
	Key              string // opens it after g
	Active           bool
	Count            int // 0: not shown
}

var rail = []Nav{
	{Path: "", Name: "Overview", Icon: "layout-dashboard", Key: "o"},
	{Path: "problems", Name: "Problems", Icon: "hourglass", Key: "p"},
	{Path: "schedules", Name: "Schedules", Icon: "calendar-clock", Key: "s"},
	{Path: "calendar", Name: "Calendar", Icon: "calendar-days", Key: "c"},
	{Path: "queues", Name: "Queues", Icon: "layers", Key: "q"},
	{Path: "jobs", Name: "Jobs", Icon: "list-checks", Key: "j"},
	{Path: "find", Name: "Find", Icon: "search", Key: "i"},
	{Path: "batches", Name: "Batches", Icon: "boxes", Key: "b"},
	{Path: "failures", Name: "Failures", Icon: "triangle-alert", Key: "f"},
	{Path: "workers", Name: "Workers", Icon: "cpu", Key: "w"},
}

// Nav returns the pages of the rail.
func (f *Frame) Nav() []Nav {
	first, _, _ := strings.Cut(f.Path, "/")
	items := make([]Nav, len(rail))
	for i, item := range rail {
		item.Active, item.Count = item.Path == first, f.Counts[item.Path]
		items[i] = item
	}
	return items
}

// Base returns the relative path from the page to where the dashboard is mounted. All links are relative to it.
func (f *Frame) Base() string {
	if depth := strings.Count(f.Path, "/"); depth > 0 {
		return strings.Repeat("../", depth)
	}
	return "./"
}

// ZoneName returns the IANA name of the page's zone.
func (f *Frame) ZoneName() string { return f.zone().String() }

func (f *Frame) zone() *time.Location {
	if f.Zone == nil {
		return time.UTC
	}
	return f.Zone
}

// Href returns a link to a page, given its path and the names and values of its query. It leaves out empty values and keeps a chosen zone.
func (f *Frame) Href(path string, pairs ...string) string {
	return f.link(path, url.Values{}, pairs)
}

// List returns a link to a list whose address has a query, with some values changed.
func (f *Frame) List(path, query string, pairs ...string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	return f.link(path, values, pairs)
}

// Listed returns the query of a list's address for links back to it: without the zone, the result of an action, and the place in the list.
func (f *Frame) Listed() string {
	query := maps.Clone(f.Query)
	for _, name := range []string{"zone", "said", "after", "before", "from"} {
		query.Del(name)
	}
	return query.Encode()
}

// Share is Href for a link that other people get: it always has the page's zone.
func (f *Frame) Share(path string, pairs ...string) string {
	return f.Href(path, append(pairs, "zone", f.ZoneName())...)
}

// Here returns a link to the page itself with some values of its query changed. It leaves out empty values.
func (f *Frame) Here(pairs ...string) string {
	query := url.Values{}
	for name, values := range f.Query {
		query[name] = values
	}
	return f.link(f.Path, query, pairs)
}

func (f *Frame) link(path string, query url.Values, pairs []string) string {
	query.Del("zone")
	if f.ZoneFixed {
		query.Set("zone", f.ZoneName())
	}
	for ; len(pairs) >= 2; pairs = pairs[2:] {
		query.Del(pairs[0])
		if pairs[1] != "" {
			query.Set(pairs[0], pairs[1])
		}
	}
	link := "./" + path // so that a path with a leading slash or a scheme does not leave the mount
	if encoded := query.Encode(); encoded != "" {
		link += "?" + encoded
	}
	return link
}

// Action returns the address of a form of the page: its path, then the verb. It keeps the page's zone for the redirect back.
func (f *Frame) Action(path, verb string) string {
	return f.Href(strings.TrimPrefix(path+"/"+verb, "/"))
}

// A Pair is a name and a value of a query.
type Pair struct{ Name, Value string }

// Kept returns the query of the page without some names and without the zone, for the hidden fields of a form that changes these.
func (f *Frame) Kept(without ...string) []Pair {
	query := url.Values{}
	for name, values := range f.Query {
		query[name] = values
	}
	query.Del("zone")
	for _, name := range without {
		query.Del(name)
	}
	var pairs []Pair
	for _, name := range sortedKeys(query) {
		for _, value := range query[name] {
			pairs = append(pairs, Pair{name, value})
		}
	}
	return pairs
}

// SiteName returns the application's name.
func (f *Frame) SiteName() string { return cmp.Or(f.Site, "chime") }

// Version returns the version of the page's assets.
func (f *Frame) Version() string { return version }

// Zones returns the zones that the zone field proposes: UTC, the page's zone, the zone of its subject, and some of every continent. Any other zone can
// be typed.
func (f *Frame) Zones() []string {
	zones := []string{
		"UTC", "America/Los_Angeles", "America/Chicago", "America/New_York", "America/Sao_Paulo", "Europe/London", "Europe/Berlin", "Africa/Lagos",
		"Africa/Nairobi", "Asia/Dubai", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
	}
	for _, name := range []string{f.OwnZone, f.ZoneName()} {
		if name != "" && !slices.Contains(zones, name) {
			zones = append([]string{name}, zones...)
		}
	}
	return zones
}
