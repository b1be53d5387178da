package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
)

func nets(t *testing.T, texts ...string) []Net {
	t.Helper()
	var all []Net
	for _, text := range texts {
		n, err := ParseNet(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// Other guards have let these hosts through: each one means an address that is not public.
var blockedHosts = []string{
	// loopback
	"127.0.0.1", "127.1.2.3", "127.255.255.254", "localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost",
	"ip6-loopback", "localhost6", "localhost4", "::1", "0:0:0:0:0:0:0:1", "0.0.0.0", "::", "0.1.2.3",
	// other spellings of 127.0.0.1, of 169.254.169.254 and of 10.0.0.1
	"2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "0x7F.1", "127.1", "127.0.1", "017700000001", "0", "127.0.0.1.", "127.0.0.01", "0127.0.0.1",
	"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "0xA9.0xFE.0xA9.0xFE", "169.254.43518", "169.254.169.254.", "012.0.0.1", "0xa.1", "10.1",
	"00000000000000000000000177.0.0.1", "1.0x", "foo.0x7f", "foo.1", "4294967296", "256.256.256.256",
	// invalid hosts, and hosts that are mapped to others on the way
	"１２７.０.０.１", "127。0。0。1", "ⓛocalhost", "loc\u00adalhost", "", ".", "..", "a..b", "exa mple.com", "127.0.0.1#", "127.0.0.1/", "a@b", "-\x00", "%31",
	// private, link-local, metadata, shared, benchmark, documentation, multicast, reserved
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.255",
	"198.18.0.1", "198.19.255.255", "192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
	"255.255.255.255", "192.88.99.1", "100.100.100.200", "168.63.129.16", "::ffff:168.63.129.16",
	// IPv6: mapped, compatible, NAT64, 6to4, Teredo, unique local, link-local, site-local, multicast, documentation, metadata
	"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254",
	"64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1", "2001:0:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "::1%lo",
	"fec0::1", "ff02::1", "2001:db8::1", "100::1", "3fff::1", "5f00::1",
}

// None of these hosts is dialled, neither at validation nor at sending: no dialer of the process reaches a socket.
func TestNoDestinationInsideTheNetworkIsDialled(t *testing.T) {
	var guard Guard
	var sockets atomic.Int32
	dialer := &net.Dialer{Control: func(network, address string, c syscall.RawConn) error {
		if err := guard.Control(network, address, c); err != nil {
			return err
		}
		sockets.Add(1)
		return errors.New("the guard let it through")
	}}
	for _, host := range blockedHosts {
		if err := guard.CheckHost(host, 80); !blocked(err) {
			t.Errorf("host %q: %v, want it blocked", host, err)
		}
		addr, err := netip.ParseAddr(host)
		if err != nil {
			continue
		}
		// The same addresses, as a name would resolve to them.
		conn, err := dialer.DialContext(t.Context(), "tcp", netip.AddrPortFrom(addr, 80).String())
		if err == nil {
			conn.Close()
		}
		if !blocked(err) && addr.Zone() == "" {
			t.Errorf("dialling %s: %v, want it blocked", addr, err)
		}
	}
	if n := sockets.Load(); n != 0 {
		t.Errorf("%d of %d destinations were dialled", n, len(blockedHosts))
	}
	if len(blockedHosts) < 60 {
		t.Errorf("the table has %d hosts only", len(blockedHosts))
	}
}

func TestPublicNamesAndAddressesAreDialled(t *testing.T) {
	var guard Guard
	for _, host := range []string{"example.com", "example.com.", "xn--bcher-kva.example", "a_b.example", "1.example", "0x7f.example", "localhost.example.com", "notlocalhost", "ip6"} {
		if err := guard.CheckHost(host, 443); err != nil {
			t.Errorf("host %s: %v", host, err)
		}
	}
	for _, at := range []string{"93.184.216.34:80", "1.1.1.1:443", "[2606:4700::1]:443", "8.8.8.8:1024", "8.8.8.8:65535", "[::ffff:8.8.8.8]:80", "172.32.0.1:80", "100.63.0.1:80"} {
		if err := guard.Control("tcp4", at, nil); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestTheRulesOfTheGuardCountInTheirOrder(t *testing.T) {
	guard := Guard{
		Deny:  nets(t, "10.9.0.0/16", "203.0.114.7", "[2606:4700::]:8443", "127.0.0.1:9999"),
		Allow: nets(t, "10.0.0.0/8", "127.0.0.1:25", "127.0.0.1:9999", "[::1]:9000", "fd00::/8", "8.8.8.8:53", "::ffff:192.168.1.1"),
	}
	for _, c := range []struct {
		at   string
		open bool
		why  string
	}{
		{"10.1.0.1:80", true, "allowed"},
		{"10.1.0.1:22", false, "allowed without a port, so the port rule still applies"},
		{"10.9.0.1:80", false, "Deny precedes Allow"},
		{"[::ffff:10.9.0.1]:80", false, "the same in IPv6 form"},
		{"203.0.114.7:443", false, "a public address that is denied"},
		{"203.0.114.8:443", true, "its neighbour"},
		{"[2606:4700::]:8443", false, "denied on this port"},
		{"[2606:4700::]:443", true, "not denied on this port"},
		{"127.0.0.1:25", true, "allowed with this port"},
		{"127.0.0.1:80", false, "another port"},
		{"[::ffff:127.0.0.1]:25", true, "the same address"},
		{"127.0.0.1:9999", false, "both denied and allowed"},
		{"127.0.0.2:25", false, "another address"},
		{"[::1]:9000", true, "allowed"},
		{"[::1]:9001", false, "another port"},
		{"[fd12::1]:8080", true, "allowed by prefix"},
		{"[fe80::1]:8080", false, "not allowed by that prefix"},
		{"8.8.8.8:53", true, "a low port, allowed explicitly"},
		{"8.8.8.8:22", false, "a low port"},
		{"8.8.8.8:1023", false, "the last low one"},
		{"192.168.1.1:80", true, "allowed in IPv6 form"},
	} {
		if err := guard.Control("tcp6", c.at, nil); (err == nil) != c.open {
			t.Errorf("%s (%s): %v", c.at, c.why, err)
		}
	}
	for host, open := range map[string]bool{"10.1.0.1": true, "127.0.0.1": false, "8.8.4.4": false, "localhost": false, "::1": false, "10.9.0.1": false} {
		if err := guard.CheckHost(host, 80); (err == nil) != open {
			t.Errorf("host %s on port 80: %v", host, err)
		}
	}
	if err := guard.CheckHost("localhost", 9000); err != nil {
		t.Errorf("localhost on the port that is allowed: %v", err)
	}
	for _, network := range []string{"udp4", "unix", "tcp", "ip4:icmp"} {
		if err := guard.Control(network, "93.184.216.34:80", nil); !blocked(err) {
			t.Errorf("network %s: %v, want it blocked", network, err)
		}
	}
}

// The dialer resolves the name, so a name that becomes private between two look-ups is refused at the second one.
func TestANameThatLeadsInsideIsBlocked(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan struct{}, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			conn.Close()
			reached <- struct{}{}
		}
	}()
	var guard Guard
	dialer := &net.Dialer{Control: guard.Control}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, listener.Addr().String()) // the name now resolves to this
	}}
	client := &http.Client{Transport: transport}
	answer, err := client.Get((&url.URL{Scheme: "http", Host: "rebound.example"}).String())
	if err == nil {
		answer.Body.Close()
	}
	if !blocked(err) {
		t.Errorf("%v, want it blocked", err)
	}
	select {
	case <-reached:
		t.Error("the listener was dialled")
	default:
	}
}

