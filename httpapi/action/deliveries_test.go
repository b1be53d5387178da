package action

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// A breakingReceiver reads requests and ends them as a test defines. It works on the bytes of a connection, so that nothing but the sender repeats a request.
type breakingReceiver struct {
	warm    int                                        // number of first requests, which are all answered at once: each leaves an idle connection
	answer  func(c net.Conn, in *bufio.Reader)         // ends a request over HTTP/1.1, or returns after an answer
	answer2 func(c net.Conn, stream uint32) (end bool) // ends a request over HTTP/2

	mu       sync.Mutex
	requests int
	warmed   chan struct{}
}

// arrived counts a request. The first ones wait until all of them have arrived, and are answered.
func (r *breakingReceiver) arrived() (warming bool) {
	r.mu.Lock()
	r.requests++
	n := r.requests
	r.mu.Unlock()
	if n > r.warm {
		return false
	}
	if n == r.warm {
		close(r.warmed)
	}
	<-r.warmed
	return true
}

func (r *breakingReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

func (r *breakingReceiver) serve(c net.Conn) {
	defer c.Close()
	if secure, ok := c.(*tls.Conn); ok {
		if secure.Handshake() != nil {
			return
		}
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			r.serve2(c)
			return
		}
	}
	in := bufio.NewReader(c)
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		if r.arrived() {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
			continue
		}
		r.answer(c, in)
		return
	}
}

// The frames of HTTP/2 that a receiver needs, RFC 9113.
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0, 1, 3, 4, 7
	flagEndStream, flagAck, flagEndHeaders                          = 1, 1, 4
)

func frame(c net.Conn, kind, flags byte, stream uint32, payload ...byte) {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8|uint32(kind))
	head[4] = flags
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = c.Write(append(head, payload...))
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func (r *breakingReceiver) serve2(c net.Conn) {
	in := bufio.NewReader(c)
	if _, err := io.CopyN(io.Discard, in, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame(c, frameSettings, 0, 0)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.BigEndian.Uint32(head)>>8)); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		if kind == frameSettings && flags&flagAck == 0 {
			frame(c, frameSettings, flagAck, 0)
		}
		if kind != frameHeaders && kind != frameData || flags&flagEndStream == 0 {
			continue
		}
		if r.arrived() {
			frame(c, frameHeaders, flagEndHeaders|flagEndStream, stream, 0x89) // :status 204
		} else if r.answer2(c, stream) {
			return
		}
	}
}

// resets closes a connection so that the other side sees "connection reset by peer".
func resets(c net.Conn) {
	raw := c
	if secure, ok := c.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	_ = raw.(*net.TCPConn).SetLinger(0)
	_ = raw.Close()
}

// resetsStream ends a stream by RST_STREAM with an error code.
func resetsStream(code uint32) func(net.Conn, uint32) bool {
	return func(c net.Conn, stream uint32) bool {
		frame(c, frameReset, 0, stream, number(code)...)
		return false
	}
}

// writes answers over HTTP/1.1 with these bytes, and closes the connection.
func writes(text string) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(c, text) }
}

