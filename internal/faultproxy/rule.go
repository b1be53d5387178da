package faultproxy

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
)

// A Match picks commands. It is called for each command of each connection in the order of arrival, one at a time.
type Match func(Command) bool

// Any picks every command.
func Any(Command) bool { return true }

// Named picks a command by its name, in any case.
func Named(name string) Match {
	return func(c Command) bool { return strings.EqualFold(c.Name(), name) }
}

// Contains picks a command of which an argument contains text.
func Contains(text string) Match {
	return func(c Command) bool {
		for _, argument := range c[min(1, len(c)):] {
			if bytes.Contains(argument, []byte(text)) {
				return true
			}
		}
		return false
	}
}

// All picks what every one of matches picks.
func All(matches ...Match) Match {
	return func(c Command) bool {
		for _, match := range matches {
			if !match(c) {
				return false
			}
		}
		return true
	}
}

// Nth passes over the first n-1 commands that match picks; a rule for one command then strikes the nth.
func Nth(n int, match Match) Match {
	return func(c Command) bool {
		if !match(c) {
			return false
		}
		n--
		return n <= 0
	}
}

// Script picks the calls of a script by the name on its title page, `-- name.lua: …`. The proxy knows a script from the
// first EVAL or SCRIPT LOAD that it passed on, so the server must have learned it through the proxy, or call Learn.
func (p *Proxy) Script(name string) Match {
	return func(c Command) bool {
		if len(c) < 2 {
			return false
		}
		switch strings.ToUpper(c.Name()) {
		case "EVAL":
			return titleOf(string(c[1])) == name
		case "EVALSHA":
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.scripts[string(c[1])] == name
		}
		return false
	}
}

// Learn tells the text of a script that the server knows from elsewhere.
func (p *Proxy) Learn(text string) {
	name := titleOf(text)
	if name == "" {
		return
	}
	sum := sha1.Sum([]byte(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts[hex.EncodeToString(sum[:])] = name
}

func titleOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	name, _, found := strings.Cut(strings.TrimPrefix(first, "-- "), ".lua:")
	if !found || !strings.HasPrefix(first, "-- ") {
		return ""
	}
	return name
}

// LoseReply lets the next command that match picks reach the server and be executed, then loses its reply, with those to
// the whole pipeline it came in, and ends the connection. A script that the server did not know has executed nothing: that
// reply passes, and the rule waits for the next one. The channel is closed when the reply has been lost.
func (p *Proxy) LoseReply(match Match) <-chan struct{} { return p.add(&rule{match: match, once: true}) }

// LoseReplies does what LoseReply does, to every command that match picks, until end is called.
func (p *Proxy) LoseReplies(match Match) (end func()) {
	r := &rule{match: match}
	p.add(r)
	return func() { p.remove(r) }
}

// LoseRequest ends the connection in place of passing on the next command that match picks, and what came with it in one
// pipeline: the server never hears of it. The channel is closed when that has happened.
func (p *Proxy) LoseRequest(match Match) <-chan struct{} {
	return p.add(&rule{match: match, once: true, before: true})
}

// A rule is what befalls the commands it matches.
type rule struct {
	match  Match
	once   bool
	before bool          // the server never hears of it
	struck chan struct{} // closed the first time
}

func (p *Proxy) add(r *rule) <-chan struct{} {
	r.struck = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(slices.Clone(p.rules), r)
	return r.struck
}

func (p *Proxy) remove(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(r)
}

func (p *Proxy) drop(r *rule) {
	for i := range p.rules {
		if p.rules[i] == r {
			p.rules = slices.Concat(p.rules[:i], p.rules[i+1:])
			return
		}
	}
}

// ruleFor returns the first rule that picks a command of the batch, and which command that is. One that strikes once is
// taken off the list: where it strikes nothing after all, the caller puts it back with rearm.
func (p *Proxy) ruleFor(batch []Command) (*rule, int) {
	p.matching.Lock()
	defer p.matching.Unlock()
	p.mu.Lock()
	rules := p.rules // replaced, not changed, by whoever adds or removes one
	p.mu.Unlock()
	for i, c := range batch {
		for _, r := range rules {
			if r.match(c) && p.claim(r) {
				return r, i
			}
		}
	}
	return nil, 0
}

// claim is false for a rule that has gone meanwhile, and takes one that strikes once off the list.
func (p *Proxy) claim(r *rule) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.rules {
		if known == r {
			if r.once {
				p.drop(r)
			}
			return true
		}
	}
	return false
}

func (p *Proxy) rearm(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.once {
		p.rules = append(slices.Clone(p.rules), r)
	}
}

func (p *Proxy) strike(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-r.struck:
	default:
		close(r.struck)
	}
}
