package memconn

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
)

func TestAConnectionWithTooManyUnreadBytesIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe() // far has no reader
		c := newConn(near)
		defer c.Close()
		c.limit = 1000
		piece := make([]byte, 501)
		_, err := c.Write(piece)
		synctest.Wait() // the first is being forwarded, a second is kept, and a third is too much
		if _, again := c.Write(piece); err != nil || again != nil {
			t.Fatalf("the first two: %v, %v", err, again)
		}
		if _, err := c.Write(piece); err == nil {
			t.Error("a write beyond the limit succeeded")
		}
		if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the other end: %v, want io.EOF", err)
		}
	})
}
