package dashboard

import "net/http"

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
