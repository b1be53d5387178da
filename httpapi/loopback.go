package httpapi

import (
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/internal/loopback"
)

// Loopback allows programs of this machine everything, without a token and without a rate: it is for a first try. A request must come from a
// loopback address, name one as its host, and have no header that a proxy adds. So a web page in a browser of this machine cannot send one,
// even if its host name resolves to 127.0.0.1. A job of chime cannot send one either: requests of a Sender have the header Chime-Fence. All other
// requests are answered with 403.
//
// It does not recognize a proxy or tunnel on this machine that adds no header: the clients of such a proxy are allowed everything. Use [Tokens]
// behind a proxy. Nor does it know users: every user and every container that shares the network of this machine is allowed everything.
func Loopback() Authenticator {
	return func(r *http.Request) (Principal, error) {
		if why := loopback.Elsewhere(r); why != "" {
			return Principal{}, problem.New(problem.LoopbackOnly, "without tokens this server answers only programs of its own machine, and %s; to use it from elsewhere, give it tokens", why)
		}
		return Principal{Name: "loopback", Allows: func(Permission, string) bool { return true }, unlimited: true}, nil
	}
}
