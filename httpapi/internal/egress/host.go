package egress

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?$`)
	number   = regexp.MustCompile(`^([0-9]+|0[xX][0-9A-Fa-f]*)$`)
)

// KnownHost reports whether a host, as url.URL.Hostname returns it, has the form of a host: a name of ASCII letters, digits, `-` and `_`, at
// most 253 bytes, or an address.
func KnownHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return len(host) <= 253 && hostName.MatchString(host)
}

// CheckHost returns a *BlockedError if a host can be refused without a look-up: an address that Allow does not contain or Deny contains, an address
// in a form that programs read in different ways, and the names of this machine. Other names need the look-up, and then Control
// decides.
func (g *Guard) CheckHost(host string, port uint16) error {
	blocked := func(reason string) error { return &BlockedError{host, reason} }
	if !KnownHost(host) {
		return blocked("it is not a host")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.checkLiteral(host, netip.AddrPortFrom(addr.Unmap(), port))
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if number.MatchString(name[strings.LastIndexByte(name, '.')+1:]) {
		return blocked("an address is written as four decimal numbers without leading zeros, or as IPv6 in brackets")
	}
	if !local(name) {
		return nil
	}
	var refused error
	for _, addr := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		if refused = g.checkLiteral(host, netip.AddrPortFrom(addr, port)); refused == nil {
			return nil
		}
	}
	return refused
}

// checkLiteral refuses an address in a URL unless it was allowed explicitly: a public service has a name.
func (g *Guard) checkLiteral(host string, at netip.AddrPort) error {
	if at.Addr().Zone() != "" {
		return &BlockedError{host, "an address with a zone"}
	}
	if !slices.ContainsFunc(g.Allow, func(n Net) bool { return n.has(at) }) {
		return &BlockedError{host, "it is an address or this machine; " + allowIt}
	}
	return g.Check(at)
}

// local reports whether a name means this machine (RFC 6761, section 6.3, and common entries of hosts files).
func local(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		slices.Contains([]string{"localhost.localdomain", "localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback", "localhost4", "localhost4.localdomain4"}, name)
}
