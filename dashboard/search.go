package dashboard

import (
	"encoding/json"
	"strings"

	"github.com/chimejobs/chime/dashboard/internal/pages"
)

// A hit is a search result in the form that keys.js reads.
type hit struct {
	Href string `json:"href"` // relative to where the dashboard is mounted
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// search sends the results for a text: as a page, or as JSON for the palette.
func (c *call) search() {
	shown := page{"search", nil, View, c.d.site.Search}
	if !strings.Contains(c.r.Header.Get("Accept"), "application/json") {
		c.d.show(shown)(c)
		return
	}
	view, err := c.d.read(c.r.Context(), shown, c.topicOf(c.path, c.r.URL.Query()), false)
	if err != nil {
		c.failFor(err)
		return
	}
	frame, hits := c.frame(view.Title), []hit{}
	for _, found := range view.Model.(*pages.Search).Hits {
		hits = append(hits, hit{frame.Href(found.Path), found.Name, found.Kind})
	}
	c.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(c.w).Encode(map[string]any{"items": hits}) // ignored: the viewer may have gone
}
