package crawl_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/dashboard/internal/visit"
)

// A mount is a dashboard below a path.
type mount struct {
	name    string
	outside string // the path that browsers see
	cut     string // the part that a proxy or http.StripPrefix removes
}

// mounts are different mounts of a dashboard in an application.
var mounts = []mount{
	{"at the root", "", ""},
	{"below a path", "/chime", ""},
	{"below two", "/internal/chime", ""},
	{"below a path that is stripped", "/chime", "/chime"},
	{"below two that are stripped", "/internal/chime", "/internal/chime"},
	{"below two, one of which is stripped", "/internal/chime", "/internal"},
}

// prefix returns Options.Prefix of a mount.
func (m mount) prefix() string { return strings.TrimPrefix(m.outside, m.cut) }

// handler returns an application that mounts a dashboard.
func (m mount) handler(d *dashboard.Dashboard) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(m.outside+"/", http.StripPrefix(m.cut, d))
	return mux
}

// A crawler visits pages like a browser that follows every link.
type crawler struct {
	t       *testing.T
	site    http.Handler
	outside string
	pages   map[string]*httptest.ResponseRecorder // by address, relative to where the dashboard is mounted
	posts   map[string]bool                       // the addresses of forms that are POSTed, without a query
	streams map[string]bool                       // the addresses of the streams of pages

	elsewhere string // scheme and host of the application's own links
}

// newCrawler returns a crawler that has not visited any page.
func newCrawler(t *testing.T, site http.Handler, outside string) *crawler {
	return &crawler{t: t, site: site, outside: outside, pages: map[string]*httptest.ResponseRecorder{}, posts: map[string]bool{}, streams: map[string]bool{}}
}

// crawl visits all pages that are linked, beginning with the overview.
func crawl(t *testing.T, site http.Handler, outside string) *crawler {
	t.Helper()
	c := newCrawler(t, site, outside)
	c.visit("")
	return c
}

// visit visits pages and follows their links. It does not follow links from one query to another, because there is an endless number of them.
func (c *crawler) visit(addresses ...string) {
	c.t.Helper()
	for len(addresses) > 0 {
		address := addresses[0]
		addresses = addresses[1:]
		if c.pages[address] != nil {
			continue
		}
		if len(c.pages) >= 3000 {
			c.t.Fatalf("after %d pages there are still others, such as %q", len(c.pages), address)
		}
		got := send(c.site, "GET", c.outside+"/"+address)
		c.pages[address] = got
		if got.Code != http.StatusOK {
			c.t.Errorf("%s/%s: got %d: %.300s", c.outside, address, got.Code, got.Body)
			continue
		}
		for _, link := range c.linksOf(address, got) {
			if !strings.Contains(address, "?") || !strings.Contains(link, "?") {
				addresses = append(addresses, link)
			}
		}
	}
}

// addressed are the attributes that contain an address.
var addressed = []string{"href", "src", "action", "formaction", "data-events"}

// linksOf returns the addresses of a page's links. It records the addresses of forms and streams.
func (c *crawler) linksOf(address string, got *httptest.ResponseRecorder) (links []string) {
	if !strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
		return nil
	}
	at, err := url.Parse("http://localhost" + c.outside + "/" + address)
	if err != nil {
		c.t.Fatal(err)
	}
	base := at
	method := "" // the method of the form around the tag
	ids := map[string]bool{}
	for _, tag := range c.tags(address, got.Body.String()) {
		if id, has := tag.values["id"]; has {
			if ids[id] {
				c.t.Errorf("%s: two elements have the ID %q, so an update of the page may change the wrong one", address, id)
			}
			ids[id] = true
		}
		if tag.name == "form" {
			method = tag.values["method"]
		}
		for _, name := range addressed {
			value, has := tag.values[name]
			if !has {
				continue
			}
			to, err := base.Parse(value)
			if err != nil {
				c.t.Errorf("%s: %s=%q is not an address: %v", address, name, value, err)
				continue
			}
			if tag.name == "base" {
				base = to
			}
			if tag.name == "a" && to.Scheme+"://"+to.Host == c.elsewhere {
				continue
			}
			inside, ok := strings.CutPrefix(to.EscapedPath(), c.outside+"/")
			if !ok || to.Host != "localhost" {
				c.t.Errorf("%s: the %s of a %s leads out of the dashboard: %q, which is %s", address, name, tag.name, value, to)
				continue
			}
			with := inside
			if to.RawQuery != "" {
				with += "?" + to.RawQuery
			}
			switch {
			case name == "data-events":
				c.streams[with] = true
			case tag.name == "button" || tag.name == "form" && method == "post":
				c.posts[inside] = true
			default:
				links = append(links, with)
			}
		}
	}
	return links
}

// A tag is the start of an element.
type tag struct {
	name   string
	values map[string]string // the values of its attributes
}

