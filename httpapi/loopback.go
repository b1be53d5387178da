package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// Loopback lets programs of this machine do everything, without a token and without a rate: for a first try. A request has to come from a loopback
// address and to name one as its host, and must have no header that a proxy adds: one on this machine would pass its clients for the
// machine's owner. So a page that a browser of this machine shows cannot send one either, though its name may lead to 127.0.0.1. Nor can a job of
// chime's own: what a Sender sends has a Chime-Fence. The rest is answered with 403.
//
// It knows no users: every user and every container that shares the network of this machine is the owner.
func Loopback() Authenticator {
	return func(r *http.Request) (Principal, error) {
		if why := notLoopback(r); why != "" {
			return Principal{}, problem.New(problem.LoopbackOnly, "without tokens this answers programs of its own machine only, and %s; give it tokens to use it from elsewhere", why)
		}
		return Principal{Name: "loopback", Allows: func(Permission, string) bool { return true }, unlimited: true}, nil
	}
}

// notLoopback says why a request may be one from elsewhere; empty: it is not.
func notLoopback(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return "this request is from elsewhere"
	}
	if !loopbackHost(r.Host) {
		return "the host that this request names is not localhost, 127.0.0.1 or [::1]"
	}
	for name := range r.Header {
		switch name = http.CanonicalHeaderKey(name); {
		case name == "Forwarded", name == "Via", name == "X-Real-Ip", strings.HasPrefix(name, "X-Forwarded-"):
			return "this request has come through a proxy: it has the header " + name
		case name == "Chime-Fence":
			return "this request was sent by a job: it has the header " + name
		}
	}
	return ""
}

// loopbackHost reports whether a Host header, with a port or without, is localhost or a loopback address.
func loopbackHost(host string) bool {
	if at, err := netip.ParseAddrPort(host); err == nil {
		return at.Addr().Zone() == "" && at.Addr().Unmap().IsLoopback()
	}
	if name, port, found := strings.Cut(host, ":"); found && strings.EqualFold(name, "localhost") {
		return isPort(port)
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(host, ":") {
			return false
		}
	} else if strings.Contains(host, ":") {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && addr.Unmap().IsLoopback()
}

// isPort reports whether a text is a number of at most five digits.
func isPort(text string) bool {
	return len(text) >= 1 && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}
