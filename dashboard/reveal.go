package dashboard

import "net/http"

// reveal shows what a job holds to a viewer who may see it. Each look is audited, and one that failed too.
func (c *call) reveal() {
	queue, id := c.values["queue"], c.values["id"]
	revealed, err := c.d.site.Reveal(c.r.Context(), queue, id)
	c.d.audit(c.r.Context(), Action{Viewer: c.viewer, Remote: c.r.RemoteAddr, Act: actReveal, Queue: queue, Target: id, Err: err})
	if err != nil {
		c.failFor(err)
		return
	}
	c.render(http.StatusOK, "reveal", c.frame("What "+revealed.Name+" holds"), revealed)
}
