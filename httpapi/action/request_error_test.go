package action

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A failingRequest is a request without an answer: what the owner of the job reads, and what only the operator reads.
type failingRequest struct {
	name   string
	reason string   // all that the note contains after the host
	logged []string // parts of the log line; no part is in the note or in the error
	sender *Sender
	uri    string
	change func(*Request)
}

// dials returns a sender whose connections to the receiver end with an error.
func dials(t *testing.T, err error) *Sender {
	s := NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{AllowInsecure: true}})
	s.transports.shared.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, err }
	return s
}

// netError is an error as net.Dialer returns it.
func netError(err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 443}, Err: err}
}

// senderThrough returns a sender with a proxy.
func senderThrough(t *testing.T, proxy string) *Sender {
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	return NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{Proxy: u, AllowInsecure: true}})
}

// proxyAnswers returns the URL of a proxy that answers each request, CONNECT too, with a status and a body.
func proxyAnswers(t *testing.T, status int, header ...string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "proxy3.corp.example cannot resolve db.corp.example with 10.0.0.53")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// closedAddress is an address of this machine where nothing listens.
func closedAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// senderTrusting returns a sender that reaches an address of this machine and trusts some roots.
func senderTrusting(t *testing.T, address string, roots *x509.CertPool) *Sender {
	n, err := ParseNet(address)
	if err != nil {
		t.Fatal(err)
	}
	local, err := ParseNet("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{AllowNets: []Net{n, local}, Roots: roots, AllowInsecure: true}})
}

// failingRequests are all kinds of errors that a request can end with, by the step in which they occur.
func failingRequests(t *testing.T) []failingRequest {
	certificate, roots := serverCertificate(t)
	other := httptest.NewTLSServer(nil)
	t.Cleanup(other.Close)
	plain := receive(t, nil)
	breaks := func(protocol, text string, answer2 func(net.Conn, uint32) bool) string {
		r := &breakingReceiver{answer: writes(text), answer2: answer2}
		return r.listen(t, protocol, certificate)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts its connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	hasty := senderTrusting(t, silent.Addr().String(), roots)
	hasty.transports.shared.transport.TLSHandshakeTimeout = time.Millisecond
	closes, garbage := breaks("http", "", nil), breaks("http", "220 mail.corp.example ESMTP 10.0.0.25\r\n\r\n", nil)
	away := breaks("h2", "", func(c net.Conn, stream uint32) bool {
		frame(c, frameGoAway, 0, 0, append(append(number(stream), number(0)...), "10.0.0.7 drains"...)...)
		return true
	})
	reset := breaks("h2", "", resetsStream(1))
	redirects := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			panic(http.ErrAbortHandler)
		}
		http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
	})
	redirects.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	_, blocked := (&net.Dialer{Control: (&Egress{}).guard().Control}).DialContext(t.Context(), "tcp", plain.Listener.Addr().String())
	tokenAt := func(tokenURL string) func(*Request) {
		return func(r *Request) {
			r.Authentication = &Authentication{Type: OAuth, TokenURL: tokenURL, ClientID: "me", ClientSecret: Plain("canary")}
		}
	}
	tokens := func(answer http.HandlerFunc) (*Sender, func(*Request)) {
		r := receive(t, answer)
		return senderTo(t, r.Server), tokenAt(r.URL + "/token")
	}
	refusing, refusingToken := tokens(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"invalid_client","error_description":"10.0.0.9 knows no canary"}`, http.StatusUnauthorized)
	})
	chatty, chattyToken := tokens(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>login.corp.example") })
	odd, oddToken := tokens(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"a b","token_type":"Bearer"}`)
	})
	moving, movingToken := tokens(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.0.0.9/", http.StatusFound)
	})
	hole := closedAddress(t)
	const secure, open = "https://db.corp.example/", "http://db.corp.example/"
	dns := func(err *net.DNSError) *Sender { return dials(t, netError(err)) }
	return []failingRequest{
		// connecting
		{"a name without an address", unreachable, []string{"no such host", "10.0.0.53"}, dns(&net.DNSError{Err: "no such host", Name: "db.corp.example", Server: "10.0.0.53:53", IsNotFound: true}), secure, nil},
		{"a resolver that does not answer", unreachable, []string{"i/o timeout", "10.0.0.53"}, dns(&net.DNSError{Err: "i/o timeout", Name: "db.corp.example", Server: "10.0.0.53:53", IsTimeout: true}), secure, nil},
		{"a resolver that fails", unreachable, []string{"server misbehaving"}, dns(&net.DNSError{Err: "server misbehaving", Name: "db.corp.example", Server: "10.0.0.53:53", IsTemporary: true}), secure, nil},
		{"a name whose address is blocked", unreachable, []string{"is blocked", "127.0.0.1"}, dials(t, blocked), secure, nil},
		{"an address that is blocked", unreachable, []string{"is blocked"}, dials(t, nil), "http://10.1.2.3/", nil},
		{"this machine, which is blocked", unreachable, []string{"is blocked"}, dials(t, nil), "http://localhost/", nil},
		{"no route", unreachable, []string{"10.1.2.3", "no route to host"}, dials(t, netError(os.NewSyscallError("connect", syscall.EHOSTUNREACH))), secure, nil},
		{"no file descriptor", unreachable, []string{"too many open files"}, dials(t, netError(os.NewSyscallError("socket", syscall.EMFILE))), secure, nil},
		{"a closed port", refused, []string{"10.1.2.3", "connection refused"}, dials(t, netError(os.NewSyscallError("connect", syscall.ECONNREFUSED))), secure, nil},
		{"a port that does not answer", timedOut, []string{"10.1.2.3", "timeout"}, dials(t, netError(os.ErrDeadlineExceeded)), secure, nil},
		// TLS
		{"an unknown authority", invalidCertificate, []string{"unknown authority"}, senderTrusting(t, other.Listener.Addr().String(), x509.NewCertPool()), other.URL, nil},
		{"a certificate of another name", invalidCertificate, []string{"example.com"}, senderTrusting(t, other.Listener.Addr().String(), roots), strings.Replace(other.URL, "127.0.0.1", "localhost", 1), nil},
		{"no TLS", failedHandshake, []string{"TLS handshake"}, senderTrusting(t, plain.Listener.Addr().String(), roots), "https://" + plain.Listener.Addr().String(), nil},
		{"a handshake without an answer", timedOut, []string{"TLS handshake timeout"}, hasty, "https://" + silent.Addr().String(), nil},
		// the answer over HTTP/1.1 and HTTP/2
		{"closed before the answer", broken, []string{"EOF"}, senderTrusting(t, closes, roots), "http://" + closes, nil},
		{"another protocol", broken, []string{"malformed HTTP", "mail.corp.example"}, senderTrusting(t, garbage, roots), "http://" + garbage, nil},
		{"GOAWAY", broken, []string{"GOAWAY", "10.0.0.7 drains"}, senderTrusting(t, away, roots), "https://" + away, nil},
		{"RST_STREAM", broken, []string{"PROTOCOL_ERROR"}, senderTrusting(t, reset, roots), "https://" + reset, nil},
		{"closed after a redirect", broken, []string{"EOF"}, senderTo(t, redirects.Server), redirects.URL, func(r *Request) { r.Redirects = 1 }},
		// the proxy
		{"a proxy that is not there", unreachable, []string{hole, "proxyconnect"}, senderThrough(t, "http://"+hole), secure, nil},
		{"a proxy that is not there, over http", unreachable, []string{hole}, senderThrough(t, "http://"+hole), open, nil},
		{"a proxy without a valid certificate", unreachable, []string{"unknown authority"}, senderThrough(t, other.URL), secure, nil},
		{"a proxy that refuses the name", unreachable, []string{"Forbidden"}, senderThrough(t, proxyAnswers(t, 403)), secure, nil},
		{"a proxy without an address for the name", unreachable, []string{"Service Unavailable"}, senderThrough(t, proxyAnswers(t, 503)), secure, nil},
		{"a proxy that gets no answer", unreachable, []string{"Gateway Timeout"}, senderThrough(t, proxyAnswers(t, 504)), secure, nil},
		{"a proxy that wants a login", unreachable, []string{"Proxy Authentication Required"}, senderThrough(t, proxyAnswers(t, 407)), secure, nil},
		{"a proxy that wants a login, over http", unreachable, []string{"the proxy wants a login"}, senderThrough(t, proxyAnswers(t, 407)), open, nil},
		{"a proxy that closes the connection", unreachable, []string{"EOF"}, senderThrough(t, "http://"+closes), secure, nil},
		// the token
		{"no address for the token endpoint", tokenEndpoint + unreachable, []string{"10.0.0.53"}, dns(&net.DNSError{Err: "no such host", Name: "db.corp.example", Server: "10.0.0.53:53", IsNotFound: true}), secure, tokenAt(secure)},
		{"a blocked token endpoint", tokenEndpoint + unreachable, []string{"is blocked"}, dials(t, nil), secure, tokenAt("https://127.0.0.1/")},
		{"a name of a token endpoint that is blocked", tokenEndpoint + unreachable, []string{"is blocked"}, dials(t, blocked), secure, tokenAt(secure)},
		{"a token endpoint's closed port", tokenEndpoint + refused, []string{"connection refused"}, senderTrusting(t, hole, nil), secure, tokenAt("https://" + hole)},
		{"a token endpoint's certificate", tokenEndpoint + invalidCertificate, []string{"unknown authority"}, senderTrusting(t, other.Listener.Addr().String(), x509.NewCertPool()), secure, tokenAt(other.URL)},
		{"a token endpoint that breaks off", tokenEndpoint + broken, []string{"EOF"}, senderTrusting(t, closes, nil), secure, tokenAt("http://" + closes)},
		{"a token endpoint that refuses", tokenEndpoint + "status 401", nil, refusing, secure, refusingToken},
		{"a token endpoint that redirects", tokenEndpoint + "status 302", nil, moving, secure, movingToken},
		{"a token endpoint of another kind", tokenEndpoint + "its answer is not a token", []string{"oauth2"}, chatty, secure, chattyToken},
		{"a token that is no header", tokenEndpoint + "its answer is not a token", nil, odd, secure, oddToken},
		{"a token endpoint behind a proxy", tokenEndpoint + unreachable, []string{"Forbidden"}, senderThrough(t, proxyAnswers(t, 403)), secure, tokenAt(secure)},
	}
}

