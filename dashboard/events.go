package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/guard"
	"github.com/chimejobs/chime/dashboard/internal/live"
	"github.com/chimejobs/chime/dashboard/internal/pages"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// topicOf is what a page depends on. It is the same for all who see the same.
func (c *call) topicOf(path string, query url.Values) topic {
	kept := url.Values{}
	for key, values := range query {
		if key != "zone" && key != "own" && key != "said" {
			kept[key] = values
		}
	}
	return topic{path: path, query: kept.Encode(), zone: c.zone.String(), rights: c.d.can(c.viewer), fixed: c.r.URL.Query().Get("zone") != ""}
}

// address is that of the page, relative to where the dashboard is mounted.
func (t topic) address() string {
	if t.query == "" {
		return t.path
	}
	return t.path + "?" + t.query
}

// events sends what changes of an open page, for as long as it is open.
func (c *call) events() {
	address := c.r.URL.Query().Get("page")
	path, raw, _ := strings.Cut(address, "?")
	query, err := url.ParseQuery(raw)
	found, _, _ := find(c.d.routes, http.MethodGet, path)
	if err == nil && found != nil {
		if _, shown := c.d.pages[found.path]; !shown {
			found = nil
		}
	}
	if err != nil || found == nil || len(raw) > guard.MaxQuery || wrongQuery(raw, false) != "" {
		c.fail(http.StatusBadRequest, fmt.Sprintf("page is %.60q, want the address of a page of this dashboard.", address))
		return
	}
	if why := c.d.refuses(c.viewer, found.right); why != "" {
		c.d.denied(c, why)
		c.fail(http.StatusForbidden, why)
		return
	}
	if c.r.Method == http.MethodHead {
		c.w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	// Who has logged out, or has lost a right, gets no more than that: the browser asks for the next stream by itself.
	ctx, cancel := context.WithTimeout(c.r.Context(), maxStream)
	defer cancel()
	if !c.d.hub.Serve(c.w, c.r.WithContext(ctx), c.topicOf(path, query)) {
		c.w.Header().Set("Retry-After", "30")
		c.fail(http.StatusServiceUnavailable, "As many pages are open as may be, or the server is about to stop.")
	}
}

// maxStream is how long a stream lasts; then the viewer is asked for again.
const maxStream = 10 * time.Minute

// A source is what the hub's poller reads.
type source struct{ d *Dashboard }

// Beat reads how the store is.
func (s source) Beat(ctx context.Context) (beat live.Beat, err error) {
	defer s.recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	standing, err := s.d.site.Read(ctx)
	if err != nil {
		s.d.options.Logger.Debug("dashboard: reading the store", "event", "dashboard.failed", "error", err)
		return live.Beat{}, errors.New(told(err))
	}
	return live.Beat{Now: standing.Now(), Frame: map[string]any{"counts": standing.Counts()}}, nil
}

// Regions renders what changes of a page.
func (s source) Regions(ctx context.Context, t topic) (regions []live.Region, err error) {
	defer s.recovered(&err)
	found, _, _ := find(s.d.routes, http.MethodGet, t.path)
	shown := s.d.pages[found.path]
	view, err := s.d.read(ctx, shown, t, true)
	if err != nil {
		return nil, errors.New(strings.TrimSuffix(told(err), "."))
	}
	zone, err := s.d.zone(t.zone)
	if err != nil {
		return nil, err
	}
	query, _ := url.ParseQuery(t.query) // it was encoded here
	frame := s.d.frame(t.path, query, zone)
	frame.ZoneFixed = t.fixed
	for _, id := range shown.regions {
		html, hash, err := render.Region(shown.name, id, frame, view.Model)
		if err != nil {
			return nil, err
		}
		regions = append(regions, live.Region{ID: id, HTML: []byte(html), Hash: hash})
	}
	html, hash, err := render.Region("frame", bannersRegion, frame, nil)
	return append(regions, live.Region{ID: bannersRegion, HTML: []byte(html), Hash: hash}), err
}

// bannersRegion is what every open page has besides its own regions: what is wrong with the whole.
const bannersRegion = "banners-live"

// read reads what a page shows, once for all who ask within a second. live: nobody asks for it, some have it open.
func (d *Dashboard) read(ctx context.Context, shown page, t topic, live bool) (pages.View, error) {
	_, values, _ := find(d.routes, http.MethodGet, t.path)
	query, err := url.ParseQuery(t.query)
	if err != nil {
		return pages.View{}, err
	}
	zone, err := d.zone(t.zone)
	if err != nil {
		return pages.View{}, err
	}
	request := &pages.Request{Values: values, Query: query, Zone: zone, Live: live, Can: pages.Can{
		Operate: t.rights&Operate != 0, Edit: t.rights&Edit != 0, Delete: t.rights&Delete != 0, Reveal: t.rights&Reveal != 0,
	}}
	return d.shared.get(ctx, t, func(ctx context.Context) (pages.View, error) { return shown.load(ctx, request) })
}

// recovered turns a panic into an error: in the poller's goroutine none may end the program.
func (s source) recovered(err *error) {
	if v := recover(); v != nil {
		s.d.options.Logger.Error("dashboard: an open page could not be made", "event", "dashboard.failed", "error", v)
		*err = errors.New(told(errBroken))
	}
}
