package action

import (
	"crypto/x509"
	"net/url"
	"strconv"

	"github.com/chimejobs/chime/httpapi/internal/egress"
)

// A Net is a set of addresses: an address or a prefix, with a port or for all ports.
type Net = egress.Net

// ParseNet reads an address or a prefix, with a port or without: "10.1.2.3", "10.0.0.0/8", "127.0.0.1:9000", "[fd00::/8]:9000".
func ParseNet(text string) (Net, error) { return egress.ParseNet(text) }

// An Egress says where requests may go. The zero Egress allows public addresses on ports 80, 443 and from 1024 up, reached by a name.
//
// The address that is dialled decides, after the look-up and at each hop, in this order: DenyNets; AllowNets, which with a port allows that port
// too; IANA's special ranges and the host of Azure's machines, 168.63.129.16, which are refused; ports. Addresses in a URI, and names of this
// machine, need AllowNets. Proxies of the environment are ignored.
type Egress struct {
	DenyNets      []Net          // refused whatever AllowNets has
	AllowNets     []Net          // allowed although their ranges are special
	AllowInsecure bool           // credentials and signatures may be sent over http://
	Proxy         *url.URL       // http or https; it has to guard names itself, only URIs are checked here. Nil: none
	Roots         *x509.CertPool // what certificates of servers are checked against; nil: the system's. There is no way to check none
}

func (e *Egress) guard() *egress.Guard { return &egress.Guard{Deny: e.DenyNets, Allow: e.AllowNets} }

// checkURL refuses a URL that needs no look-up to be refused, and one that is none. The error of one that is blocked is an *egress.BlockedError.
func (e *Egress) checkURL(u *url.URL) error {
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || port == 0 {
		return errURI
	}
	return e.guard().CheckHost(u.Hostname(), uint16(port))
}
