package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/chimejobs/chime/dashboard/internal/visit"
)

// These helpers are shared by the tests of this package and of dashboard/crawl.
var (
	send         = visit.Send
	post         = visit.Post
	wants        = visit.Wants
	hostileNames = visit.HostileNames
	quiet        = slog.New(slog.DiscardHandler)
)

// crowd is an Authorize that makes each request that of a new viewer, so that no rate limit applies.
func crowd(rights Rights) func(*http.Request) (Viewer, error) {
	n := 0
	return func(*http.Request) (Viewer, error) {
		n++
		return Viewer{Name: fmt.Sprint("viewer-", n), Rights: rights}, nil
	}
}
