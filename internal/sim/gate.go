package sim

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// A gate is the network between a process and the server: it has the faults of this process.
type gate struct {
	world *World
	name  string // of the process

	mu    sync.Mutex
	conns map[*conn]struct{}
	dead  bool // the process has vanished
}

var errUnreachable = errors.New("sim: the server cannot be reached")

// dial opens a connection.
func (g *gate) dial() (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead || g.world.faults.active(Cut, g.name) != nil {
		return nil, errUnreachable
	}
	inner, err := g.world.server.Dial()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, gate: g, closed: make(chan struct{})}
	g.conns[c] = struct{}{}
	return c, nil
}

// cut ends all connections; forever: the process has vanished.
func (g *gate) cut(forever bool) {
	g.mu.Lock()
	g.dead = g.dead || forever
	conns := g.conns
	g.conns = map[*conn]struct{}{}
	g.mu.Unlock()
	for c := range conns {
		c.breakOff()
	}
}

func (g *gate) forget(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// A conn is a connection of a process. A call is everything that the client writes at once: a command or a pipeline. The faults apply to calls.
//
// Calls that are delayed wait in held and are delivered one after the other, also if the client has closed the connection: they are in
// the network.
type conn struct {
	net.Conn // to the server
	gate     *gate
	closed   chan struct{} // closed by breakOff and Close

	mu      sync.Mutex
	partial []byte   // of a call that is not complete
	held    [][]byte // calls that were written and not delivered
	until   time.Time
	answers []byte // errors instead of the server's replies
	ended   bool
	reason  error // of ended: io.EOF, or net.ErrClosed
}

// Write delivers the calls that p completes, as far as the faults permit.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return 0, io.EOF // go-redis repeats the call: on a socket it would see that the connection has ended before it uses it
	}
	c.partial = append(c.partial, p...)
	size, commands, scripts := callIn(c.partial)
	if size < len(c.partial) || commands == 0 {
		return len(p), nil // the rest follows
	}
	call := c.partial
	c.partial = nil
	verdict := c.gate.world.faults.verdict(c.gate.name, commands == scripts)
	switch {
	case verdict.lose:
		c.end(io.EOF)
	case verdict.refuse != "" && (verdict.refuse != refusals[NoScript] || bytes.Contains(call[:min(len(call), 24)], []byte("evalsha"))):
		for range commands {
			c.answers = append(c.answers, "-"+verdict.refuse+"\r\n"...)
		}
	case verdict.delay > 0 || len(c.held) > 0:
		c.hold(call, verdict.delay)
	default:
		if _, err := c.Conn.Write(call); err != nil {
			return 0, err
		}
		if verdict.loseReply {
			c.end(io.EOF)
		}
	}
	if verdict.copy > 0 {
		c.gate.world.later(verdict.copy, func() { c.gate.world.deliver(call) })
	}
	return len(p), nil
}

// hold delivers a call after a delay, and after the calls that are held already.
func (c *conn) hold(call []byte, delay time.Duration) {
	at := time.Now().Add(delay)
	if at.Before(c.until) {
		at = c.until
	}
	c.until = at
	c.held = append(c.held, call)
	if len(c.held) > 1 {
		return
	}
	c.gate.world.later(time.Until(at), c.release)
}

// release delivers the calls that are held.
func (c *conn) release() {
	for {
		c.mu.Lock()
		wait := time.Until(c.until)
		if stall := c.gate.world.faults.active(Stall, c.gate.name); stall != nil {
			wait = max(wait, c.gate.world.left(stall))
		}
		if len(c.held) == 0 || wait <= 0 {
			break
		}
		c.mu.Unlock()
		time.Sleep(wait) // fake time
	}
	for _, call := range c.held {
		_, _ = c.Conn.Write(call)
	}
	c.held = nil
	ended := c.ended
	c.mu.Unlock()
	if ended {
		_ = c.Conn.Close()
	}
}

// Read returns the replies.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if len(c.answers) > 0 {
		n := copy(p, c.answers)
		c.answers = c.answers[n:]
		c.mu.Unlock()
		return n, nil
	}
	if c.ended {
		defer c.mu.Unlock()
		return 0, c.reason
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ended {
			return n, c.reason
		}
	}
	return n, err
}

