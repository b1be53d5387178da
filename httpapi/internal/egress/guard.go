// Package egress decides to which addresses a process connects on behalf of others: what they name may be a service inside the network,
// or a name that leads there.
package egress

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// A Guard allows and refuses connections. The zero Guard allows what is public.
//
// The address that is dialled decides, after the name was looked up. In this order: what is in Deny is refused; what is in Allow skips
// the next rule, and with a port the rule after it too; IANA's special ranges are refused, among them loopback, private networks,
// link-local, shared address space, multicast, what hides an IPv4 address in an IPv6 one, and besides them the host of Azure's machines;
// ports other than 80, 443 and 1024 and above are refused. An IPv4 address in the form of IPv6 counts as IPv4.
type Guard struct {
	Deny, Allow []Net
}

// A BlockedError says that a destination is refused, and why.
type BlockedError struct {
	Destination string // an address with its port, or a host
	Reason      string // with the option that would allow it, if there is one
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
			return blocked("-deny-net or Egress.DenyNets has " + n.String())
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
		return blocked("its range is not public; " + allowIt)
	}
	if port := at.Port(); port != 80 && port != 443 && port < lowestFreePort {
		return blocked(fmt.Sprintf("ports are 80, 443 and from %d up; %s with this port", lowestFreePort, allowIt))
	}
	return nil
}

// Control is for net.Dialer: it is called with each address that is about to be dialled.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &BlockedError{network + " " + address, "it is no address of TCP"}
	}
	return g.Check(at)
}

// azureHost is where every virtual machine of Azure reaches its host, with what the host tells it alone. The range is a public one.
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
