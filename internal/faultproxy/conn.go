package faultproxy

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"sync"
	"time"
)

// bufferSize is the largest pipeline, in bytes, that the proxy reads as one batch.
const bufferSize = 1 << 20

// A conn is one client's connection together with the connection to the server to which it is forwarded.
type conn struct {
	proxy  *Proxy
	client net.Conn
	done   chan struct{} // closed when the connection ends

	mu         sync.Mutex
	server     net.Conn
	closed     bool
	waiting    []*batch // batches that wait for replies, oldest first
	subscribed bool     // after a subscription the server sends messages that answer no command
}

// A batch is what a client sent at once: a pipeline, mostly of one command.
type batch struct {
	size    int   // number of commands
	matched int   // index of the command that the rule matched
	rule    *rule // nil: no rule applies

	replies      []byte // held until all replies have arrived
	count        int    // number of replies
	matchedReply []byte // the reply to the matched command
}

func (c *conn) connect(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = server
	return !c.closed
}

func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.done)
	if tcp, ok := c.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the peer sees the end at once, and no port remains in TIME_WAIT
	}
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
}

// cut ends the connection as a fault.
func (c *conn) cut() {
	c.proxy.counts.cut.Add(1)
	c.close()
}

// forwardRequests forwards what the client sends, one batch at a time.
func (c *conn) forwardRequests() {
	defer c.close()
	in := bufio.NewReaderSize(c.client, bufferSize)
	for {
		raw, commands, err := readBatch(in)
		if err != nil || !c.proxy.waitOpen(c) {
			return
		}
		c.learn(commands)
		rule, matched := c.proxy.ruleFor(commands)
		if rule != nil && rule.before {
			c.cut()
			c.proxy.markApplied(rule)
			return
		}
		c.expect(&batch{size: len(commands), rule: rule, matched: matched}, commands)
		c.proxy.counts.commands.Add(int64(len(commands)))
		if _, err := c.server.Write(raw); err != nil {
			return
		}
	}
}

// learn records the scripts that the commands send to the server.
func (c *conn) learn(commands []Command) {
	for _, command := range commands {
		switch {
		case len(command) > 1 && strings.EqualFold(command.Name(), "EVAL"):
			c.proxy.Learn(string(command[1]))
		case len(command) > 2 && strings.EqualFold(command.Name(), "SCRIPT") && strings.EqualFold(string(command[1]), "LOAD"):
			c.proxy.Learn(string(command[2]))
		}
	}
}

// expect records that a batch waits for its replies.
func (c *conn) expect(b *batch, commands []Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, command := range commands {
		switch strings.ToUpper(command.Name()) {
		case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR":
			c.subscribed = true
		}
	}
	if !c.subscribed {
		c.waiting = append(c.waiting, b)
	}
}

// forwardReplies forwards what the server sends, all replies to one batch at a time.
func (c *conn) forwardReplies() {
	defer c.close()
	in := bufio.NewReaderSize(c.server, bufferSize)
	for {
		reply, err := readReply(in)
		if err != nil {
			return
		}
		if prefix := c.proxy.watched.Load(); prefix != nil && bytes.HasPrefix(reply, *prefix) {
			c.proxy.counts.watched.Add(1)
		}
		b := c.addReply(reply)
		if b == nil {
			if !c.forward(reply, 1) {
				return
			}
			continue
		}
		if b.count < b.size {
			continue
		}
		if b.rule != nil && !strings.HasPrefix(string(b.matchedReply), "-NOSCRIPT") {
			c.proxy.counts.lost.Add(int64(b.count))
			c.cut()
			c.proxy.markApplied(b.rule)
			return
		}
		if b.rule != nil {
			c.proxy.rearm(b.rule)
		}
		if !c.forward(b.replies, b.count) {
			return
		}
	}
}

// takeWaiting removes and returns the batches that wait for replies.
func (c *conn) takeWaiting() []*batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting
	c.waiting = nil
	return waiting
}

// addReply adds a reply to the batch that waits for it. It returns nil for a push message, which is not the answer to a command.
func (c *conn) addReply(reply []byte) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reply[0] == '>' || len(c.waiting) == 0 {
		return nil
	}
	b := c.waiting[0]
	if b.count == b.matched {
		b.matchedReply = reply
	}
	b.replies = append(b.replies, reply...)
	b.count++
	if b.count == b.size {
		c.waiting = c.waiting[1:]
	}
	return b
}

// forward writes replies to the client. It returns false if the connection has ended.
func (c *conn) forward(raw []byte, count int) bool {
	if delay := c.proxy.replyDelay(len(raw)); delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.done:
			return false
		}
	}
	if !c.proxy.waitOpen(c) {
		return false
	}
	if _, err := c.client.Write(raw); err != nil {
		return false
	}
	c.proxy.counts.replies.Add(int64(count))
	return true
}
