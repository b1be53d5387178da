package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

func TestAdviceNamesTheSettingThatNamesTheServer(t *testing.T) {
	refused := fmt.Errorf("list queues: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})
	for _, c := range []struct {
		flags Flags
		url   string
		err   error
		want  string
	}{
		{Flags{}, "", refused, "neither --redis nor REDIS_URL names a server, so it is 127.0.0.1:6379: start Redis there, or name yours"},
		{Flags{}, "redis://u:secret@redis:6380/2", refused, "redis:6380 is what REDIS_URL says: does Redis run there, and may this machine reach it?"},
		{Flags{Redis: "rediss://u:secret@other:1"}, "redis://redis:6380", refused, "other:1 is what --redis says: does Redis run there, and may this machine reach it?"},
		{Flags{Redis: "unix:///run/redis.sock"}, "", refused, "/run/redis.sock is what --redis says"},
		{Flags{Master: "m", Sentinels: []string{"s1:26379", "s2:26379"}}, "redis://redis:6380", refused, "s1:26379,s2:26379 is what --sentinel says"},
		{Flags{Redis: "redis://other:1"}, "", fmt.Errorf("list: %w", context.DeadlineExceeded), "--timeout 5s ran out; other:1 is what --redis says: "},
		{Flags{}, "", fmt.Errorf("check: %w", chime.ErrUnfit), ""},
		{Flags{}, "", fmt.Errorf("put: %w", chime.ErrStoreFull), ""},
		{Flags{}, "", io.ErrUnexpectedEOF, ""},
		{Flags{}, "http://x", refused, ""},
		{Flags{}, "", nil, ""},
	} {
		c.flags.Timeout = 5 * time.Second
		got := c.flags.Advice(func(string) string { return c.url }, c.err)
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "secret") || strings.Contains(got, "\n") {
			t.Errorf("%+v, REDIS_URL %q, %v: got %q, want %q", c.flags, c.url, c.err, got, c.want)
		}
	}
}
