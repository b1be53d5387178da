package dashboard

import (
	"context"
	"time"
	"unicode/utf8"
)

// An Action describes something that a viewer did or tried to do. A change of many jobs or schedules that continues after its response has two: one
// when it begins, and one when it has ended, with the same Target.
type Action struct {
	At     time.Time // by this process's clock
	Viewer Viewer
	Remote string // the address of the request, as in http.Request

	Act    string // the verb and its noun, such as "pause schedule", "requeue jobs", "reveal payload"
	Queue  string // the queue of the target; empty: it has none
	Target string // the name of the schedule, queue or group, the ID of the job or the batch, or the filter that selected many
	Note   string // the note that the viewer typed
	Args   string // the digest of typed arguments, "sha256:" and hex; empty: there are none
	Detail string // the range of a backfill, the limit of a queue or group, or how a change of many has ended; empty: the action has no such detail
	Count  int64  // the number of changed schedules, queues or jobs; when a change of many begins, of those to change
	Err    error  // why the action failed, for all targets or for some; nil: it succeeded
}

const (
	actReveal  = "reveal payload"   // view a payload or a result
	actPut     = "put schedule"     // create or change a schedule; for Options.Check also the page of the editor
	actPreview = "preview schedule" // nothing is stored
)

// maxLogged is the maximum number of bytes that a log line contains of a text that a viewer typed.
const maxLogged = 200

// audit logs an action and passes it to Options.Audit.
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
		"action", a.Act, "queue", a.Queue, "id", cut(a.Target), "note", cut(a.Note), "args", a.Args, "detail", cut(a.Detail), "count", a.Count, "error", a.Err)
	if d.options.Audit != nil {
		d.options.Audit(ctx, a)
	}
}

// denied logs a request that was not allowed.
func (d *Dashboard) denied(c *call, why string) {
	d.options.Logger.WarnContext(c.r.Context(), "dashboard: a request was not allowed", "event", "dashboard.denied", "viewer", cut(c.viewer.Name),
		"remote", c.r.RemoteAddr, "method", cut(c.r.Method), "path", cut(c.r.URL.EscapedPath()), "reason", why)
}

// cut shortens a text to the length that a log line may contain, and never cuts within a character.
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
