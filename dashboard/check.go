package dashboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
)

// A Refusal is an error of Options.Check with a text for the viewer.
type Refusal struct {
	Status int    // the status of the response, such as 409 if the action does not fit the current state; 0: 403
	Text   string // the reason, and what to do
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// check asks Options.Check, and logs a refusal. Its error is a *Refusal.
func (d *Dashboard) check(ctx context.Context, about Action, names []string) error {
	if d.options.Check == nil {
		return nil
	}
	err := d.options.Check(ctx, about.Viewer, about, names)
	if err == nil {
		return nil
	}
	d.options.Logger.WarnContext(ctx, "dashboard: a request was not allowed", "event", "dashboard.denied", "viewer", cut(about.Viewer.Name), "remote", about.Remote,
		"action", about.Act, "queue", about.Queue, "id", cut(strings.Join(names[:min(len(names), 10)], ", ")), "reason", err.Error())
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		refusal = &Refusal{Text: "You may not do this. The log of the server has the reason."}
	}
	return &Refusal{Status: cmp.Or(refusal.Status, http.StatusForbidden), Text: refusal.Text}
}

// about returns the action of a form before it is carried out, and the names that the form has: of a schedule, a queue, a group, a job or a batch, or of ticked schedules.
func (c *call) about(act string) (about Action, names []string) {
	about = Action{Viewer: c.viewer, Remote: c.r.RemoteAddr, Act: act, Queue: c.values["queue"], Args: digest(c.r.PostForm.Get("args"))}
	for _, value := range []string{"name", "id", "group", "queue"} {
		if name, ok := c.values[value]; ok {
			about.Target = name
			return about, []string{name}
		}
	}
	if of := c.r.PostForm.Get("of"); of != "" && act == actPreview {
		return about, []string{of}
	}
	if strings.HasSuffix(act, " schedules") && c.r.PostForm.Get("all") != "1" {
		return about, c.r.PostForm["id"]
	}
	return about, nil
}

// digest returns the SHA-256 of arguments, and "" for none. The audit has it in place of the arguments, which may contain secrets.
func digest(args string) string {
	args = strings.TrimSpace(args)
	if args == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(args))
	return "sha256:" + hex.EncodeToString(sum[:])
}
