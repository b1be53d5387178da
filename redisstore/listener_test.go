package redisstore

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/simredis"
)

// A lost subscription is opened again with one connection. go-redis opens no second one, for which a ping would wait and which nobody uses.
func TestALostSubscriptionIsOpenedAgainWithOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New()
		dialed := make(chan net.Conn, 10)
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true,
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				if ctx.Err() != nil {
					return nil, ctx.Err() // as dialers of the package net do
				}
				c, err := server.Dial()
				dialed <- c
				return c, err
			},
		})
		listener := New(client, Options{}).Protocol().Listen("w")
		connected := func() {
			for s := range listener.Signals() {
				if s.Connected {
					return
				}
			}
		}
		connected()
		synctest.Wait()
		for range 5 {
			var last net.Conn
			for len(dialed) > 0 {
				last = <-dialed
			}
			_ = last.Close()
			connected()
			synctest.Wait()
			if n := len(dialed); n != 1 {
				t.Errorf("a lost subscription has cost %d connections, want 1", n)
			}
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		_ = client.Close()
		server.Close()
		time.Sleep(2 * time.Second) // fake time: the pool checks once a second whether it is closed
	})
}
