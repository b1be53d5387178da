// Package dashboard serves web pages that show jobs, queues and schedules, and on which users can repair failures. Mount its http.Handler in a
// program:
//
//	mux.Handle("/chime/", dashboard.New(store, dashboard.Options{Prefix: "/chime"}))
//
// With these options it is read-only, serves only requests that seem to come from its own machine, and shows no arguments, results, headers, errors
// and notes: everybody who can reach a proxy on this machine may see it. Options.Authorize decides who sees what and who may do what; Options.Write
// allows changes. Mount it behind the application's own login:
//
//	dashboard.New(store, dashboard.Options{
//		Prefix: "/chime",
//		Write:  true,
//		Authorize: func(r *http.Request) (dashboard.Viewer, error) {
//			user, err := session.User(r)
//			if err != nil {
//				return dashboard.Viewer{}, err
//			}
//			return dashboard.Viewer{Name: user.Name, Rights: dashboard.View | dashboard.Operate}, nil
//		},
//	})
//
// Pages work without JavaScript; with JavaScript, open pages are updated automatically. The load on Redis is small for any number of jobs:
// docs/dashboard.md has figures. While no page is open, nothing is read.
package dashboard

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/change"
	"github.com/chimejobs/chime/dashboard/internal/guard"
	"github.com/chimejobs/chime/dashboard/internal/live"
	"github.com/chimejobs/chime/dashboard/internal/pages"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/guardlog"
)

const (
	pollEvery  = 2 * time.Second
	pollLinger = 10 * time.Second
	perSecond  = 20 // requests of one viewer
)

// A Dashboard is the handler that New returns. It is safe for concurrent use.
type Dashboard struct {
	options Options
	site    *pages.Site
	routes  []route
	pages   map[string]page // by the path of their route
	changer *change.Changer
	shared  shared
	said    said
	hub     *live.Hub[topic]
	rate    *guard.Rate
	foreign *http.CrossOriginProtection
}

// New returns the dashboard of a store. It does no I/O. It panics if the options are invalid: that is a mistake in the program, like an invalid route
// pattern.
func New(store chime.Store, options Options) *Dashboard {
	switch {
	case store == nil:
		panic("dashboard: the store is nil")
	case options.Prefix != "" && (!strings.HasPrefix(options.Prefix, "/") || strings.HasSuffix(options.Prefix, "/")):
		panic("dashboard: Options.Prefix is " + options.Prefix + ", want it to begin with a slash and to end without one")
	case options.Authorize == nil && options.Write:
		panic("dashboard: Options.Write is set without Options.Authorize, so every client of a proxy on this machine could change everything: " +
			"want a function that returns who sends a request, or on a machine that only you use the line Authorize: dashboard.Loopback")
	case options.Zone == time.Local:
		panic("dashboard: Options.Zone is time.Local, whose name no browser knows: want a zone from time.LoadLocation")
	}
	options.checkPlace()
	if options.Title == "" {
		options.Title = "chime"
	}
	if options.Zone == nil {
		options.Zone = time.UTC
	}
	bare := options.Authorize == nil
	if bare {
		options.Authorize = bareLoopback
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	options.Logger = guardlog.New(options.Logger)
	panics := &panicLog{log: options.Logger}
	options.guard(panics.recovered)
	d := &Dashboard{
		options: options, site: pages.NewSite(store, options.hooks(bare, panics.recovered)), rate: guard.NewRate(perSecond), foreign: http.NewCrossOriginProtection(),
		shared: shared{pages: map[topic]*reading{}},
		said:   said{sentences: map[string]sentence{}},
	}
	d.changer = change.New(store, d.site.Group, d.site.ShownError(), d.site.Arguments, d.selectSchedules)
	d.hub = live.NewHub(source{d}, live.Options{Every: pollEvery, Linger: pollLinger, Version: render.Version()})
	d.pages = d.shownPages()
	d.routes = d.allRoutes()
	return d
}

// Close ends the streams of open pages, so that http.Server.Shutdown does not wait for them. It also ends changes of many jobs after their current
// step. Register it with http.Server.RegisterOnShutdown. After Close, pages are still served.
func (d *Dashboard) Close() {
	d.hub.Close()
	d.changer.Close()
	d.site.Close()
}

// A call is one request.
type call struct {
	d      *Dashboard
	w      http.ResponseWriter
	r      *http.Request
	path   string // escaped, relative to where the dashboard is mounted, without the first slash
	viewer Viewer
	values map[string]string
	zone   *time.Location
}

// ServeHTTP serves a page, an asset or the events of an open page, or does the action of a form.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard.SetHeaders(w.Header())
	c := &call{d: d, w: w, r: r, zone: d.options.Zone}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), d.options.Prefix+"/")
	if !ok {
		c.path = strings.TrimPrefix(r.URL.EscapedPath(), "/")
		c.fail(http.StatusNotFound, "The dashboard is not at this address: it serves addresses below "+d.options.Prefix+"/.")
		return
	}
	c.path = path
	if render.ServeAsset(w, r, path) { // before any right is checked: the page that denies one has styles too
		return
	}
	if c.admitted() {
		c.route()
	}
}