// The owner of a job learns whether the receiver can be reached, and nothing about the network of the operator: no address, resolver or proxy. A blocked
// destination cannot be distinguished from a name without an address, by the text or by what becomes of the job.
func TestAHistoryHasNothingAboutTheNetwork(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range failingRequests(t) {
		var lines strings.Builder
		c.sender.options.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		t.Cleanup(c.sender.Close)
		w := send(t, c.sender, to(c.uri, c.change))
		u, err := url.Parse(c.uri)
		if err != nil {
			t.Fatal(err)
		}
		seen[strings.TrimPrefix(c.reason, tokenEndpoint)] = true
		if want := notePrefix + "No response from host '" + u.Host + "': " + c.reason; w.Note != want {
			t.Errorf("%s: the note is %q, want %q", c.name, w.Note, want)
		}
		if want := "action: " + u.Host + ": no answer: " + c.reason; w.Action != chime.Retried || w.Err == nil || !strings.HasSuffix(w.Err.Error(), want) {
			t.Errorf("%s: %v, %v, want it to be retried with %q", c.name, w.Action, w.Err, want)
		}
		line := lines.String()
		for _, part := range append(c.logged, "event=request.failed", "id=demo:report@2027-03-01T10:00:00Z", "schedule=demo:report", "attempt=2", "fence=77", "host=") {
			if !strings.Contains(line, part) {
				t.Errorf("%s: the log has no %q: %s", c.name, part, line)
			}
		}
		if strings.Contains(line, "canary") || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: the log has a secret or several lines: %s", c.name, line)
		}
	}
	for _, reason := range []string{unreachable, refused, timedOut, invalidCertificate, failedHandshake, broken} {
		if !seen[reason] {
			t.Errorf("no request has ended with %q", reason)
		}
	}
}

