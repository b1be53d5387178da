package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/chimejobs/chime/dashboard/internal/visit"
)

// What tests of this package and of dashboard/crawl share.
var (
	send         = visit.Send
	post         = visit.Post
	wants        = visit.Wants
	hostileNames = visit.HostileNames
	quiet        = slog.New(slog.DiscardHandler)
)

// crowd is an Authorize that takes each request for one of another viewer, who has no rate to keep to.
func crowd(rights Rights) func(*http.Request) (Viewer, error) {
	n := 0
	return func(*http.Request) (Viewer, error) {
		n++
		return Viewer{Name: fmt.Sprint("viewer-", n), Rights: rights}, nil
	}
}
