package httpapi

import (
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/internal/loopback"
)

// Loopback allows requests that seem to come from this machine everything, without a token and without a rate: it is for a first try on a machine that
// only you use. A request must come from a loopback address, name one as its host, and have no header that a proxy adds. So a web page in a browser of
// this machine cannot send one, even if its host name resolves to 127.0.0.1. A job of chime cannot send one either: requests of a Sender have the
// header Chime-Fence. All other requests are answered with 403.
//
// This is a guess. Every proxy and every port-forward on this machine counts as this machine, and with it all of its clients: nginx and HAProxy with
// their defaults, ssh -L, kubectl port-forward. So does every user and every container that shares the network of this machine. Use [Tokens] for
// everything else. chimed does not use Loopback alone: it always demands a token.
func Loopback() Authenticator {
	return func(r *http.Request) (Principal, error) {
		if why := loopback.Elsewhere(r); why != "" {
			return Principal{}, problem.New(problem.LoopbackOnly, "without tokens this server answers only programs of its own machine, and %s; to use it from elsewhere, give it tokens", why)
		}
		return Principal{Name: "loopback", Allows: func(Permission, string) bool { return true }, unlimited: true}, nil
	}
}