// admitted reports whether the request may be served at all; if not, it has sent the response.
func (c *call) admitted() bool {
	if err := c.d.foreign.Check(c.r); err != nil {
		c.d.denied(c, err.Error())
		c.fail(http.StatusForbidden, "This form was sent by a page of another site.")
		return false
	}
	viewer, err := c.d.options.Authorize(c.r)
	c.viewer = viewer
	if err == nil && viewer.Rights&View == 0 {
		err = errors.New("the viewer does not have the right to see it")
	}
	if err != nil {
		c.d.denied(c, err.Error())
		c.viewer = Viewer{}
		c.fail(http.StatusForbidden, why(err))
		return false
	}
	if wait := c.d.rate.Take(c.name(), time.Now()); wait > 0 {
		c.w.Header().Set("Retry-After", "1")
		c.fail(http.StatusTooManyRequests, "You sent more than 20 requests in one second. Wait a second.")
		return false
	}
	return true
}

// name returns the key under which a viewer's requests are counted.
func (c *call) name() string {
	if c.viewer.Name != "" {
		return "viewer " + c.viewer.Name
	}
	host, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		host = c.r.RemoteAddr
	}
	return "address " + host
}

// route finds the route of the path, and serves it if the viewer has the right.
func (c *call) route() {
	found, values, methods := find(c.d.routes, c.r.Method, c.path)
	switch {
	case len(methods) == 0:
		c.fail(http.StatusNotFound, "There is no page at this address.", render.Lead{Text: "To the schedules", Path: "schedules"})
		return
	case found == nil:
		c.w.Header().Set("Allow", strings.Replace(strings.Join(methods, ", "), "GET", "GET, HEAD", 1))
		c.fail(http.StatusMethodNotAllowed, "This address accepts only "+strings.Join(methods, " and ")+".")
		return
	}
	if why := guard.TooLong(c.r, found.body); why != "" {
		c.fail(http.StatusBadRequest, "This request is too long: "+why+".")
		return
	}
	if why := c.d.refuses(c.viewer, found.right); why != "" {
		c.d.denied(c, why)
		c.fail(http.StatusForbidden, why)
		return
	}
	if why := c.unknownParameter(); why != "" {
		c.fail(http.StatusBadRequest, why)
		return
	}
	zone, err := c.d.zoneOf(c.r.URL.Query())
	if err != nil {
		c.fail(http.StatusBadRequest, err.Error())
		return
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, found.body)
	c.values, c.zone = values, zone
	found.serve(c)
}

// refuses returns the reason why a viewer may not use a right, or "" if they may.
func (d *Dashboard) refuses(viewer Viewer, right Rights) string {
	switch {
	case right&writing != 0 && !d.options.Write:
		return "This dashboard is read-only. To allow changes, start it with --write, or set Write in its Options."
	case viewer.Rights&right != right:
		return "This needs the right to " + right.String() + ", which you do not have. Your rights: " + viewer.Rights.String() + "."
	}
	return ""
}

// can returns the actions for which a viewer's pages have buttons.
func (d *Dashboard) can(viewer Viewer) Rights {
	rights := viewer.Rights & allRights
	if !d.options.Write {
		rights &^= writing
	}
	return rights
}
