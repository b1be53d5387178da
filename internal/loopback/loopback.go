// Package loopback distinguishes requests of programs on this machine from all others, for handlers that serve such requests without a login.
package loopback

import (
	"net/http"
	"net/netip"
	"strings"
)

// Elsewhere returns why a request may come from another machine; the empty string: it does not. It must come from a loopback address and name one as
// its host. Otherwise a page in a browser of this machine could send it, if its host name resolves to 127.0.0.1. It must have no header that a
// proxy adds, because the clients of that proxy would be taken for the owner of the machine; a proxy that adds none is not recognized. Nor may a
// job of chime have sent it.
func Elsewhere(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return "this request is from elsewhere"
	}
	if !isLoopbackHost(r.Host) {
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
