package httpapi

import (
	"log/slog"
	"net/http"
	"strconv"
	"unicode/utf8"
)

// maxLogged is the maximum length, in bytes, of a client's text in one attribute of the log.
const maxLogged = 200

func (c *call) log() *slog.Logger { return c.api.options.Logger }

// path is the request's path for the log. It is quoted, so it is always one line.
func (c *call) path() string { return strconv.Quote(cut(c.r.URL.EscapedPath(), maxLogged)) }

// audit logs a change, and a request that was not allowed. No body is logged. Of the requests of one address that could not be authenticated at most one
// a minute is logged, with their count.
func (c *call) audit(a *answer) {
	changes := c.route != nil && c.route.op != "" && c.name.Collection != ""
	of := []any(nil)
	if c.task != "" {
		of = append(of, "task", cut(c.task, maxLogged))
	}
	if c.batch != "" {
		of = append(of, "batch", cut(c.batch, maxLogged))
	}
	if c.tasks > 0 {
		of = append(of, "count", c.tasks)
	}
	who := []any{"principal", c.principal.Name, "status", a.status, "request", c.id, "remote", c.r.RemoteAddr}
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		about := append([]any{"code", a.code, "method", cut(c.r.Method, maxLogged), "path", c.path()}, who...)
		if a.status == http.StatusForbidden {
			c.log().Warn("httpapi: a request was not allowed", append([]any{"event", "api.denied"}, about...)...)
			return
		}
		log, reason := c.log(), c.unknown
		c.api.strangers.add(c.r.RemoteAddr, func(count int) {
			if reason != "" {
				log.Warn("httpapi: authentication failed", "event", "api.unauthenticated", "error", reason)
			}
			log.Warn("httpapi: a request was not allowed", append([]any{"event", "api.denied", "count", count}, about...)...)
		})
	case changes:
		c.log().Info("httpapi: "+c.route.op, append([]any{"event", "api.action",
			"op", c.route.op, "collection", cut(c.name.Collection, maxLogged), "job", cut(c.name.Job, maxLogged), "code", a.code,
			"if_match", cut(c.r.Header.Get("If-Match"), maxLogged), "etag", a.etag()}, append(of, who...)...)...)
	}
}

// cut shortens a text to a number of bytes, without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
