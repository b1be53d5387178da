package simredis

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialed returns a connection to a new server.
func dialed(t *testing.T) (*Server, net.Conn) {
	s := started(t)
	c, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestCommandsArriveInPieces(t *testing.T) {
	_, c := dialed(t)
	const commands, want = "*2\r\n$4\r\nECHO\r\n$4\r\na\r\nb\r\n*0\r\n*1\r\n$4\r\nping\r\n", "$4\r\na\r\nb\r\n+PONG\r\n"
	for size := 1; size <= len(commands); size++ {
		for rest := commands; rest != ""; {
			n := min(size, len(rest))
			if _, err := c.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			t.Fatalf("in pieces of %d bytes: %q, %v", size, got, err)
		}
	}
}

func TestWhatIsNoCommandEndsTheConnection(t *testing.T) {
	for _, wrong := range []string{"PING\r\n", "*1\r\n+PING\r\n", "*x\r\n", "*1\n", "*\r\n", "*-1\r\n", "*1\r\n$9999999999999999999\r\n"} {
		_, c := dialed(t)
		if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n" + wrong)); err != nil {
			t.Errorf("%q: %v", wrong, err)
		}
		if got, err := io.ReadAll(c); string(got) != "+PONG\r\n" || err != nil {
			t.Errorf("%q: read %q, %v", wrong, got, err)
		}
		if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err == nil {
			t.Errorf("%q: a write after it succeeded", wrong)
		}
	}
}

func TestQuitEndsTheConnectionAfterItsReply(t *testing.T) {
	_, c := dialed(t)
	_, _ = c.Write([]byte("*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n"))
	if got, err := io.ReadAll(c); string(got) != "+OK\r\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestAReadDeadlineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := dialed(t)
		for range 2 {
			began := time.Now()
			_ = c.SetDeadline(began.Add(time.Second))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("reading: %v after %v", err, time.Since(began))
			}
		}
		_ = c.SetDeadline(time.Time{})
		go func() {
			time.Sleep(time.Hour) // fake time
			_ = c.SetReadDeadline(time.Now())
		}()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a deadline that was set while reading: %v", err)
		}
	})
}

func TestClosingEndsAReader(t *testing.T) {
	for name, want := range map[string]error{"connection": net.ErrClosed, "server": io.EOF} {
		synctest.Test(t, func(t *testing.T) {
			s, c := dialed(t)
			read := make(chan error)
			go func() {
				_, err := c.Read(make([]byte, 1))
				read <- err
			}()
			synctest.Wait()
			if name == "server" {
				s.Close()
			} else {
				_ = c.Close()
			}
			if err := <-read; err != want {
				t.Errorf("reading when the %s was closed: %v, want %v", name, err, want)
			}
			if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err == nil {
				t.Errorf("writing when the %s was closed succeeded", name)
			}
			if _, err := s.Dial(); (err != nil) != (name == "server") {
				t.Errorf("Dial when the %s was closed: %v", name, err)
			}
		})
	}
}

// The test also ends only when all goroutines have ended: synctest waits for them.
func TestSubscribersReceiveMessagesUntilTheyLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t)
		client := clientOf(t, s.Dial, redis.Options{})
		defer client.Close()
		var subscribed []*redis.PubSub
		for range 3 {
			p := client.Subscribe(t.Context(), "news", "other")
			if _, err := p.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			subscribed = append(subscribed, p)
		}
		if n := client.Publish(t.Context(), "news", "one").Val(); n != 3 {
			t.Errorf("%d received it, want 3", n)
		}
		for _, p := range subscribed {
			for {
				message, err := p.Receive(t.Context())
				if got, is := message.(*redis.Message); is && got.Payload == "one" {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = subscribed[0].Close()
		_ = subscribed[1].Unsubscribe(t.Context())
		synctest.Wait()
		if n := client.Eval(t.Context(), "return redis.call('PUBLISH', 'news', 'two')", nil).Val(); n != int64(1) {
			t.Errorf("%v received it, want 1", n)
		}
		for _, p := range subscribed {
			_ = p.Close()
		}
		synctest.Wait()
		if n := client.Publish(t.Context(), "news", "three").Val(); n != 0 {
			t.Errorf("%d received it, want none", n)
		}
	})
}

func TestACommandThatWaitsDelaysNoOtherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t)
		client := clientOf(t, s.Dial, redis.Options{ReadTimeout: time.Hour})
		defer client.Close()
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if got, err := client.BLPop(t.Context(), 0, "list").Result(); err != nil || got[1] != "v" {
				t.Errorf("BLPOP: %v, %v", got, err)
			}
		})
		synctest.Wait()
		client.RPush(t.Context(), "list", "v")
		waiting.Wait()
		began := time.Now()
		if err := client.BLPop(t.Context(), time.Minute, "list").Err(); err != redis.Nil || time.Since(began) != time.Minute {
			t.Errorf("BLPOP of an empty list: %v after %v", err, time.Since(began))
		}
		waiting.Go(func() {
			if err := client.BLPop(t.Context(), 0, "list").Err(); err == nil {
				t.Error("BLPOP has an answer of a closed server")
			}
		})
		synctest.Wait()
		s.Close()
		waiting.Wait()
	})
}

func TestALargePipelineIsAnswered(t *testing.T) {
	client := clientOf(t, started(t).Dial, redis.Options{})
	pipe := client.Pipeline()
	text := strings.Repeat("x", 64<<10)
	for range 100 {
		pipe.Echo(t.Context(), text)
	}
	answers, err := pipe.Exec(t.Context())
	if err != nil || len(answers) != 100 {
		t.Fatalf("%d answers, %v, want 100", len(answers), err)
	}
}

func TestAConnectionWithTooManyUnreadBytesIsClosed(t *testing.T) {
	_, c := dialed(t)
	c.(*conn).limit = 1000
	if _, err := c.Write([]byte("*1\r\n$2000\r\n" + strings.Repeat("x", 900))); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	if _, err := c.Write(make([]byte, 100)); err == nil {
		t.Error("beyond the limit: no error")
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading: %v, want io.EOF", err)
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	client := clientOf(t, started(t).Dial, redis.Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				client.Eval(t.Context(), "return redis.call('HINCRBY', KEYS[1], 'n', 1)", []string{"h"})
				client.HIncrBy(t.Context(), "h", "n", 1)
			}
		})
	}
	all.Wait()
	if n := client.HGet(t.Context(), "h", "n").Val(); n != "3200" {
		t.Errorf("counted %s, want 3200", n)
	}
}

func TestAServerOfAPortRunsScriptsToo(t *testing.T) {
	s := started(t)
	for range 2 {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, DisableIdentity: true})
		client.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{"n"})
		if stateOf(s.nested[0]).nested != true {
			t.Error("miniredis ran the script")
		}
		_ = client.Close()
		s.Close()
	}
	if n, _ := s.Get("n"); n != "2" {
		t.Errorf("n is %s, want 2", n)
	}
}

// Two clients that run at the same time see each other's calls.
func TestClientsTakeTurns(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	client := clientOf(t, started(t).Dial, redis.Options{})
	client.AddHook(Turns)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		all.Go(func() {
			for range 50 {
				client.RPush(t.Context(), "order", name)
			}
		})
	}
	all.Wait()
	changes, last := 0, ""
	for _, name := range client.LRange(t.Context(), "order", 0, -1).Val() {
		if name != last {
			changes, last = changes+1, name
		}
	}
	if changes < 20 {
		t.Errorf("%d changes among 100 calls of two clients, want many", changes)
	}
}

// Close waits for commands that may block, so none may begin beside it.
func TestACommandThatMayWaitDoesNotBeginAfterClose(t *testing.T) {
	s := New()
	c, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	s.forget(c.(*conn)) // as if Close had not ended it yet
	s.Close()
	if _, err := c.Write([]byte("*3\r\n$5\r\nBLPOP\r\n$1\r\nk\r\n$1\r\n0\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 64)); err != io.EOF {
		t.Errorf("the connection: %v, want %v", err, io.EOF)
	}
}
