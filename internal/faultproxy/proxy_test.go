//go:build real && unix

package faultproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/redistest"
)

// noRetries are client options without retries: every failure is returned.
var noRetries = redis.Options{MaxRetries: -1, ContextTimeoutEnabled: true}

// setup returns a proxy, its client, which uses one connection, and a client connected directly to the server.
func setup(t *testing.T) (*Proxy, *redis.Client, *redis.Client) {
	server := redistest.Start(t, redistest.Options{})
	proxy := Start(t, server.Addr())
	o := noRetries
	o.Addr, o.PoolSize = proxy.Addr(), 1
	return proxy, server.Client(&o), server.Client(nil)
}

const incr = "-- count.lua: add one.\nreturn redis.call('INCR', KEYS[1])\n"

func TestACommandWhoseReplyIsLostWasExecuted(t *testing.T) {
	proxy, client, direct := setup(t)
	lost := proxy.LoseReply(Named("incr"))
	if err := client.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("the caller got no error for a lost reply")
	}
	await(t, lost)
	want(t, "the counter after the lost reply", direct.Get(t.Context(), "n").Val(), "1")
	want(t, "the next call", fmt.Sprint(client.Incr(t.Context(), "n").Val()), "2")
	if c := proxy.Counts(); c.Lost != 1 || c.Cut != 1 {
		t.Fatalf("counts %+v, want one reply lost and one connection cut", c)
	}
}

func TestAClientThatRetriesExecutesTheCommandTwice(t *testing.T) {
	proxy, _, direct := setup(t)
	retrying := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	defer retrying.Close()
	proxy.LoseReply(Named("incr"))
	if got, err := retrying.Incr(t.Context(), "n").Result(); err != nil || got != 2 {
		t.Fatalf("INCR = %d, %v, want 2: the client sent it again", got, err)
	}
	want(t, "the counter", direct.Get(t.Context(), "n").Val(), "2")
}

func TestAPipelineLosesAllItsReplies(t *testing.T) {
	proxy, client, direct := setup(t)
	lost := proxy.LoseReply(All(Named("incr"), Contains("third")))
	pipe := client.Pipeline()
	keys := []string{"first", "second", "third", "fourth"}
	for _, key := range keys {
		pipe.Incr(t.Context(), key)
	}
	commands, err := pipe.Exec(t.Context())
	if err == nil {
		t.Fatal("the pipeline reported no error")
	}
	await(t, lost)
	for i, c := range commands {
		if c.Err() == nil {
			t.Errorf("the reply to command %d arrived", i)
		}
	}
	for _, key := range keys {
		want(t, key, direct.Get(t.Context(), key).Val(), "1")
	}
}

func TestAScriptIsMatchedByItsTitleAndNoscriptUsesUpNoRule(t *testing.T) {
	proxy, client, direct := setup(t)
	script := redis.NewScript(incr)
	lost := proxy.LoseReply(proxy.Script("count"))
	if err := script.Run(t.Context(), client, []string{"n"}).Err(); err == nil { // EVALSHA, NOSCRIPT, EVAL
		t.Fatal("the first run's reply arrived")
	}
	await(t, lost)
	want(t, "after EVAL", direct.Get(t.Context(), "n").Val(), "1")

	lost = proxy.LoseReply(proxy.Script("count"))
	if err := script.EvalSha(t.Context(), client, []string{"n"}).Err(); err == nil {
		t.Fatal("the reply to EVALSHA arrived")
	}
	await(t, lost)
	want(t, "after EVALSHA", direct.Get(t.Context(), "n").Val(), "2")

	direct.ScriptFlush(t.Context())
	lost = proxy.LoseReply(Nth(1, proxy.Script("count")))
	if err := script.EvalSha(t.Context(), client, []string{"n"}).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Fatalf("EVALSHA of a flushed script: %v, want NOSCRIPT to pass", err)
	}
	if err := script.Eval(t.Context(), client, []string{"n"}).Err(); err == nil {
		t.Fatal("the rule did not wait for the call that was executed")
	}
	await(t, lost)
	want(t, "after the second EVAL", direct.Get(t.Context(), "n").Val(), "3")
}