// elements are the elements of templates and charts, each with its allowed attributes in addition to ofAll. Everything except text has to be one of
// them, so data in Redis cannot create another element, or one with a handler, a style or an address.
var elements = map[string]string{
	"html": "lang", "head": "", "meta": "charset name content", "title": "", "base": "href", "link": "rel href type as crossorigin", "script": "src defer type", "body": "",
	"header": "", "nav": "", "main": "", "section": "", "figure": "", "figcaption": "", "h1": "", "h2": "", "h3": "", "p": "", "div": "", "span": "", "b": "", "ul": "", "ol": "", "li": "", "dl": "",
	"dt": "", "dd": "", "pre": "", "code": "", "del": "", "ins": "", "details": "open", "summary": "", "time": "datetime", "progress": "max value", "a": "href rel", "datalist": "",
	"form": "method action", "label": "for", "fieldset": "", "legend": "", "select": "name", "option": "value selected", "button": "type name value formaction formnovalidate autofocus",
	"textarea": "name rows spellcheck", "input": "type name value list placeholder size maxlength autocomplete spellcheck checked inputmode",
	"table": "", "caption": "", "thead": "", "tbody": "", "tr": "", "th": "scope", "td": "",
	"svg": "font-size viewBox width height x y preserveAspectRatio fill stroke stroke-width stroke-linecap stroke-linejoin xmlns", "g": "transform", "path": "d", "rect": "x y width height rx ry", "circle": "cx cy r",
	"line": "x1 y1 x2 y2", "polyline": "points", "polygon": "points", "text": "x y text-anchor dominant-baseline", "defs": "", "pattern": "patternUnits patternTransform width height x y", "desc": "", "use": "href", "tspan": "x dy",
}

// ofAll are the attributes that any element may have, in addition to aria- and data- attributes.
const ofAll = "id class title hidden tabindex role required autofocus"

var (
	attribute = regexp.MustCompile(`^\s+([A-Za-z0-9_:-]+)(?:="([^"<>]*)")?`)
	opening   = regexp.MustCompile(`^<([a-zA-Z0-9]+)`)
	closing   = regexp.MustCompile(`^</([a-zA-Z0-9]+)>`)
)

// tags parses a page strictly: each < begins a known element with known attributes, and all values are in quotes.
func (c *crawler) tags(address, page string) (tags []tag) {
	wrong := func(what, rest string) { c.t.Errorf("%s: no template writes %s in %.150q", address, what, rest) }
	for {
		at := strings.IndexByte(page, '<')
		if at < 0 {
			return tags
		}
		page = page[at:]
		if end := closing.FindString(page); end != "" {
			page = page[len(end):]
			continue
		}
		if strings.HasPrefix(page, "<!DOCTYPE html>") {
			page = page[1:]
			continue
		}
		begin := opening.FindStringSubmatch(page)
		if begin == nil {
			wrong("this", page)
			return tags
		}
		found, whole := tag{begin[1], map[string]string{}}, page
		allowed, known := elements[found.name]
		page = page[len(begin[0]):]
		for {
			part := attribute.FindStringSubmatch(page)
			if part == nil {
				break
			}
			name := part[1]
			common := strings.HasPrefix(name, "aria-") || strings.HasPrefix(name, "data-")
			if _, twice := found.values[name]; twice || !common && !slices.Contains(strings.Fields(allowed+" "+ofAll), name) {
				wrong("the attribute "+name, whole)
			}
			found.values[name] = html.UnescapeString(part[2])
			page = page[len(part[0]):]
		}
		page = strings.TrimPrefix(strings.TrimLeft(page, " \n"), "/")
		if !known || !strings.HasPrefix(page, ">") || found.name == "script" && !strings.HasPrefix(page, "></script>") {
			wrong("the element "+found.name+" so", whole)
		}
		tags = append(tags, found)
	}
}

// sees fails the test if a page of the dashboard was not visited. Pages are given by the path of their route.
func (c *crawler) sees(but ...string) {
	c.t.Helper()
	seen := map[string]bool{}
	routes := visit.Routes(c.t, "../testdata/routes.txt")
	for address := range c.pages {
		path, _, _ := strings.Cut(address, "?")
		if _, ok := routes["GET "+path]; ok {
			seen[path] = true
			continue
		}
		for route := range routes {
			if pattern, ok := strings.CutPrefix(route, "GET "); ok && fits(pattern, path) {
				seen[pattern] = true
			}
		}
	}
	for route := range routes {
		if path, ok := strings.CutPrefix(route, "GET "); ok && path != "events" && !seen[path] && !slices.Contains(but, path) {
			c.t.Errorf("no link leads to %q", path)
		}
	}
}

// fits reports whether a path matches a route, which has names in braces.
func fits(route, path string) bool {
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool { return want == got || strings.HasPrefix(want, "{") })
}

// listen opens all streams of the found pages, and returns the events of each until ctx ends.
func (c *crawler) listen(ctx context.Context) map[string]string {
	type answer struct{ address, text string }
	answers := make(chan answer)
	for address := range c.streams {
		go func() {
			r := httptest.NewRequestWithContext(ctx, "GET", c.outside+"/"+address, nil)
			r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
			w := httptest.NewRecorder()
			c.site.ServeHTTP(w, r)
			answers <- answer{address, w.Body.String()}
		}()
	}
	all := map[string]string{}
	for range c.streams {
		got := <-answers
		all[got.address] = got.text
	}
	return all
}
