package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// maxBody is the maximum size of a body in bytes. The body of several tasks may have four times that size.
func (o *Options) maxBody() int64 { return 2*int64(o.Limits.OrDefault().JobBytes) + 64<<10 }

// received reads the body, up to its maximum size.
func (c *call) received(endpoint) error {
	if !c.route.body {
		return nil
	}
	if err := c.checkContentType(); err != nil {
		return err
	}
	limit := c.api.options.maxBody()
	if c.route.large {
		limit *= 4
	}
	tooLarge := problem.New(problem.TooLarge, "the body has more than %d bytes, the maximum for a request", limit)
	if c.r.ContentLength > limit {
		c.w.Header().Set("Connection", "close")
		return tooLarge
	}
	var err error
	c.text, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge
	case err != nil:
		return mistake("syntax", "", "", "the body is incomplete: %s", cut(err.Error(), 100))
	case len(c.text) == 0:
		return mistake("syntax", "", "", "the body is empty: want a JSON object; {} means all defaults")
	}
	c.parts = parts(len(c.text), int(c.api.options.maxBody()))
	return c.charge(c.parts - 1)
}

// checkContentType requires the type JSON: any site can make a browser send a body with the type of a form.
func (c *call) checkContentType() error {
	given := c.r.Header.Values("Content-Type")
	kind, parameters, err := mime.ParseMediaType(strings.Join(given, ","))
	want := "application/json"
	if c.r.Method == http.MethodPatch {
		want += " or application/merge-patch+json"
	}
	known := kind == "application/json" || kind == "application/merge-patch+json" && c.r.Method == http.MethodPatch
	if charset := parameters["charset"]; err != nil || !known || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problem.New(problem.ContentType, "the body has the type %q: want %s, in UTF-8; with curl, use `curl --json '{…}'` instead of -d", cut(strings.Join(given, ","), 100), want)
	}
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return problem.New(problem.ContentType, "the body has the encoding %q: want none", cut(encoding, 100))
	}
	return nil
}
