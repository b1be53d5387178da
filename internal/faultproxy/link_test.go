package faultproxy

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALinkDelaysByDelayJitterLossAndLength(t *testing.T) {
	for _, c := range []struct {
		link     Link
		bytes    int
		from, to time.Duration
	}{
		{Link{}, 1000, 0, 0},
		{Link{Delay: 200 * time.Millisecond}, 1000, 200 * time.Millisecond, 200 * time.Millisecond},
		{Link{Delay: 200 * time.Millisecond, Jitter: 100 * time.Millisecond}, 0, 100 * time.Millisecond, 300 * time.Millisecond},
		{Link{Loss: 1, Resend: time.Second}, 0, time.Second, time.Second},
		{Link{Rate: 1000}, 500, 500 * time.Millisecond, 500 * time.Millisecond},
	} {
		for range 100 {
			if d := c.link.delay(c.bytes); d < c.from || d > c.to {
				t.Errorf("%+v delays %d bytes by %v, want %v to %v", c.link, c.bytes, d, c.from, c.to)
			}
		}
	}
}

func TestAPipelineIsDelayedOnce(t *testing.T) {
	const pings, pong = 50, "+PONG\r\n"
	synctest.Test(t, func(t *testing.T) {
		proxy := &Proxy{open: make(chan struct{})}
		proxy.Delay(100 * time.Millisecond)
		client, clientEnd := net.Pipe()
		server, serverEnd := net.Pipe()
		c := &conn{proxy: proxy, client: clientEnd, server: serverEnd, done: make(chan struct{})}
		c.expect(&batch{size: pings}, nil)
		go c.forwardReplies()
		go func() { _, _ = io.WriteString(server, strings.Repeat(pong, pings)) }()
		began := time.Now()
		if _, err := io.ReadFull(client, make([]byte, pings*len(pong))); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("the replies to a pipeline of %d took %v, want 100 ms", pings, took)
		}
		c.close()
	})
}
