package render

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Frame is what is around a page, and how its times and links are shown.
type Frame struct {
	Path      string     // of the page: escaped, relative to where the dashboard is mounted, without a first slash; "" is the overview
	Query     url.Values // of the page
	Title     string     // of the page
	Site      string     // whose dashboard it is; "" is chime
	Namespace string
	Zone      *time.Location // that times are shown in; nil is UTC
	ZoneFixed bool           // the viewer has asked for Zone: links keep it, and the browser does not show times in its own
	Posted    bool           // it answers a form: its address shows nothing, so no other zone is offered for it
	Now       time.Time      // by the store's clock
	Viewer    string         // "" has no name
	ReadOnly  bool
	Counts    map[string]int // beside the names of pages in the rail, by the first segment of their paths
	Search    string         // what stands in the field
	Events    string         // the relative URL of the page's stream; "" has none
	Banners   []Banner
	Flash     string // what an action has done
	Stale     string // why the figures are old; "" are not
	OwnZone   string // that what the page is about has, which the switch proposes besides; "" is none
	Script    string // that this page alone has; "" is none
}

// A Banner says what is wrong with the whole, on every page.
type Banner struct {
	Kind     string // fail or late
	Text     string
	Path     string // of the page where more is to be seen; "" is nowhere
	Name, Is string // of its query; "" has none
	Do       string // what the link says
}

// A Nav is a page in the rail.
type Nav struct {
	Path, Name, Icon string
	Key              string // that opens it, after g
	Active           bool
	Count            int // 0 is not shown
}

var rail = []Nav{
	{Path: "", Name: "Overview", Icon: "layout-dashboard", Key: "o"},
	{Path: "schedules", Name: "Schedules", Icon: "calendar-clock", Key: "s"},
	{Path: "calendar", Name: "Calendar", Icon: "calendar-days", Key: "c"},
	{Path: "queues", Name: "Queues", Icon: "layers", Key: "q"},
	{Path: "jobs", Name: "Jobs", Icon: "list-checks", Key: "j"},
	{Path: "failures", Name: "Failures", Icon: "triangle-alert", Key: "f"},
	{Path: "workers", Name: "Workers", Icon: "cpu", Key: "w"},
}

// Nav is the rail.
func (f *Frame) Nav() []Nav {
	first, _, _ := strings.Cut(f.Path, "/")
	items := make([]Nav, len(rail))
	for i, item := range rail {
		item.Active, item.Count = item.Path == first, f.Counts[item.Path]
		items[i] = item
	}
	return items
}

// Base is the way from the page back to where the dashboard is mounted, which all links begin at.
func (f *Frame) Base() string {
	if depth := strings.Count(f.Path, "/"); depth > 0 {
		return strings.Repeat("../", depth)
	}
	return "./"
}

// ZoneName is the IANA name of the zone that times are shown in.
func (f *Frame) ZoneName() string { return f.zone().String() }

func (f *Frame) zone() *time.Location {
	if f.Zone == nil {
		return time.UTC
	}
	return f.Zone
}

// Href is a link to a page: its path, then names and values of its query. Empty values are left out, and a zone that was asked for is kept.
func (f *Frame) Href(path string, pairs ...string) string {
	return f.link(path, url.Values{}, pairs)
}

// List is a link to a list whose address has a query, with some values of it changed.
func (f *Frame) List(path, query string, pairs ...string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	return f.link(path, values, pairs)
}

// Listed is the query of the address of a list, for what leads back to it: without the zone, what was said, and the place in the list.
func (f *Frame) Listed() string {
	query := maps.Clone(f.Query)
	for _, name := range []string{"zone", "said", "after", "from"} {
		query.Del(name)
	}
	return query.Encode()
}

// Here is a link to the page itself with some values of its query changed, or left out if empty.
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
	link := "./" + path // so that a path that begins with a slash or a scheme stays below the mount
	if encoded := query.Encode(); encoded != "" {
		link += "?" + encoded
	}
	return link
}

// Action is where a form of the page goes: its path, then the verb. The page's zone is kept, so that the answer can return to it.
func (f *Frame) Action(path, verb string) string {
	return f.Href(strings.TrimPrefix(path+"/"+verb, "/"))
}

// A Pair is a name and a value of a query.
type Pair struct{ Name, Value string }

// Kept is the query of the page without some names and without the zone, for the hidden fields of a form that changes those.
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

// SiteName is whose dashboard it is.
func (f *Frame) SiteName() string { return cmp.Or(f.Site, "chime") }

// Version names the assets of this page.
func (f *Frame) Version() string { return version }

// Zones are those that the switch proposes: UTC, the page's, that of what it is about, and some of every continent. Any other can be typed.
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
