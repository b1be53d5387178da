package httpapi

import (
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/internal/loopback"
)

// Loopback allows programs of this machine everything, without a token and without a rate limit: it is for a first try. A request has to come from a
// loopback address, name a loopback host, and have no header that a proxy adds, because a proxy on this machine would turn its clients into the
// machine's owner. So a page of another site, open in a browser of this machine, cannot send a request, even if its name resolves to 127.0.0.1.
// A job of chime cannot either, because a Sender adds Chime-Fence to its requests. All other requests get 403.
//
// Loopback does not distinguish users: every user and every container that shares the network of this machine counts as the owner.
func Loopback() Authenticator {
	return func(r *http.Request) (Principal, error) {
		if why := loopback.Elsewhere(r); why != "" {
			return Principal{}, problem.New(problem.LoopbackOnly, "without tokens this server answers only programs of its own machine, and %s; to use it from elsewhere, give it tokens", why)
		}
		return Principal{Name: "loopback", Allows: func(Permission, string) bool { return true }, unlimited: true}, nil
	}
}
