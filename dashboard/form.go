package dashboard

import (
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

// A formRoute is what the forms of a path do.
type formRoute struct {
	path  string
	body  int64           // how long a form may be, in bytes
	deeds map[string]deed // by the field verb; "": the path has one deed
}

// A deed is what a form does.
type deed struct {
	act   string // for the audit: the verb and its noun
	right Rights
	do    change.Verb
}

// right is what a viewer needs before the form is read: of several deeds each is asked for afterwards.
func (f formRoute) right() Rights {
	if only, ok := f.deeds[""]; ok {
		return only.right
	}
	return View
}

// send does what a form says, or asks first.
func (d *Dashboard) send(form formRoute) func(*call) {
	return func(c *call) {
		if err := c.r.ParseForm(); err != nil {
			c.failForm(err)
			return
		}
		deed, ok := form.deeds[""]
		if !ok {
			verb := c.r.PostForm.Get("verb")
			if deed, ok = form.deeds[verb]; !ok {
				c.fail(http.StatusBadRequest, fmt.Sprintf("verb is %.40q, want one of %q.", verb, slices.Sorted(maps.Keys(form.deeds))))
				return
			}
		}
		if why := d.refuses(c.viewer, deed.right); why != "" {
			d.denied(c, why)
			c.fail(http.StatusForbidden, why)
			return
		}
		c.carryOut(deed)
	}
}

// carryOut does a deed that the viewer may do, or asks first.
func (c *call) carryOut(deed deed) {
	frame := c.frame("")
	answer, err := deed.do(c.d.changer, c.r.Context(), &change.Form{Values: c.values, Fields: c.r.PostForm, Viewer: c.viewer.Name, Frame: frame})
	if answer.Ask != nil && err == nil {
		c.ask(frame, answer.Ask)
		return
	}
	if answer.Show != nil && answer.Show.Err == nil && err == nil {
		c.showPage(frame, answer.Show)
		return
	}
	c.d.shared.forget()
	c.d.site.Forget(strings.Contains(deed.act, "schedule"))
	action := Action{
		Viewer: c.viewer, Remote: c.r.RemoteAddr, Act: deed.act, Queue: answer.Queue, Target: answer.Target, Note: answer.Note, Count: answer.Count, Err: err,
	}
	if answer.Show != nil && err == nil {
		action.Err = answer.Show.Err
	}
	c.d.audit(c.r.Context(), action)
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

// ask answers with a question: a page, or the part of one that a script shows in a dialog.
func (c *call) ask(frame *render.Frame, ask *render.Ask) {
	frame.Title = ask.Title
	if c.r.Header.Get("Chime-Part") == "ask" {
		c.renderPart("ask", frame, ask)
		return
	}
	c.render(http.StatusOK, "ask", frame, ask)
}

// showPage answers with a page of a form, or with the part of one that a script shows.
func (c *call) showPage(frame *render.Frame, shown *change.Shown) {
	frame.Title = shown.Title
	if shown.Part {
		c.renderPart(shown.Template, frame, shown.Model)
		return
	}
	c.render(shown.Status, shown.Template, frame, shown.Model)
}

// goOn leads to a page, which says what was done. The address is relative, so that it is right whatever was cut off this one's.
func (c *call) goOn(path, list, said string) {
	frame := c.frame("")
	to := frame.List(path, list, "said", c.d.said.keep(said))
	c.w.Header().Set("Location", strings.Repeat("../", strings.Count(c.path, "/"))+to)
	c.w.WriteHeader(http.StatusSeeOther)
}

// selectSchedules returns the schedules that a filter of their list means.
func (d *Dashboard) selectSchedules(ctx context.Context, filter url.Values, most int, concerns func(*chime.Schedule) bool) (change.Selected, error) {
	selected, err := d.site.SelectSchedules(ctx, filter, most, concerns)
	return change.Selected(selected), err
}

// failForm answers a form that cannot be read.
func (c *call) failForm(err error) {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		c.fail(http.StatusBadRequest, fmt.Sprintf("This form is longer than %d bytes.", long.Limit))
		return
	}
	c.fail(http.StatusBadRequest, "This form cannot be read.")
}
