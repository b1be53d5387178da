package action

import (
	"crypto/x509"
	"net/url"
	"strconv"

	"github.com/chimejobs/chime/httpapi/internal/egress"
)

// A Net is a set of addresses: an address or a prefix, with one port or with all ports.
type Net = egress.Net

// ParseNet reads an address or a prefix, with or without a port: "10.1.2.3", "10.0.0.0/8", "127.0.0.1:9000", "[fd00::/8]:9000".
func ParseNet(text string) (Net, error) { return egress.ParseNet(text) }

// An Egress limits the addresses that requests may go to. The zero Egress allows public addresses on ports 80, 443 and 1024 and above, reached by a name.
//
// The dialled address decides, after the look-up and for each hop. The rules, in order: DenyNets; AllowNets, which with a port also allows that port;
// IANA's special ranges and the host of Azure's machines, 168.63.129.16, which are refused; ports. Addresses in a URI, and names of this
// machine, need AllowNets. Proxies of the environment are ignored.
//
// With Proxy, an answer over http:// may be the proxy's own. So if it is not a success, only its status is noted. A proxy that answers in different ways
// for a name that it refuses and for a name without an address lets clients list the names of an inner zone.
type Egress struct {
	DenyNets      []Net          // refused, even if AllowNets contains them
	AllowNets     []Net          // allowed, even in special ranges
	AllowInsecure bool           // credentials and signatures may be sent over http://
	Proxy         *url.URL       // http or https; it has to check resolved names itself, because only URIs are checked here. Nil: none
	Roots         *x509.CertPool // the roots for certificates of servers; nil: the system's. The check cannot be disabled
}

func (e *Egress) guard() *egress.Guard { return &egress.Guard{Deny: e.DenyNets, Allow: e.AllowNets} }

// checkURL refuses an invalid URL, and a URL that can be refused without a look-up. The error of a blocked URL is an *egress.BlockedError.
func (e *Egress) checkURL(u *url.URL) error {
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || port == 0 {
		return errURI
	}
	return e.guard().CheckHost(u.Hostname(), uint16(port))
}
