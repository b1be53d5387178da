// Package egress decides to which addresses a process connects for its users: an address or name from a user may be a service inside the network, or
// resolve to one.
package egress

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// A Guard allows and refuses connections. The zero Guard allows public addresses.
//
// The dialled address decides, after the name is resolved. The rules, in order: an address in Deny is refused; an address in Allow skips the next rule
// and, if the entry has a port, also the last one; IANA's special ranges are refused, among them loopback, private networks, link-local, shared address
// space, multicast and IPv6 forms that hide an IPv4 address, and also the host of Azure's machines; ports other than 80, 443 and 1024 and above are
// refused. An IPv4 address in IPv6 form counts as IPv4.
type Guard struct {
	Deny, Allow []Net
}

// A BlockedError reports a refused destination and the reason.
type BlockedError struct {
	Destination string // an address with its port, or a host
	Reason      string // with the option that allows it, if there is one
}

// Error names the destination and the reason.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("destination %s is blocked: %s", e.Destination, e.Reason)
}

const (
	lowestFreePort = 1024
	allowIt        = "-allow-net of chimed or Egress.AllowNets of a program allows it"
)

// Check returns a *BlockedError if connections to the address are refused.
func (g *Guard) Check(at netip.AddrPort) error {
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	blocked := func(reason string) error { return &BlockedError{at.String(), reason} }
	if !at.Addr().IsValid() || at.Addr().Zone() != "" {
		return blocked("an address with a zone, or none")
	}
	for _, n := range g.Deny {
		if n.has(at) {
			return blocked("-deny-net or Egress.DenyNets contains it")
		}
	}
	allowed := false
	for _, n := range g.Allow {
		if n.has(at) {
			if n.port != 0 {
				return nil
			}
			allowed = true
		}
	}
	if !allowed && special(at.Addr()) {
		return blocked("the address is not public; " + allowIt)
	}
	if port := at.Port(); port != 80 && port != 443 && port < lowestFreePort {
		return blocked(fmt.Sprintf("allowed ports are 80, 443 and %d and above; %s with this port", lowestFreePort, allowIt))
	}
	return nil
}

// Control is for net.Dialer, which calls it with each address before it dials it.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &BlockedError{network + " " + address, "it is not a TCP address"}
	}
	return g.Check(at)
}

// azureHost is the address where every virtual machine of Azure reaches its host, which serves data of that machine. The address is in a public range.
var azureHost = netip.MustParseAddr("168.63.129.16")

// special reports whether an unmapped address is in one of IANA's special ranges, or is azureHost.
func special(addr netip.Addr) bool {
	if addr == azureHost {
		return true
	}
	denied := ssrf.IPv4DeniedPrefixes
	if addr.Is6() {
		if !ssrf.IPv6GlobalUnicast.Contains(addr) {
			return true
		}
		denied = ssrf.IPv6DeniedPrefixes
	}
	for _, prefix := range denied {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
