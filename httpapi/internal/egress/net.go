package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Net is a set of addresses for Allow or Deny: a prefix, with one port or with all ports.
type Net struct {
	prefix netip.Prefix
	port   uint16 // 0: every port
}

// ParseNet reads an address or a prefix, with or without a port: "10.1.2.3", "10.0.0.0/8", "127.0.0.1:9000", "10.0.0.0/8:8080",
// "fd00::/8", "[::1]:9000", "[fd00::/8]:9000". An IPv4 address in IPv6 form counts as IPv4.
func ParseNet(text string) (Net, error) {
	bad := fmt.Errorf("%q is not an address or prefix, with or without a port: want, for example, 10.0.0.0/8, 127.0.0.1:9000 or [::1]:9000", text)
	rest, port := text, uint16(0)
	if at := strings.LastIndexByte(text, ':'); at >= 0 && (strings.Count(text, ":") == 1 || strings.HasSuffix(text[:at], "]")) {
		n, err := strconv.ParseUint(text[at+1:], 10, 16)
		if err != nil || n == 0 {
			return Net{}, bad
		}
		rest, port = text[:at], uint16(n)
	}
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		if rest, ok = strings.CutSuffix(inner, "]"); !ok {
			return Net{}, bad
		}
	}
	prefix, err := netip.ParsePrefix(rest)
	if err != nil {
		addr, err := netip.ParseAddr(rest)
		if err != nil || addr.Zone() != "" {
			return Net{}, bad
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if addr := prefix.Addr(); addr.Is4In6() {
		if prefix.Bits() < 96 {
			return Net{}, bad
		}
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return Net{prefix.Masked(), port}, nil
}

// String is the form that ParseNet reads.
func (n Net) String() string {
	text := n.prefix.String()
	if n.prefix.IsSingleIP() {
		text = n.prefix.Addr().String()
	}
	switch {
	case n.port == 0:
		return text
	case n.prefix.Addr().Is6():
		return "[" + text + "]:" + strconv.Itoa(int(n.port))
	}
	return text + ":" + strconv.Itoa(int(n.port))
}

// has reports whether an address is in the set. It must be unmapped.
func (n Net) has(at netip.AddrPort) bool {
	return n.prefix.Contains(at.Addr()) && (n.port == 0 || n.port == at.Port())
}
