package dashboard

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/pages"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/loopback"
	"github.com/chimejobs/chime/internal/rights"
)

// show answers with a page.
func (d *Dashboard) show(shown page) func(*call) {
	return func(c *call) {
		t := c.topicOf(c.path, c.r.URL.Query())
		view, err := d.read(c.r.Context(), shown, t, false) // which asks the store for nothing if the query is wrong
		if err == nil {
			_, err = d.site.Standing(c.r.Context()) // for the frame of a page that reads nothing
		}
		if err != nil {
			c.failFor(err)
			return
		}
		frame := c.frame(view.Title)
		if of, ok := view.Model.(interface{ ZoneName() string }); ok {
			frame.OwnZone = of.ZoneName()
		}
		if len(shown.regions) > 0 {
			frame.Events = frame.Href("events", "page", t.address())
		}
		c.render(http.StatusOK, shown.name, frame, view.Model)
	}
}

// render answers with a page.
func (c *call) render(status int, name string, frame *render.Frame, model any) {
	var text bytes.Buffer
	c.send(status, &text, render.Page(&text, name, frame, model))
}

// send answers with what was rendered. Nothing is sent of what could not be.
func (c *call) send(status int, text *bytes.Buffer, err error) {
	if err != nil {
		c.d.options.Logger.ErrorContext(c.r.Context(), "dashboard: rendering a page", "event", "dashboard.failed", "path", cut(c.path), "error", err)
		http.Error(c.w, "This page could not be rendered; the log says why.", http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.Header().Set("Vary", "Accept-Encoding")
	if text.Len() >= zipFrom && c.r.Method != http.MethodPost && render.AcceptsGzip(c.r) { // what is revealed is answered to a POST: it stays as it is
		text = zipped(text)
		c.w.Header().Set("Content-Encoding", "gzip")
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	c.w.WriteHeader(status)
	_, _ = text.WriteTo(c.w) // a viewer who has gone needs nothing
}

// zipFrom is how many bytes of a page are compressed: some lists of 200 rows are hundreds of kilobytes, and a tenth of that compressed.
const zipFrom = 16 << 10

var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

func zipped(text *bytes.Buffer) *bytes.Buffer {
	var small bytes.Buffer
	w := zippers.Get().(*gzip.Writer)
	defer zippers.Put(w)
	w.Reset(&small)
	_, _ = text.WriteTo(w) // a buffer takes all
	_ = w.Close()
	return &small
}

// renderPart answers with a template that a script shows on the page that is there.
func (c *call) renderPart(name string, frame *render.Frame, model any) {
	var text bytes.Buffer
	c.send(http.StatusOK, &text, render.Part(&text, name, frame, model))
}

// fail answers with a page that says what is wrong, and where to look instead.
func (c *call) fail(status int, text string, links ...render.Lead) {
	failure := render.Failure{Status: status, Text: text, Do: remedies[status], Links: links}
	if len(links) > 0 {
		failure.Do = "" // they say it
	}
	c.render(status, "error", c.frame(http.StatusText(status)), failure)
}

// remedies say what to do next.
var remedies = map[int]string{
	http.StatusNotFound:           "It may have ended, or been deleted: look for it in the lists.",
	http.StatusConflict:           "Look at what is there now, and do it again if it is still right.",
	http.StatusServiceUnavailable: "Jobs and schedules are safe in Redis. This page can be loaded again as soon as it answers.",
}

// errBroken is a panic while a page was read or made, in this package or in a hook of the application's.
var errBroken = errors.New("panic")

// failFor answers for an error of reading or changing something.
func (c *call) failFor(err error) {
	status := http.StatusServiceUnavailable
	var query *pages.QueryError
	var invalid *chime.InvalidError
	var conflict *chime.ConflictError
	switch {
	case errors.As(err, &query), errors.As(err, &invalid):
		status = http.StatusBadRequest
	case errors.Is(err, chime.ErrNotFound):
		status = http.StatusNotFound
	case errors.As(err, &conflict), errors.Is(err, chime.ErrConflict):
		status = http.StatusConflict
	case rights.Missing(err):
		status = http.StatusForbidden
	case errors.Is(err, errBroken):
		status = http.StatusInternalServerError
		c.d.options.Logger.ErrorContext(c.r.Context(), "dashboard: a page could not be made", "event", "dashboard.failed", "path", cut(c.path), "error", err)
	}
	if status == http.StatusServiceUnavailable {
		c.d.options.Logger.WarnContext(c.r.Context(), "dashboard: the store did not answer", "event", "dashboard.failed", "path", cut(c.path), "error", err)
		c.w.Header().Set("Retry-After", "2")
	}
	var missing *pages.MissingError
	if errors.As(err, &missing) {
		c.fail(status, told(err), missing.Links...)
		return
	}
	c.fail(status, told(err))
}

// told is an error as viewers are told it: without the addresses of machines that a network error has.
func told(err error) string {
	var query *pages.QueryError
	var missing *pages.MissingError
	var invalid *chime.InvalidError
	switch {
	case errors.As(err, &query):
		return query.Error()
	case errors.As(err, &missing):
		return missing.Error()
	case errors.As(err, &invalid):
		return invalid.Error()
	case errors.Is(err, chime.ErrNotFound):
		return "There is no such schedule, job, queue or worker"
	case errors.Is(err, chime.ErrConflict):
		return strings.TrimPrefix(err.Error(), "chime: ")
	case errors.Is(err, context.Canceled):
		return "This server stops"
	case errors.Is(err, chime.ErrUnfit):
		return "Redis is not fit for chime; the log of this server says why"
	case errors.Is(err, errBroken):
		return "This page could not be made. The log of this server says why"
	case rights.Missing(err):
		return "The user of Redis that this dashboard has may not read or do this"
	}
	return "No answer from Redis"
}

// why is what a request is told that was not authorized. What an application's own Authorize says is for the log alone.
func (c *call) why() string {
	elsewhere := loopback.Elsewhere(c.r)
	if !c.d.open || elsewhere == "" {
		return "You may not see this dashboard."
	}
	return "This dashboard serves its own machine only, and " + elsewhere +
		". To serve others, give dashboard.Options an Authorize that says who they are and what they may do."
}

// frame is what is around the page of a call.
func (c *call) frame(title string) *render.Frame {
	query := c.r.URL.Query()
	f := c.d.frame(c.path, query, c.zone)
	f.Title, f.ZoneFixed, f.Viewer, f.Posted = title, query.Get("zone") != "", c.viewer.Name, c.r.Method == http.MethodPost
	if c.path == "search" { // elsewhere q is the filter of a list
		f.Search = query.Get("q")
	}
	f.Flash = c.d.said.get(query.Get("said"))
	if c.viewer.Rights&View == 0 {
		f.Namespace, f.Counts, f.Banners = "", nil, nil // who may not see the dashboard is told nothing of it
	}
	return f
}

// frame is what is around a page, whoever looks. How the store is comes from the last reading.
func (d *Dashboard) frame(path string, query url.Values, zone *time.Location) *render.Frame {
	kept := maps.Clone(query)
	kept.Del("said")
	kept.Del("own")
	f := &render.Frame{
		Path: path, Query: kept, Site: d.options.Title, Namespace: d.site.Namespace(), Zone: zone, ReadOnly: !d.options.Write, Now: d.site.Now(),
	}
	if standing := d.site.Last(); standing != nil {
		f.Counts = standing.Counts()
		if path != "" {
			f.Banners = standing.Banners()
		}
	}
	return f
}
