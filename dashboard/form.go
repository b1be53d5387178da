package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/change"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A formRoute has the actions of the forms of a path.
type formRoute struct {
	path    string
	body    int64             // the maximum size of a form, in bytes
	actions map[string]action // by the field verb; "": the path has one action
}

// An action is the effect of a form.
type action struct {
	act   string // for the audit: the verb and its noun
	right Rights
	do    change.Verb
	args  Rights // a further right, for a form with other arguments
}

// right returns the right that a viewer needs before the form is read. If there are several actions, the right of each is checked afterwards.
func (f formRoute) right() Rights {
	if only, ok := f.actions[""]; ok {
		return only.right
	}
	return View
}

// send does the action of a form, or first asks for confirmation.
func (d *Dashboard) send(form formRoute) func(*call) {
	return func(c *call) {
		if err := c.r.ParseForm(); err != nil {
			c.failForm(err)
			return
		}
		action, ok := form.actions[""]
		if !ok {
			verb := c.r.PostForm.Get("verb")
			if action, ok = form.actions[verb]; !ok {
				c.fail(http.StatusBadRequest, fmt.Sprintf("verb is %.40q, want one of %q.", verb, slices.Sorted(maps.Keys(form.actions))))
				return
			}
		}
		if why := d.refuses(c.viewer, action.right); why != "" {
			d.denied(c, why)
			c.fail(http.StatusForbidden, why)
			return
		}
		if why := d.refuses(c.viewer, action.args); why != "" && digest(c.r.PostForm.Get("args")) != "" {
			d.denied(c, why)
			c.fail(http.StatusForbidden, why)
			return
		}
		c.carryOut(action)
	}
}

// carryOut does an action that the viewer may do, or first asks for confirmation.
func (c *call) carryOut(action action) {
	about, names := c.about(action.act)
	if err := c.d.check(c.r.Context(), about, names); err != nil {
		c.failFor(err)
		return
	}
	frame := c.frame("")
	form := &change.Form{Values: c.values, Fields: c.r.PostForm, Viewer: c.viewer.Name, Frame: frame, OtherArgs: c.d.refuses(c.viewer, action.args) == "", Reveal: c.d.refuses(c.viewer, Reveal) == ""}
	form.Check = func(ctx context.Context, queue string, names ...string) error {
		step := about
		step.Queue = cmp.Or(queue, about.Queue)
		return c.d.check(ctx, step, names)
	}
	begun := make(chan struct{}) // closed when the beginning of an operation is audited
	defer close(begun)
	form.Ended = func(answer change.Answer, o change.Operation) {
		<-begun
		ended := c.done(about, answer)
		ended.Count, ended.Err, ended.Detail = int64(o.Done.Changed), o.Failed, o.Summary()
		c.d.audit(context.WithoutCancel(c.r.Context()), ended)
	}
	answer, err := action.do(c.d.changer, c.r.Context(), form)
	if answer.Ask != nil && err == nil {
		c.ask(frame, answer.Ask)
		return
	}
	if answer.Show != nil && answer.Show.Err == nil && err == nil {
		c.showPage(frame, answer.Show)
		return
	}
	c.d.shared.forget()
	c.d.site.Forget(strings.Contains(action.act, "schedule"), names...)
	done := c.done(about, answer)
	done.Err = err
	if answer.Show != nil && err == nil {
		done.Err = answer.Show.Err
	}
	c.d.audit(c.r.Context(), done)
	if answer.Show != nil && err == nil {
		c.showPage(frame, answer.Show)
		return
	}
	if err != nil {
		c.failFor(err)
		return
	}
	c.goOn(answer.Back, answer.List, answer.Said)
}

// done returns an action that was carried out.
func (c *call) done(about Action, answer change.Answer) Action {
	about.Queue, about.Target, about.Note = answer.Queue, answer.Target, answer.Note
	about.Detail, about.Count = answer.Detail, answer.Count
	if answer.Args != nil {
		about.Args = digest(string(answer.Args))
	}
	return about
}

// ask sends a confirmation: a page, or the part of a page that a script shows in a dialog.
func (c *call) ask(frame *render.Frame, ask *render.Ask) {
	frame.Title = ask.Title
	if c.r.Header.Get("Chime-Part") == "ask" {
		c.renderPart("ask", frame, ask)
		return
	}
	c.render(http.StatusOK, "ask", frame, ask)
}

// showPage sends the page of a form, or the part of it that a script shows.
func (c *call) showPage(frame *render.Frame, shown *change.Shown) {
	frame.Title = shown.Title
	if shown.Part {
		c.renderPart(shown.Template, frame, shown.Model)
		return
	}
	c.render(shown.Status, shown.Template, frame, shown.Model)
}

// goOn redirects to a page that shows what was done. The address is relative, so it is right for every prefix that was removed from this one.
func (c *call) goOn(path, list, said string) {
	frame := c.frame("")
	to := frame.List(path, list, "said", c.d.said.keep(said))
	c.w.Header().Set("Location", strings.Repeat("../", strings.Count(c.path, "/"))+to)
	c.w.WriteHeader(http.StatusSeeOther)
}

// selectSchedules returns the schedules that match a filter of their list.
func (d *Dashboard) selectSchedules(ctx context.Context, filter url.Values, most int, concerns func(*chime.Schedule) bool) (change.Selected, error) {
	selected, err := d.site.SelectSchedules(ctx, filter, most, concerns)
	return change.Selected(selected), err
}

// failForm sends the page for a form that cannot be read.
func (c *call) failForm(err error) {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		c.fail(http.StatusBadRequest, fmt.Sprintf("This form is longer than %d bytes.", long.Limit))
		return
	}
	c.fail(http.StatusBadRequest, "This form cannot be read.")
}
