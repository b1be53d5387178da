package action

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/httpapi/internal/egress"
)

// A connection with a client certificate serves its own job only. Two tenants use one host: the server sees each tenant's own certificate, or none.
func TestAConnectionWithACertificateServesOneJob(t *testing.T) {
	type seen struct{ peer, certificate string }
	var mu sync.Mutex
	var all []seen
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := seen{peer: r.RemoteAddr}
		if len(r.TLS.PeerCertificates) > 0 {
			s.certificate = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
		_, _ = io.WriteString(w, "ok")
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	open := allowed(t, server)
	open.Roots = x509.NewCertPool()
	open.Roots.AddCert(server.Certificate())
	sender := NewSender(SenderOptions{Secrets: testRing(t), Egress: open})
	t.Cleanup(sender.Close)

	certificate, key, _, _ := clientCertificate(t, time.Now().Add(time.Hour))
	withKey := &Action{Type: HTTPS, Request: &Request{URI: server.URL, Authentication: &Authentication{Type: ClientCertificate, Certificate: certificate, Key: Plain(key)}}}
	plain := to(server.URL, nil)
	other := withKey.Clone()
	if err := other.Seal(testRing(t), Place{"tenant", "two"}, nil); err != nil {
		t.Fatal(err)
	}
	otherData, err := Encode(other)
	if err != nil {
		t.Fatal(err)
	}
	otherJob := jobOf(t, plain)
	otherJob.Schedule, otherJob.Payload = "tenant:two", otherData
	for _, job := range []*chime.Job{jobOf(t, withKey), jobOf(t, withKey), jobOf(t, plain), otherJob} {
		if w := chimetest.Work(t, sender.Handle, job); w.Action != chime.Succeeded {
			t.Fatal(w.Err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(all) != 4 || all[0] != all[1] || all[0].certificate != "client" || all[2].certificate != "" || all[3].certificate != "client" ||
		all[2].peer == all[0].peer || all[3].peer == all[0].peer {
		t.Errorf("the server saw %v: want one connection for the first job's two requests, one without a certificate, and one for the second job", all)
	}
	stranger := NewSender(SenderOptions{Egress: allowed(t, server)})
	if w := send(t, stranger, plain); w.Action != chime.Retried {
		t.Errorf("a server with an untrusted certificate: %v", w.Outcome)
	}
}

func TestOnlySoManyPoolsAreKept(t *testing.T) {
	certificate, key, _, _ := clientCertificate(t, time.Now().Add(time.Hour))
	pools := newTransports(Egress{}, defaultPerHost)
	auth := &Authentication{Type: ClientCertificate, Certificate: certificate, Key: Plain(key)}
	first, err := pools.of("job 0", auth)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pools.of("job 0", auth); err != nil || again != first {
		t.Errorf("%v: the same job got another pool", err)
	}
	for i := range maxOwnPools {
		if _, err := pools.of("job "+string(rune('A'+i)), auth); err != nil {
			t.Fatal(err)
		}
	}
	if len(pools.own) != maxOwnPools || pools.used.Len() != maxOwnPools {
		t.Errorf("%d pools in the map, %d in the list", len(pools.own), pools.used.Len())
	}
	if again, err := pools.of("job 0", auth); err != nil || again == first {
		t.Errorf("%v: the oldest pool is still there", err)
	}
}

func TestAProxyGetsOnlyWhatTheGuardAllows(t *testing.T) {
	proxy := receive(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from the proxy") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	u, err := parseURI(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	sender := NewSender(SenderOptions{Egress: Egress{Proxy: u}})
	t.Cleanup(sender.Close)
	if w := send(t, sender, to("http://example.com/r", nil)); w.Action != chime.Succeeded {
		t.Errorf("%v", w.Err)
	}
	for _, uri := range []string{"http://10.0.0.1/", "http://localhost/", "http://0x7f.1/", "http://[::1]/"} {
		if w := send(t, sender, to(uri, nil)); w.Action != chime.Retried || !strings.Contains(w.Note, unreachable) {
			t.Errorf("%s: %v", uri, w.Outcome)
		}
	}
	if requests, _ := proxy.requests(); len(requests) != 1 || requests[0].URL.String() != "http://example.com/r" {
		t.Errorf("the proxy got %d requests", len(requests))
	}
}

// A name may resolve to an inside address: the address is checked, on the connections of every pool.
func TestEveryPoolDialsThroughTheGuard(t *testing.T) {
	r := receive(t, nil)
	certificate, key, _, _ := clientCertificate(t, time.Now().Add(time.Hour))
	pools := newTransports(Egress{}, defaultPerHost)
	own, err := pools.of("job", &Authentication{Type: ClientCertificate, Certificate: certificate, Key: Plain(key)})
	if err != nil {
		t.Fatal(err)
	}
	for name, pool := range map[string]*pool{"shared": pools.shared, "own": own} {
		conn, err := pool.transport.DialContext(t.Context(), "tcp", r.Listener.Addr().String())
		if err == nil {
			conn.Close()
		}
		if blocked := (*egress.BlockedError)(nil); !errors.As(err, &blocked) {
			t.Errorf("%s: %v, want it blocked", name, err)
		}
	}
}

// Otherwise another spelling would allow twenty more simultaneous requests.
func TestAllSpellingsOfAHostAreOneHost(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/": "example.com:443", "https://EXAMPLE.com.:443/x": "example.com:443", "http://example.com.": "example.com:80", "http://[::1]:9000/": "::1:9000",
	} {
		u, err := parseURI(text)
		if err != nil || hostAndPort(u) != want {
			t.Errorf("%s has the destination %v, %v; want %s", text, u, err, want)
		}
	}
}
