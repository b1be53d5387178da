package dashboard

import (
	"context"
	"time"
	"unicode/utf8"
)

// An Action is what a viewer has done, or was refused.
type Action struct {
	At     time.Time // by this process's clock
	Viewer Viewer
	Remote string // the address of the request, as net/http has it

	Act    string // the verb and its noun, as "pause schedule", "requeue jobs", "reveal payload"
	Queue  string // of what it was done to; empty: it has none
	Target string // the name of the schedule or queue, the ID of the job, or the filter of many
	Note   string // that the viewer gave
	Count  int64  // to how many it was done
	Err    error  // why it was not done, or not to all; nil: it was
}

// actReveal is the act of looking at a payload or a result.
const actReveal = "reveal payload"

// maxLogged is how many bytes of a text that a viewer typed a line of the log has.
const maxLogged = 200

// audit logs an action and hands it to Options.Audit.
func (d *Dashboard) audit(ctx context.Context, a Action) {
	a.At = time.Now()
	event, log := "dashboard.action", d.options.Logger.InfoContext
	if a.Act == actReveal {
		event = "dashboard.revealed"
	}
	if a.Err != nil {
		log = d.options.Logger.WarnContext
	}
	log(ctx, "dashboard: "+a.Act, "event", event, "viewer", cut(a.Viewer.Name), "remote", a.Remote,
		"action", a.Act, "queue", a.Queue, "id", cut(a.Target), "note", cut(a.Note), "count", a.Count, "error", a.Err)
	if d.options.Audit != nil {
		d.options.Audit(ctx, a)
	}
}

// denied logs a request that was not allowed.
func (d *Dashboard) denied(c *call, why string) {
	d.options.Logger.WarnContext(c.r.Context(), "dashboard: a request was not allowed", "event", "dashboard.denied", "viewer", cut(c.viewer.Name),
		"remote", c.r.RemoteAddr, "method", cut(c.r.Method), "path", cut(c.r.URL.EscapedPath()), "reason", why)
}

// cut shortens a text to what a line of the log has, and leaves no part of a character.
func cut(text string) string {
	limit := maxLogged
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