// What is not classified has a text of this package too.
func TestOnlyKnownTextsBecomeReasons(t *testing.T) {
	unknown := errors.New("10.0.0.7")
	for cause, want := range map[error]string{
		nil: unknownReason, errTimeout: timedOut, chime.ErrTimeout: timedOut, chime.ErrShutdown: chime.ErrShutdown.Error(), chime.ErrSessionLost: chime.ErrSessionLost.Error(),
		chime.ErrCancelled: chime.ErrCancelled.Error(), chime.ErrReplaced: chime.ErrReplaced.Error(), unknown: interrupted, context.Canceled: interrupted,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if cause != nil {
			cancel(cause)
		}
		if f := requestErrorOf(ctx, unknown); f.Error() != want || !errors.Is(f, unknown) {
			t.Errorf("%v: %q, want %q", cause, f.Error(), want)
		}
		cancel(nil)
	}
}

// The receiver has decided when its status has arrived: a body that breaks off makes no second request of a success.
func TestTheStatusDecidesIfTheBodyBreaksOff(t *testing.T) {
	certificate, roots := serverCertificate(t)
	for _, c := range []struct {
		status string
		want   chime.Action
		note   string
	}{
		{"200 OK", chime.Succeeded, "'OK' Response Headers: Content-Length: 100 The body is incomplete: " + broken + ". Body: ten, and 10.0.0.7|"},
		{"409 Conflict", chime.Succeeded, "'Conflict' Response Headers: Content-Length: 100 The body is incomplete: " + broken + ". Body: ten, and 10.0.0.7|"},
		{"500 Oh", chime.Retried, "'InternalServerError' Response Headers: Content-Length: 100 The body is incomplete: " + broken + ". Body: ten, and 10.0.0.7|"},
		{"410 Gone", chime.Discarded, "'Gone' Response Headers: Content-Length: 100 The body is incomplete: " + broken + ". Body: ten, and 10.0.0.7|"},
	} {
		address := (&breakingReceiver{answer: writes("HTTP/1.1 " + c.status + "\r\nContent-Length: 100\r\n\r\nten, and 10.0.0.7|canar")}).listen(t, "http", certificate)
		sender := senderTrusting(t, address, roots)
		t.Cleanup(sender.Close)
		var lines strings.Builder
		sender.options.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		a := to("http://"+address, func(r *Request) {
			r.SuccessCodes, r.SecretHeaders = []string{"200-299", "409"}, map[string]Secret{"X-Key": Plain("canary")}
		})
		a.Excerpt = ExcerptAlways
		w := send(t, sender, a)
		if w.Action != c.want || !strings.HasSuffix(w.Note, c.note) {
			t.Errorf("%s: %v, note %q, want %v and %q", c.status, w.Action, w.Note, c.want, c.note)
		}
		if !strings.Contains(lines.String(), "unexpected EOF") {
			t.Errorf("%s: the log is %s", c.status, &lines)
		}
	}
}

// An answer of a proxy over http may be about its own network; what it says is not noted.
func TestAnAnswerOfAProxyIsNotNoted(t *testing.T) {
	sender := senderThrough(t, proxyAnswers(t, 503, "Location", "http://proxy3.corp.example/help", "Content-Type", "text/corp"))
	t.Cleanup(sender.Close)
	a := to("http://db.corp.example/", nil)
	a.Excerpt = ExcerptAlways
	w := send(t, sender, a)
	if want := notePrefix + "Response from host 'db.corp.example': 'ServiceUnavailable' Response Headers:"; w.Action != chime.Retried || w.Note != want {
		t.Errorf("%v, note %q, want %q", w.Action, w.Note, want)
	}
	ok := senderThrough(t, proxyAnswers(t, 200))
	t.Cleanup(ok.Close)
	if w := send(t, ok, a); w.Action != chime.Succeeded || !strings.Contains(w.Note, "Body: ") {
		t.Errorf("a success: %v, note %q", w.Action, w.Note)
	}
}
