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
	"github.com/chimejobs/chime/internal/rights"
)

// show sends a page.
func (d *Dashboard) show(shown page) func(*call) {
	return func(c *call) {
		t := c.topicOf(c.path, c.r.URL.Query())
		if shown.name == "editor" {
			about, names := c.about(actPut)
			if err := d.check(c.r.Context(), about, names); err != nil {
				c.failFor(err)
				return
			}
		}
		view, err := d.read(c.r.Context(), shown, t, false) // this reads nothing from the store if the query is wrong
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

// render sends a page.
func (c *call) render(status int, name string, frame *render.Frame, model any) {
	var text bytes.Buffer
	c.send(status, &text, render.Page(&text, name, frame, model))
}

// send sends a rendered page. If rendering failed, it sends no part of the page.
func (c *call) send(status int, text *bytes.Buffer, err error) {
	if err != nil {
		c.d.options.Logger.ErrorContext(c.r.Context(), "dashboard: rendering a page", "event", "dashboard.failed", "path", cut(c.path), "error", err)
		http.Error(c.w, "This page could not be rendered. See the server log for the reason.", http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.Header().Set("Vary", "Accept-Encoding")
	if text.Len() >= zipFrom && c.r.Method != http.MethodPost && render.AcceptsGzip(c.r) { // a revealed payload is the response to a POST and is not compressed
		text = zipped(text)
		c.w.Header().Set("Content-Encoding", "gzip")
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	c.w.WriteHeader(status)
	_, _ = text.WriteTo(c.w) // ignored: the viewer may have gone
}

// zipFrom is the size in bytes from which a page is compressed. Some lists of 200 rows have hundreds of kilobytes, and a tenth of that compressed.
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
	_, _ = text.WriteTo(w) // writing to a buffer does not fail
	_ = w.Close()
	return &small
}

// renderPart sends a template that a script shows on the current page.
func (c *call) renderPart(name string, frame *render.Frame, model any) {
	var text bytes.Buffer
	c.send(http.StatusOK, &text, render.Part(&text, name, frame, model))
}

// fail sends a page that shows what is wrong and links to other pages.
func (c *call) fail(status int, text string, links ...render.Lead) {
	failure := render.Failure{Status: status, Text: text, Do: remedies[status], Links: links}
	if len(links) > 0 {
		failure.Do = "" // the links replace it
	}
	frame := c.frame(http.StatusText(status))
	if status == http.StatusServiceUnavailable && c.r.Method == http.MethodGet {
		frame.Again = loadAgain
	}
	c.render(status, "error", frame, failure)
}

// loadAgain is the number of seconds after which a page is loaded again for which Redis did not answer.
const loadAgain = 5

// remedies describe what to do next.
var remedies = map[int]string{
	http.StatusNotFound:           "It may have ended or been deleted. Search for it in the lists.",
	http.StatusConflict:           "Check the current state, and repeat the action if it is still right.",
	http.StatusServiceUnavailable: "Jobs and schedules are safe in Redis. This page is loaded again every five seconds.",
}

// errBroken marks a panic while a page was read or rendered, in this package or in one of the application's hooks.
var errBroken = errors.New("panic")

// failFor sends the page for an error that occurred while something was read or changed.
func (c *call) failFor(err error) {
	status := http.StatusServiceUnavailable
	var query *pages.QueryError
	var invalid *chime.InvalidError
	var conflict *chime.ConflictError
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		c.fail(refusal.Status, strings.TrimSuffix(refusal.Text, ".")+".")
		return
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
		c.d.options.Logger.ErrorContext(c.r.Context(), "dashboard: a page could not be created", "event", "dashboard.failed", "path", cut(c.path), "error", err)
	}
	if status == http.StatusServiceUnavailable {
		c.d.options.Logger.WarnContext(c.r.Context(), "dashboard: the store did not answer", "event", "dashboard.failed", "path", cut(c.path), "error", err)
		c.w.Header().Set("Retry-After", "2")
	}
	var missing *pages.MissingError
	if errors.As(err, &missing) {
		c.fail(status, publicText(err), missing.Links...)
		return
	}
	c.fail(status, publicText(err))
}

// publicText returns the text of an error that viewers may see. It leaves out the addresses of machines that a network error contains.
func publicText(err error) string {
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
		return "There is no such schedule, job, batch, queue or worker"
	case errors.Is(err, chime.ErrConflict):
		return strings.TrimPrefix(err.Error(), "chime: ")
	case errors.Is(err, context.Canceled):
		return "This server is stopping"
	case errors.Is(err, chime.ErrUnfit):
		return "Redis does not meet the requirements of chime. See the server log for the reason"
	case errors.Is(err, errBroken):
		return "This page could not be created. See the server log for the reason"
	case rights.Missing(err):
		return "The Redis user of this dashboard does not have the permission for this"
	}
	return "No answer from Redis"
}

// why returns the text for a request that was not authorized. The error of an application's own Authorize is only logged.
func why(err error) string {
	var elsewhere elsewhereError
	if !errors.As(err, &elsewhere) {
		return "You may not see this dashboard."
	}
	return "This dashboard serves only its own machine, and " + string(elsewhere) +
		". To serve others, set Authorize in dashboard.Options: it returns who they are and what they may do."
}

// frame returns the frame around the page of a call.
func (c *call) frame(title string) *render.Frame {
	query := c.r.URL.Query()
	f := c.d.frame(c.path, query, c.zone)
	f.Title, f.ZoneFixed, f.Viewer, f.Posted = title, query.Get("zone") != "", c.viewer.Name, c.r.Method == http.MethodPost
	if c.path == "search" { // elsewhere q is the filter of a list
		f.Search = query.Get("q")
	}
	f.Flash = c.d.said.get(query.Get("said"))
	if c.viewer.Rights&View == 0 {
		f.Namespace, f.Counts, f.Banners = "", nil, nil // a viewer without the right to see the dashboard gets no data
	}
	return f
}

// frame returns the frame around a page for any viewer. The store's state comes from the last reading.
func (d *Dashboard) frame(path string, query url.Values, zone *time.Location) *render.Frame {
	kept := maps.Clone(query)
	kept.Del("said")
	kept.Del("own")
	f := &render.Frame{
		Path: path, Query: kept, Site: d.options.Title, Namespace: d.site.Namespace(), Zone: zone, ReadOnly: !d.options.Write, Now: d.site.Now(),
	}
	d.options.place(f)
	if standing := d.site.Last(); standing != nil {
		f.Counts = standing.Counts()
		if path != "" {
			f.Banners = standing.Banners()
		}
	}
	return f
}
