package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/chimejobs/chime/dashboard/internal/change"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A formRoute is what a form does.
type formRoute struct {
	path  string
	act   string // for the audit: the verb and its noun
	right Rights
	body  int64 // how long it may be, in bytes
	verb  change.Verb
}

// send does what a form says, or asks first.
func (d *Dashboard) send(form formRoute) func(*call) {
	return func(c *call) {
		if err := c.r.ParseForm(); err != nil {
			c.failForm(err)
			return
		}
		frame := c.frame("")
		answer, err := form.verb(d.changer, c.r.Context(), &change.Form{Values: c.values, Fields: c.r.PostForm, Viewer: c.viewer.Name, Frame: frame})
		if answer.Ask != nil && err == nil {
			c.ask(frame, answer.Ask)
			return
		}
		d.shared.forget()
		d.audit(c.r.Context(), Action{
			Viewer: c.viewer, Remote: c.r.RemoteAddr, Act: form.act, Queue: answer.Queue, Target: answer.Target, Note: answer.Note, Count: answer.Count, Err: err,
		})
		if err != nil {
			c.failFor(err)
			return
		}
		c.goOn(answer.Back, answer.Said)
	}
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

// goOn leads to a page, which says what was done. The address is relative, so that it is right whatever was cut off this one's.
func (c *call) goOn(path, said string) {
	frame := c.frame("")
	to := frame.Href(path, "said", c.d.said.keep(said))
	c.w.Header().Set("Location", strings.Repeat("../", strings.Count(c.path, "/"))+to)
	c.w.WriteHeader(http.StatusSeeOther)
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
