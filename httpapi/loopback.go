package httpapi

import (
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/internal/loopback"
)

// Loopback lets programs of this machine do everything, without a token and without a rate: for a first try. A request has to come from a loopback
// address and to name one as its host, and must have no header that a proxy adds: one on this machine would pass its clients for the
// machine's owner. So a page that a browser of this machine shows cannot send one either, though its name may lead to 127.0.0.1. Nor can a job of
// chime's own: what a Sender sends has a Chime-Fence. The rest is answered with 403.
//
// It knows no users: every user and every container that shares the network of this machine is the owner.
func Loopback() Authenticator {
	return func(r *http.Request) (Principal, error) {
		if why := loopback.Elsewhere(r); why != "" {
			return Principal{}, problem.New(problem.LoopbackOnly, "without tokens this answers programs of its own machine only, and %s; give it tokens to use it from elsewhere", why)
		}
		return Principal{Name: "loopback", Allows: func(Permission, string) bool { return true }, unlimited: true}, nil
	}
}
