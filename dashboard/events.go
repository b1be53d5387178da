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

// topicOf returns the topic of a page. Viewers who see the same page have the same topic.
func (c *call) topicOf(path string, query url.Values) topic {
	kept := url.Values{}
	for key, values := range query {
		if key != "zone" && key != "own" && key != "said" {
			kept[key] = values
		}
	}
	return topic{path: path, query: kept.Encode(), zone: c.zone.String(), rights: c.d.can(c.viewer), fixed: c.r.URL.Query().Get("zone") != ""}
}

// address is the address of the page, relative to where the dashboard is mounted.
func (t topic) address() string {
	if t.query == "" {
		return t.path
	}
	return t.path + "?" + t.query
}

// events sends the changes of a page while it is open.
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
	// A viewer who has logged out or lost a right receives no more than this. The browser opens the next stream by itself.
	ctx, cancel := context.WithTimeout(c.r.Context(), maxStream)
	defer cancel()
	most := maxNamedStreams
	if c.viewer.Name == "" {
		most = maxStreamsOfAddress
	}
	c.d.hub.Serve(c.w, c.r.WithContext(ctx), c.topicOf(path, query), c.name(), most)
}

// The maximum number of streams of one viewer, so that nobody takes those of the others.
const (
	maxNamedStreams     = 20  // of one name
	maxStreamsOfAddress = 100 // of one address whose viewers have no name, and may be many people behind one proxy
)

// maxStream is the duration of a stream. After it the viewer has to be authorized again.
const maxStream = 10 * time.Minute

// A source provides the data that the hub's poller reads.
type source struct{ d *Dashboard }

// Beat reads the state of the store.
func (s source) Beat(ctx context.Context) (beat live.Beat, err error) {
	defer s.recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	standing, err := s.d.site.Read(ctx)
	if err != nil {
		s.d.options.Logger.Debug("dashboard: reading the store", "event", "dashboard.failed", "error", err)
		return live.Beat{}, errors.New(publicText(err))
	}
	return live.Beat{Now: standing.Now(), Frame: map[string]any{"counts": standing.Counts()}}, nil
}

// Regions renders the live regions of a page.
func (s source) Regions(ctx context.Context, t topic) (regions []live.Region, err error) {
	defer s.recovered(&err)
	found, _, _ := find(s.d.routes, http.MethodGet, t.path)
	shown := s.d.pages[found.path]
	view, err := s.d.read(ctx, shown, t, true)
	if err != nil {
		return nil, errors.New(strings.TrimSuffix(publicText(err), "."))
	}
	zone, err := s.d.zone(t.zone)
	if err != nil {
		return nil, err
	}
	query, _ := url.ParseQuery(t.query) // no error: topicOf encoded it
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

// bannersRegion is a region of every open page. It shows the problems of the whole store.
const bannersRegion = "banners-live"

// read reads the data of a page, once for all requests within a second. live: no request needs it now, but some viewers have the page open.
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

// recovered turns a panic into an error, because a panic in the poller's goroutine would end the program.
func (s source) recovered(err *error) {
	if v := recover(); v != nil {
		s.d.options.Logger.Error("dashboard: an open page could not be updated", "event", "dashboard.failed", "error", v)
		*err = errors.New(publicText(errBroken))
	}
}
