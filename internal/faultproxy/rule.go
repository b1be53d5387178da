package faultproxy

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
)

// A Match selects commands. It is called for each command of each connection in the order of arrival, one at a time.
type Match func(Command) bool

// Any matches every command.
func Any(Command) bool { return true }

// Named matches a command by its name, in any case.
func Named(name string) Match {
	return func(c Command) bool { return strings.EqualFold(c.Name(), name) }
}

// Contains matches a command with an argument that contains text.
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

// All matches a command that every one of matches selects.
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

// Nth ignores the first n-1 commands that match selects, so that a rule for one command applies to the nth.
func Nth(n int, match Match) Match {
	return func(c Command) bool {
		if !match(c) {
			return false
		}
		n--
		return n <= 0
	}
}

// Script matches the calls of a script by the name on its title page, `-- name.lua: …`. The proxy knows a script after the
// first EVAL or SCRIPT LOAD that it forwarded. If the server knows the script from elsewhere, call Learn.
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

// Learn gives the proxy the text of a script that the server knows from elsewhere.
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

// titleOf returns the name on the title page of a script, or "".
func titleOf(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	name, _, found := strings.Cut(strings.TrimPrefix(first, "-- "), ".lua:")
	if !found || !strings.HasPrefix(first, "-- ") {
		return ""
	}
	return name
}

// LoseReply forwards the next command that match selects, so that the server executes it. Then it drops the replies to the
// whole pipeline of that command and ends the connection. A NOSCRIPT reply means that nothing was executed: it is forwarded,
// and the rule waits for the next command. The channel is closed when the reply has been lost.
func (p *Proxy) LoseReply(match Match) <-chan struct{} { return p.add(&rule{match: match, once: true}) }

// LoseReplies does the same as LoseReply to every command that match selects, until end is called.
func (p *Proxy) LoseReplies(match Match) (end func()) {
	r := &rule{match: match}
	p.add(r)
	return func() { p.remove(r) }
}

// LoseRequest ends the connection instead of forwarding the next command that match selects. The server receives neither that
// command nor the rest of its pipeline. The channel is closed when that has happened.
func (p *Proxy) LoseRequest(match Match) <-chan struct{} {
	return p.add(&rule{match: match, once: true, before: true})
}

// A rule is a fault for the commands that it matches.
type rule struct {
	match   Match
	once    bool
	before  bool          // the command is lost before it reaches the server
	applied chan struct{} // closed when the rule has applied for the first time
}

func (p *Proxy) add(r *rule) <-chan struct{} {
	r.applied = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(slices.Clone(p.rules), r)
	return r.applied
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

// ruleFor returns the first rule that matches a command of the batch, and the index of that command. It removes a rule that
// applies once from the list. If the rule does not apply after all, the caller puts it back with rearm.
func (p *Proxy) ruleFor(batch []Command) (*rule, int) {
	p.matching.Lock()
	defer p.matching.Unlock()
	p.mu.Lock()
	rules := p.rules // add and remove replace the slice and do not change it
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

// claim returns false if the rule has been removed meanwhile. It removes a rule that applies once.
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

// rearm puts back a rule that applies once and has not applied.
func (p *Proxy) rearm(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.once {
		p.rules = append(slices.Clone(p.rules), r)
	}
}

// markApplied closes the rule's channel.
func (p *Proxy) markApplied(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-r.applied:
	default:
		close(r.applied)
	}
}
