package loopback

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestElsewhereIsAllThatMayNotBeThisMachine(t *testing.T) {
	const here = "127.0.0.1:50000"
	for _, c := range []struct {
		name, peer, host, header string
		allowed                  bool
	}{
		{"curl to localhost", here, "localhost:8080", "", true},
		{"without a port", here, "localhost", "", true},
		{"in capitals", here, "LocalHost:8080", "", true},
		{"by its address", here, "127.0.0.1:8080", "", true},
		{"by its address, no port", here, "127.0.0.1", "", true},
		{"by another address of loopback", here, "127.0.0.2:8080", "", true},
		{"by IPv6", "[::1]:50000", "[::1]:8080", "", true},
		{"by IPv6, no port", "[::1]:50000", "[::1]", "", true},
		{"IPv4 on a socket of IPv6", "[::ffff:127.0.0.1]:50000", "localhost:8080", "", true},
		{"a header that means nothing", here, "localhost:8080", "X-Forward: 1", true},

		{"from the network", "192.0.2.7:50000", "localhost:8080", "", false},
		{"from the network of the house", "192.168.1.7:50000", "localhost:8080", "", false},
		{"from IPv6", "[2001:db8::7]:50000", "localhost:8080", "", false},
		{"from IPv4 mapped", "[::ffff:192.0.2.7]:50000", "localhost:8080", "", false},
		{"from a socket without an address", "@", "localhost:8080", "", false},
		{"without a peer address", "", "localhost:8080", "", false},

		{"a name that was rebound", here, "evil.example:8080", "", false},
		{"a name that begins with localhost", here, "localhost.evil.example", "", false},
		{"a name below localhost", here, "app.localhost:8080", "", false},
		{"a name with a dot", here, "localhost.:8080", "", false},
		{"an address in a name", here, "127.0.0.1.evil.example", "", false},
		{"the machine's other address", here, "192.168.1.7:8080", "", false},
		{"all addresses", here, "0.0.0.0:8080", "", false},
		{"an address as a number", here, "2130706433:8080", "", false},
		{"an address with zeros", here, "127.0.0.01:8080", "", false},
		{"no host", here, "", "", false},
		{"a user before the host", here, "localhost:8080@evil.example", "", false},
		{"an invalid port", here, "localhost:http", "", false},
		{"IPv6 without brackets", here, "::1", "", false},
		{"IPv6 with a zone", here, "[::1%25lo]:8080", "", false},

		{"a proxy: Forwarded", here, "localhost:8080", "Forwarded: for=192.0.2.7", false},
		{"a proxy: X-Forwarded-For", here, "localhost:8080", "X-Forwarded-For: 127.0.0.1", false},
		{"a proxy: X-Forwarded-Host", here, "localhost:8080", "X-Forwarded-Host: localhost", false},
		{"a proxy: X-Forwarded-Proto", here, "localhost:8080", "X-Forwarded-Proto: https", false},
		{"a proxy: a header of its own", here, "localhost:8080", "X-Forwarded-Anything: 1", false},
		{"a proxy: X-Real-IP", here, "localhost:8080", "X-Real-IP: 127.0.0.1", false},
		{"a proxy: Via", here, "localhost:8080", "Via: 1.1 proxy", false},
		{"a proxy: empty Via", here, "localhost:8080", "Via: ", false},
		{"a job that calls its own scheduler", here, "localhost:8080", "Chime-Fence: 7", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.peer, c.host
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		if why := Elsewhere(r); (why == "") != c.allowed {
			t.Errorf("%s (peer %q, host %q, %q): got %q, want allowed: %v", c.name, c.peer, c.host, c.header, why, c.allowed)
		}
	}
}

// A token proves more than the headers of a proxy, but neither a host name that was rebound nor a job of chime is this machine's user.
func TestForeignIsAllThatATokenDoesNotExcuse(t *testing.T) {
	const here = "127.0.0.1:50000"
	for _, c := range []struct {
		name, peer, host, header string
		allowed                  bool
	}{
		{"curl", here, "localhost:8080", "", true},
		{"nginx with its defaults", here, "127.0.0.1:8080", "", true},
		{"a proxy that adds a header", here, "localhost:8080", "X-Forwarded-For", true},
		{"another proxy that adds a header", here, "localhost:8080", "Via", true},
		{"from the network", "192.0.2.7:50000", "localhost:8080", "", false},
		{"a name that was rebound", here, "evil.example:8080", "", false},
		{"a proxy that passes the client's host", here, "jobs.example", "", false},
		{"a job that calls its own scheduler", here, "localhost:8080", "Chime-Fence", false},
		{"the same in small letters", here, "localhost:8080", "chime-fence", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.peer, c.host
		if c.header != "" {
			r.Header[c.header] = []string{"7"}
		}
		if why := Foreign(r); (why == "") != c.allowed {
			t.Errorf("%s (peer %q, host %q, header %q): got %q, want allowed: %v", c.name, c.peer, c.host, c.header, why, c.allowed)
		}
	}
}