// end ends the connection for the client. Calls that are held are delivered nevertheless.
func (c *conn) end(reason error) {
	if c.ended {
		return
	}
	c.ended, c.reason = true, reason
	close(c.closed)
	c.gate.forget(c)
	if len(c.held) == 0 {
		_ = c.Conn.Close()
		return
	}
	_ = c.Conn.SetReadDeadline(time.Now()) // for a reader; it gets the reason
}

// breakOff ends the connection as the network does.
func (c *conn) breakOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(io.EOF)
}

// Close ends the connection as the client does.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(net.ErrClosed)
	return nil
}

// callIn returns the length of the complete commands at the beginning of what a client wrote, their number, and how many of them are scripts.
func callIn(in []byte) (size, commands, scripts int) {
	for at := 0; ; {
		n, next := numberIn(in, at)
		if next == 0 {
			return size, commands, scripts
		}
		at = next
		script := false
		for i := range n {
			length, from := numberIn(in, at)
			if from == 0 || len(in) < from+length+2 {
				return size, commands, scripts
			}
			if word := string(in[from : from+min(length, 12)]); i == 0 {
				script = word == "evalsha" || word == "eval" || word == "evalsha_ro" || word == "eval_ro"
			}
			at = from + length + 2
		}
		size, commands = at, commands+1
		if script {
			scripts++
		}
	}
}

// numberIn reads a line such as $12, and returns where the next one begins; 0: it is not complete.
func numberIn(in []byte, at int) (n, next int) {
	for i := at + 1; i < len(in); i++ {
		switch b := in[i]; {
		case b >= '0' && b <= '9':
			n = 10*n + int(b-'0')
		case b == '\n':
			return n, i + 1
		}
	}
	return 0, 0
}

// faults has the faults of a world that are active.
type faults struct {
	mu     sync.Mutex
	on     []*Fault
	random *rand.Rand
	hits   map[Kind]int // calls that a fault has hit
}

// active returns an active fault of a kind that concerns a process, or nil.
func (f *faults) active(kind Kind, process string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range f.on {
		if fault.Kind == kind && fault.concerns(process) {
			return fault
		}
	}
	return nil
}

func (f *Fault) concerns(process string) bool { return f.On == "" || f.On == process }

// set begins or ends a fault.
func (f *faults) set(fault *Fault, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if on {
		f.on = append(f.on, fault)
		return
	}
	for i := range f.on {
		if f.on[i] == fault {
			f.on = append(f.on[:i:i], f.on[i+1:]...)
			return
		}
	}
}

// A verdict is what happens to a call.
type verdict struct {
	lose, loseReply bool
	refuse          string // the error instead of a reply
	delay, copy     time.Duration
}

// refusals are the errors of servers that execute nothing.
var refusals = map[Kind]string{
	OOM:      "OOM command not allowed when used memory > 'maxmemory'.",
	ReadOnly: "READONLY You can't write against a read only replica.",
	Loading:  "LOADING Redis is loading the dataset in memory",
	Busy:     "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	Moved:    "MOVED 1 127.0.0.1:1",
	NoScript: "NOSCRIPT No matching script. Please use EVAL.",
	Down:     "CLUSTERDOWN The cluster is down",
}

// verdict decides about a call of a process. Only scripts are refused, copied, and executed without a reply: other commands set up a connection.
func (f *faults) verdict(process string, scripts bool) (v verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range f.on {
		if !fault.concerns(process) || fault.Percent > 0 && f.random.IntN(100) >= fault.Percent {
			continue
		}
		refusal := refusals[fault.Kind]
		switch {
		case fault.Kind == LoseCall:
			v.lose = true
		case scripts && fault.Kind == LoseReply:
			v.loseReply = true
		case fault.Kind == Slow:
			v.delay = max(v.delay, time.Duration(f.random.Int64N(int64(fault.By))))
		case fault.Kind == Late:
			v.delay = max(v.delay, fault.By)
		case fault.Kind == Stall:
			v.delay = max(v.delay, time.Millisecond) // release waits for the end
		case scripts && fault.Kind == Copy:
			v.copy = time.Duration(f.random.Int64N(int64(fault.By)))
		case scripts && refusal != "":
			v.refuse = refusal
		default:
			continue
		}
		f.hits[fault.Kind]++
	}
	return v
}