func TestALostRequestIsNeverExecuted(t *testing.T) {
	proxy, client, direct := setup(t)
	lost := proxy.LoseRequest(Contains("n"))
	if err := client.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("the caller got no error for a lost request")
	}
	await(t, lost)
	if n := direct.Exists(t.Context(), "n").Val(); n != 0 {
		t.Fatal("a lost request was executed")
	}
}

func TestNthAppliesToTheNthCommandOnly(t *testing.T) {
	proxy, client, _ := setup(t)
	proxy.LoseReply(Nth(3, Named("incr")))
	for i := 1; i <= 5; i++ {
		if err := client.Incr(t.Context(), "n").Err(); (err != nil) != (i == 3) {
			t.Fatalf("call %d: error %v, want one for the third only", i, err)
		}
	}
}

func TestLoseRepliesAppliesUntilItsEndIsCalled(t *testing.T) {
	proxy, client, direct := setup(t)
	end := proxy.LoseReplies(Named("incr"))
	for range 3 {
		if err := client.Incr(t.Context(), "n").Err(); err == nil {
			t.Fatal("a reply arrived")
		}
	}
	end()
	want(t, "the first call after the end", fmt.Sprint(client.Incr(t.Context(), "n").Val()), "4")
	want(t, "the counter", direct.Get(t.Context(), "n").Val(), "4")
}

func TestARuleStaysWhenAConnectionEndsForAnotherReason(t *testing.T) {
	proxy, client, direct := setup(t)
	lost := proxy.LoseReply(Named("blpop"))
	ended := make(chan error, 1)
	go func() { ended <- client.BLPop(t.Context(), 0, "list").Err() }()
	awaitBlocked(t, direct)
	proxy.Cut()
	if err := <-ended; err == nil {
		t.Fatal("a cut connection was answered")
	}
	direct.RPush(t.Context(), "list", "a", "b")
	if err := client.BLPop(t.Context(), 0, "list").Err(); err == nil {
		t.Fatal("a call that was never answered has used up the rule")
	}
	await(t, lost)
}

func TestCutEndsConnectionsAndAcceptsNewOnes(t *testing.T) {
	proxy, client, _ := setup(t)
	must(t, client.Ping(t.Context()).Err())
	proxy.Cut()
	must(t, client.Ping(t.Context()).Err()) // the pool has replaced the connection
	if c := proxy.Counts(); c.Cut != 1 || c.Connections != 2 {
		t.Fatalf("counts %+v, want 1 cut of 2 connections", c)
	}
}

func TestRefuseEndsNewConnectionsOnly(t *testing.T) {
	proxy, client, _ := setup(t)
	must(t, client.Ping(t.Context()).Err())
	proxy.Refuse(true)
	must(t, client.Ping(t.Context()).Err())
	conn, err := net.Dial("tcp", proxy.Addr())
	if err == nil { // otherwise it was ended before Dial returned
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a new connection: %v, want it ended", err)
	}
	proxy.Refuse(false)
	if c := proxy.Counts(); c.Refused != 1 {
		t.Fatalf("counts %+v, want 1 refused", c)
	}
}

func TestStallHoldsAllBytesBackAndResumeForwardsThem(t *testing.T) {
	proxy, client, direct := setup(t)
	must(t, client.Ping(t.Context()).Err())
	proxy.Stall()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if err := client.Set(ctx, "k", "v", 0).Err(); err == nil {
		t.Fatal("a stalled connection answered")
	}
	if n := direct.Exists(t.Context(), "k").Val(); n != 0 {
		t.Fatal("a byte passed during the stall")
	}
	answer := make(chan error, 1)
	go func() { answer <- client.Ping(t.Context()).Err() }()
	proxy.Resume()
	must(t, <-answer)
	until(t, "the bytes held back arrive", func() bool { return direct.Get(t.Context(), "k").Val() == "v" })
}