// One attempt sends one request to every kind of receiver. An http.Transport would repeat some requests on other connections.
func TestAnAttemptIsDeliveredOnce(t *testing.T) {
	certificate, pool := serverCertificate(t)
	const fresh, used = 0, 3
	for _, receiver := range []struct {
		name     string
		warm     int // connections that are idle before the attempt
		answer   func(net.Conn, *bufio.Reader)
		answer2  func(net.Conn, uint32) bool
		succeeds bool
	}{
		{"answers", used, writes("HTTP/1.1 204 No Content\r\n\r\n"), func(c net.Conn, stream uint32) bool {
			frame(c, frameHeaders, flagEndHeaders|flagEndStream, stream, 0x89)
			return false
		}, true},
		{"closes a new connection", fresh, writes(""), func(net.Conn, uint32) bool { return true }, false},
		{"closes a used connection", used, writes(""), func(net.Conn, uint32) bool { return true }, false},
		{"resets a used connection", used, func(c net.Conn, _ *bufio.Reader) { resets(c) }, func(c net.Conn, _ uint32) bool { resets(c); return true }, false},
		{"breaks off the header of its answer", used, writes("HTTP/1.1 200 O"), func(c net.Conn, stream uint32) bool {
			frame(c, frameHeaders, 0, stream, 0x88) // without END_HEADERS
			return true
		}, false},
		{"breaks off the body of its answer", used, writes("HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nten"), func(c net.Conn, stream uint32) bool {
			frame(c, frameHeaders, flagEndHeaders, stream, 0x8e) // :status 500
			frame(c, frameData, 0, stream, 't')
			return true
		}, false},
		{"answers 408 and closes", used, writes("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), nil, false},
		{"answers no HTTP", used, writes("\x15\x03\x01\x00\x02\x02\x16\r\n\r\n"), nil, false},
		{"resets the stream: NO_ERROR", used, nil, resetsStream(0), false},
		{"resets the stream: PROTOCOL_ERROR", used, nil, resetsStream(1), false},
		{"resets the stream: INTERNAL_ERROR", used, nil, resetsStream(2), false},
		{"resets the stream: REFUSED_STREAM", used, nil, resetsStream(7), false},
		{"resets the stream: CANCEL", used, nil, resetsStream(8), false},
		{"resets the stream: ENHANCE_YOUR_CALM", used, nil, resetsStream(11), false},
		{"resets the stream: HTTP_1_1_REQUIRED", used, nil, resetsStream(13), false},
		{"goes away before the stream", used, nil, func(c net.Conn, stream uint32) bool {
			frame(c, frameGoAway, 0, 0, append(number(0), number(0)...)...) // the last stream that it has processed: none
			return true
		}, false},
		{"goes away after the stream", used, nil, func(c net.Conn, stream uint32) bool {
			frame(c, frameGoAway, 0, 0, append(number(stream), number(0)...)...)
			return true
		}, false},
	} {
		for _, protocol := range []string{"http", "https", "h2"} {
			if protocol == "h2" && receiver.answer2 == nil || protocol != "h2" && receiver.answer == nil {
				continue
			}
			for _, method := range methods {
				t.Run(receiver.name+"/"+protocol+"/"+method, func(t *testing.T) {
					warm := receiver.warm
					if protocol == "h2" {
						warm = min(warm, 1) // all requests share one connection
					}
					r := &breakingReceiver{warm: warm, answer: receiver.answer, answer2: receiver.answer2, warmed: make(chan struct{})}
					address := r.listen(t, protocol, certificate)
					n, err := ParseNet(address)
					if err != nil {
						t.Fatal(err)
					}
					sender := NewSender(SenderOptions{Egress: Egress{AllowNets: []Net{n}, Roots: pool}})
					t.Cleanup(sender.Close)
					a := &Action{Type: HTTPS, Request: &Request{URI: strings.Replace(protocol, "h2", "https", 1) + "://" + address, Method: method, Timeout: Interval(1e9)}}
					if method != "GET" && method != "HEAD" {
						a.Request.Body = "charge 100 EUR"
					}
					var warming sync.WaitGroup
					for range warm {
						job := jobOf(t, a)
						warming.Go(func() { _ = sender.Handle(t.Context(), job) })
					}
					warming.Wait()
					w := chimetest.Work(t, sender.Handle, jobOf(t, a))
					if got := r.count() - warm; got != 1 {
						t.Errorf("the receiver got the attempt %d times, want once; %v", got, w.Err)
					}
					if got := w.Action == chime.Succeeded; got != receiver.succeeds {
						t.Errorf("the attempt has ended as %v: %v", w.Action, w.Err)
					}
					if strings.Contains(w.Note, "Transport failed") {
						t.Errorf("the note begins with words of net/http: %s", w.Note)
					}
				})
			}
		}
	}
}

// listen serves connections until the end of the test, and returns its address.
func (r *breakingReceiver) listen(t *testing.T, protocol string, certificate tls.Certificate) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if protocol != "http" {
		config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		if protocol == "h2" {
			config.NextProtos = []string{"h2"}
		}
		listener = tls.NewListener(listener, config)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { r.serve(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
	})
	return address
}

// serverCertificate is a certificate for 127.0.0.1, and the roots that trust it.
func serverCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server.TLS.Certificates[0], roots
}
