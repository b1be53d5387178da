package faultproxy

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"time"
)

// bufferSize is as much of one pipeline as the proxy sees at once.
const bufferSize = 1 << 20

// A link is one client's connection and its continuation to the server.
type link struct {
	proxy  *Proxy
	client net.Conn
	done   chan struct{} // closed at its end

	mu         sync.Mutex
	server     net.Conn
	closed     bool
	waiting    []*batch // sent, not all answered, oldest first
	subscribed bool     // from here on what the server says answers nothing
}

// A batch is what a client sent at once: a pipeline, most often of one.
type batch struct {
	size int   // commands
	hit  int   // which of them the rule picked
	rule *rule // nil: nothing befalls it

	replies []byte // kept back until all are there
	count   int
	first   []byte // of the reply to the command hit
}

func (l *link) connect(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	return !l.closed
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	close(l.done)
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the peer hears of it at once, and no port stays in TIME_WAIT
	}
	l.client.Close()
	if l.server != nil {
		l.server.Close()
	}
}

// cut ends the link as a fault.
func (l *link) cut() {
	l.proxy.counts.cut.Add(1)
	l.close()
}

// requests passes on what the client says, a batch at a time.
func (l *link) requests() {
	defer l.close()
	in := bufio.NewReaderSize(l.client, bufferSize)
	for {
		raw, commands, err := readBatch(in)
		if err != nil || !l.proxy.gate(l) {
			return
		}
		l.learn(commands)
		rule, hit := l.proxy.ruleFor(commands)
		if rule != nil && rule.before {
			l.cut()
			l.proxy.strike(rule)
			return
		}
		l.expect(&batch{size: len(commands), rule: rule, hit: hit}, commands)
		l.proxy.counts.commands.Add(int64(len(commands)))
		if _, err := l.server.Write(raw); err != nil {
			return
		}
	}
}

func (l *link) learn(commands []Command) {
	for _, c := range commands {
		switch {
		case len(c) > 1 && strings.EqualFold(c.Name(), "EVAL"):
			l.proxy.Learn(string(c[1]))
		case len(c) > 2 && strings.EqualFold(c.Name(), "SCRIPT") && strings.EqualFold(string(c[1]), "LOAD"):
			l.proxy.Learn(string(c[2]))
		}
	}
}

func (l *link) expect(b *batch, commands []Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range commands {
		switch strings.ToUpper(c.Name()) {
		case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR":
			l.subscribed = true
		}
	}
	if !l.subscribed {
		l.waiting = append(l.waiting, b)
	}
}

// replies passes on what the server says, one batch's replies at a time.
func (l *link) replies() {
	defer l.close()
	in := bufio.NewReaderSize(l.server, bufferSize)
	for {
		reply, err := readReply(in)
		if err != nil {
			return
		}
		b := l.answered(reply)
		if b == nil {
			if !l.pass(reply, 1) {
				return
			}
			continue
		}
		if b.count < b.size {
			continue
		}
		if b.rule != nil && !strings.HasPrefix(string(b.first), "-NOSCRIPT") {
			l.proxy.counts.lost.Add(int64(b.count))
			l.cut()
			l.proxy.strike(b.rule)
			return
		}
		if b.rule != nil {
			l.proxy.rearm(b.rule)
		}
		if !l.pass(b.replies, b.count) {
			return
		}
	}
}

// answered adds a reply to the batch that waits for it; nil: it answers nothing, a push message.
func (l *link) answered(reply []byte) *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reply[0] == '>' || len(l.waiting) == 0 {
		return nil
	}
	b := l.waiting[0]
	if b.count == b.hit {
		b.first = reply
	}
	b.replies = append(b.replies, reply...)
	b.count++
	if b.count == b.size {
		l.waiting = l.waiting[1:]
	}
	return b
}

// pass writes replies to the client; false: the link has ended.
func (l *link) pass(raw []byte, count int) bool {
	if delay := l.proxy.pause(); delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
	}
	if !l.proxy.gate(l) {
		return false
	}
	if _, err := l.client.Write(raw); err != nil {
		return false
	}
	l.proxy.counts.replies.Add(int64(count))
	return true
}