func TestPublishedMessagesAreForwarded(t *testing.T) {
	proxy, client, direct := setup(t)
	for _, protocol := range []int{2, 3} {
		o := noRetries
		o.Addr, o.Protocol = proxy.Addr(), protocol
		subscriber := redis.NewClient(&o)
		defer subscriber.Close()
		subscription := subscriber.Subscribe(t.Context(), "channel")
		defer subscription.Close()
		if _, err := subscription.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			direct.Publish(t.Context(), "channel", i)
		}
		for i := range 10 {
			m, err := subscription.ReceiveMessage(t.Context())
			must(t, err)
			want(t, "message", m.Payload, fmt.Sprint(i))
		}
	}
	must(t, client.Ping(t.Context()).Err())
}

func TestEveryKindOfReplyIsReadUnchanged(t *testing.T) {
	replies := []string{
		"+OK\r\n", "-ERR no\r\n", ":12\r\n", "$3\r\na\nb\r\n", "$-1\r\n", "$0\r\n\r\n", "*0\r\n", "*-1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n",
		"(123\r\n", "=5\r\ntxt:a\r\n", "!2\r\nno\r\n", "*2\r\n*1\r\n:1\r\n$1\r\na\r\n", "%1\r\n+k\r\n*1\r\n:1\r\n", "~1\r\n:1\r\n",
		"|1\r\n+ttl\r\n:3\r\n:12\r\n", ">2\r\n+message\r\n+x\r\n",
	}
	in := bufio.NewReader(strings.NewReader(strings.Join(replies, "")))
	for _, reply := range replies {
		got, err := readReply(in)
		if err != nil || string(got) != reply {
			t.Fatalf("read %q, %v, want %q", got, err, reply)
		}
	}
	if _, err := readReply(in); err != io.EOF {
		t.Fatalf("after the last reply: %v, want EOF", err)
	}
}

func TestInlineCommandsAreForwarded(t *testing.T) {
	proxy, _, _ := setup(t)
	conn := dial(t, proxy)
	fmt.Fprint(conn, "\r\nSET k v\r\nGET k\r\n")
	must(t, conn.Flush())
	for _, line := range []string{"+OK\r\n", "$1\r\n", "v\r\n"} {
		got, err := conn.ReadString('\n')
		must(t, err)
		want(t, "line", got, line)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	before := runtime.NumGoroutine()
	proxy := Start(t, server.Addr())
	var conns []*bufio.ReadWriter
	for range 20 {
		conns = append(conns, dial(t, proxy))
	}
	for _, c := range conns {
		fmt.Fprint(c, "PING\r\n")
		must(t, c.Flush())
		if _, err := c.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	proxy.Stall()
	for _, c := range conns {
		fmt.Fprint(c, "PING\r\n")
		must(t, c.Flush())
	}
	proxy.Close()
	proxy.Close()
	until(t, fmt.Sprintf("no more than %d goroutines", before), func() bool { return runtime.NumGoroutine() <= before })
}

func dial(t *testing.T, p *Proxy) *bufio.ReadWriter {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
}

// awaitBlocked returns when a client waits in a blocking command.
func awaitBlocked(t *testing.T, direct *redis.Client) {
	t.Helper()
	until(t, "a client blocks", func() bool {
		return strings.Contains(direct.Info(t.Context(), "clients").Val(), "blocked_clients:1")
	})
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func await(t *testing.T, applied <-chan struct{}) {
	t.Helper()
	select {
	case <-applied:
	case <-time.After(time.Minute): // real time: a rule that does not apply fails the test
		t.Fatal("the rule did not apply within a minute")
	}
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRepliesThatBeginAsToldAreCounted(t *testing.T) {
	proxy, client, _ := setup(t)
	proxy.CountReplies("-WRONGTYPE")
	client.Set(t.Context(), "text", "a", 0)
	for range 3 {
		if err := client.Incr(t.Context(), "n").Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.LPush(t.Context(), "text", "b").Err(); err == nil {
			t.Fatal("a list operation on a text got no error")
		}
	}
	if c := proxy.Counts(); c.Watched != 3 {
		t.Fatalf("%d replies were counted, want 3", c.Watched)
	}
}
