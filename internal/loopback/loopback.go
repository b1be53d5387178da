// Package loopback distinguishes requests of programs on this machine from others.
package loopback

import (
	"net/http"
	"net/netip"
	"strings"
)

// Elsewhere returns why a request may come from another machine; the empty string: nothing shows that it does. It is a guess. In addition to what
// Foreign checks, the request must have no header that a proxy adds, because the clients of that proxy would be taken for the owner of the machine.
// The defaults of nginx and HAProxy add none, and neither does a port-forward: their clients are not recognized.
func Elsewhere(r *http.Request) string {
	if why := Foreign(r); why != "" {
		return why
	}
	for name := range r.Header {
		switch name = http.CanonicalHeaderKey(name); {
		case name == "Forwarded", name == "Via", name == "X-Real-Ip", strings.HasPrefix(name, "X-Forwarded-"):
			return "this request has come through a proxy: it has the header " + name
		}
	}
	return ""
}

// Foreign returns why a request is refused although it has a token that is only valid on this machine; the empty string: it is not refused. It must
// come from a loopback address and name one as its host. Otherwise a page in a browser of this machine could send it, if its host name resolves to
// 127.0.0.1. A job of chime must not have sent it.
func Foreign(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return "this request is from elsewhere"
	}
	if !isLoopbackHost(r.Host) {
		return "the host that this request names is not localhost, 127.0.0.1 or [::1]"
	}
	for name := range r.Header {
		if name = http.CanonicalHeaderKey(name); name == Fence {
			return "this request was sent by a job: it has the header " + name
		}
	}
	return ""
}

// Fence is the header of the requests that jobs send.
const Fence = "Chime-Fence"

// isLoopbackHost reports whether a Host header, with a port or without, is localhost or a loopback address.
func isLoopbackHost(host string) bool {
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