func TestInvalidNetsAreRefused(t *testing.T) {
	for _, text := range []string{"", "x", "10.0.0.0/33", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:", "[::1", "::1]:80", "fe80::1%eth0", "localhost:80", "::ffff:0:0/64", "010.0.0.1"} {
		if n, err := ParseNet(text); err == nil {
			t.Errorf("%q is read as %v", text, n)
		}
	}
	for text, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "10.1.2.3/8": "10.0.0.0/8", "127.0.0.1:9000": "127.0.0.1:9000", "[::1]:9000": "[::1]:9000", "[fd00::/8]:80": "[fd00::/8]:80", "fd00::/8": "fd00::/8",
		"10.0.0.0/8:8080": "10.0.0.0/8:8080", "::ffff:1.2.3.4": "1.2.3.4",
	} {
		if n, err := ParseNet(text); err != nil || n.String() != want {
			t.Errorf("%q is read as %v, %v; want %s", text, n, err, want)
		}
	}
}

func FuzzParseNet(f *testing.F) {
	for _, text := range []string{"10.0.0.0/8", "[::1]:9000", "127.0.0.1:25", "::ffff:1.2.3.4/100", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNet(text)
		if err != nil {
			return
		}
		if again, err := ParseNet(n.String()); err != nil || again != n {
			t.Errorf("%q is %v, which is read as %v, %v", text, n, again, err)
		}
	})
}

// FuzzCheckHost: a host that passes is never an address in disguise; only a look-up can resolve it.
func FuzzCheckHost(f *testing.F) {
	for _, host := range blockedHosts {
		f.Add(host)
	}
	f.Add("example.com")
	f.Fuzz(func(t *testing.T, host string) {
		var guard Guard
		if guard.CheckHost(host, 80) != nil {
			return
		}
		if _, err := netip.ParseAddr(host); err == nil {
			t.Errorf("the address %q passes", host)
		}
		u, err := url.Parse("http://" + host + "/")
		if err != nil || u.Hostname() != host {
			t.Errorf("%q passes, and is read as %v, %v", host, u, err)
		}
	})
}

func blocked(err error) bool {
	var b *BlockedError
	return errors.As(err, &b)
}
