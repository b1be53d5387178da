package dashboard

import (
	"net/http"
	"strings"
)

// reveal shows the contents of a job to a viewer who has the right to see them. Each request is audited, even if it fails.
func (c *call) reveal() {
	queue, id := c.values["queue"], c.values["id"]
	about, names := c.about(actReveal)
	if err := c.d.check(c.r.Context(), about, names); err != nil {
		c.failFor(err)
		return
	}
	revealed, err := c.d.site.Reveal(c.r.Context(), queue, id)
	c.d.audit(c.r.Context(), Action{Viewer: c.viewer, Remote: c.r.RemoteAddr, Act: actReveal, Queue: queue, Target: id, Err: err})
	if err != nil {
		c.failFor(err)
		return
	}
	c.render(http.StatusOK, "reveal", c.frame("Contents of "+revealed.Name), revealed)
}

// revealCommon shows the arguments that the jobs of a group of failures have in common. The request is audited, and the viewer sees only arguments of jobs
// that Options.Check allows.
func (c *call) revealCommon() {
	if err := c.r.ParseForm(); err != nil {
		c.failForm(err)
		return
	}
	job, text := c.values["job"], c.r.PostForm.Get("error")
	about, _ := c.about(actReveal)
	if err := c.d.check(c.r.Context(), about, nil); err != nil {
		c.failFor(err)
		return
	}
	common, err := c.d.site.Common(c.r.Context(), job, text, func(queue string, ids ...string) error {
		of := about
		of.Queue = queue
		return c.d.check(c.r.Context(), of, ids)
	})
	done := Action{Viewer: c.viewer, Remote: c.r.RemoteAddr, Act: actReveal, Target: strings.TrimSuffix(job+": "+text, ": "), Err: err}
	if common != nil {
		done.Count = int64(common.Compared)
	}
	c.d.audit(c.r.Context(), done)
	if err != nil {
		c.failFor(err)
		return
	}
	c.render(http.StatusOK, "common", c.frame("Arguments in common"), common)
}
