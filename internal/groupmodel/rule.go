package groupmodel

import (
	"cmp"
	"errors"
	"fmt"
	"unicode"
)

// NoLimit in a field of a Rule is no limit, also if the queue's rule has one.
const NoLimit = -1

// A Switch is unset, On or Off.
type Switch int

// On and Off are the values of a Switch that is set.
const (
	On  Switch = 1
	Off Switch = 2
)

// A Rule is that of a group, or of a queue for all of its groups. Each zero field of a group's rule is that of the queue's.
type Rule struct {
	Weight  int   // 1 to 1,000; 1 if unset
	Running int   // flights at a time
	Starts  int   // starts within Per
	Per     int64 // milliseconds
	Waiting int   // jobs accepted to run now that wait
	Ordered Switch
}

// ErrInvalid is of a rule or key with a bad value.
var ErrInvalid = errors.New("groupmodel: invalid")

const (
	maxWeight  = 1_000
	maxStarts  = 1_000_000
	maxPer     = 30 * 24 * 3_600_000
	maxRules   = 100_000
	maxKeySize = 200
)

// check returns ErrInvalid if section 2 of the specification refuses the rule.
func (r Rule) check() error {
	switch {
	case r.Weight < 0 || r.Weight > maxWeight:
		return fmt.Errorf("%w: weight %d, want 1 to %d", ErrInvalid, r.Weight, maxWeight)
	case r.Running < NoLimit || r.Waiting < NoLimit:
		return fmt.Errorf("%w: running %d, waiting %d, want 0 or more, or NoLimit", ErrInvalid, r.Running, r.Waiting)
	case r.Ordered == On && (r.Running > 1 || r.Running == NoLimit):
		return fmt.Errorf("%w: ordered with running %d", ErrInvalid, r.Running)
	case r.Starts < NoLimit || r.Starts > maxStarts:
		return fmt.Errorf("%w: starts %d, want at most %d", ErrInvalid, r.Starts, maxStarts)
	case (r.Per != 0) != (r.Starts > 0):
		return fmt.Errorf("%w: starts %d per %d ms, want both or neither", ErrInvalid, r.Starts, r.Per)
	case r.Per < 0 || r.Per > maxPer:
		return fmt.Errorf("%w: per %d ms, want at most %d", ErrInvalid, r.Per, int64(maxPer))
	}
	return nil
}

// checkKey returns ErrInvalid if a key is no ID: 1 to 200 bytes without a control character.
func checkKey(key string) error {
	if len(key) < 1 || len(key) > maxKeySize {
		return fmt.Errorf("%w: key of %d bytes, want 1 to %d", ErrInvalid, len(key), maxKeySize)
	}
	for _, r := range key {
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: key %q has a control character", ErrInvalid, key)
		}
	}
	return nil
}

// rule is the rule in effect for a group: its own, field by field, then the queue's. Starts and Per go together.
func (m *Model) rule(key string) Rule {
	own, queue := m.rules[key], m.queueRule
	if !m.keeps(OwnRule) {
		own = Rule{}
	}
	if !m.keeps(QueueRule) && own != (Rule{}) {
		queue = Rule{}
	}
	if !m.keeps(NoLimitHolds) {
		own.Running, own.Starts, own.Waiting = max(own.Running, 0), max(own.Starts, 0), max(own.Waiting, 0)
	}
	r := Rule{
		Weight: cmp.Or(own.Weight, queue.Weight, 1), Running: cmp.Or(own.Running, queue.Running), Waiting: cmp.Or(own.Waiting, queue.Waiting),
		Starts: own.Starts, Per: own.Per, Ordered: cmp.Or(own.Ordered, queue.Ordered),
	}
	if r.Starts == 0 {
		r.Starts, r.Per = queue.Starts, queue.Per
	}
	return r
}

// SetGroup sets a group's own rule.
func (m *Model) SetGroup(key string, r Rule, now int64) error {
	defer m.call(now)()
	err := errors.Join(checkKey(key), r.check())
	if _, known := m.rules[key]; err == nil && !known {
		err = m.checkNumber()
	}
	if err == nil || !m.keeps(InvalidRules) {
		m.rules[key] = r
		m.touch(key)
	}
	return err
}

// SetGroups sets the queue's rule.
func (m *Model) SetGroups(r Rule, now int64) error {
	defer m.call(now)()
	err := r.check()
	if err == nil || !m.keeps(InvalidRules) {
		m.queueRule = r
		m.touchAll()
	}
	return err
}

// ResetGroup removes a group's own rule. Its pause remains.
func (m *Model) ResetGroup(key string, now int64) {
	defer m.call(now)()
	delete(m.rules, key)
	if !m.keeps(ResetKeepsPause) {
		delete(m.paused, key)
	}
	m.touch(key)
}

// checkNumber returns ErrInvalid if the queue can have no rule or pause more.
func (m *Model) checkNumber() error {
	if len(m.rules)+len(m.paused) >= maxRules {
		return fmt.Errorf("%w: more than %d rules and pauses", ErrInvalid, maxRules)
	}
	return nil
}

// PauseGroup pauses a group. Its rule remains.
func (m *Model) PauseGroup(key string, now int64) error {
	defer m.call(now)()
	err := checkKey(key)
	if err == nil && !m.paused[key] {
		err = m.checkNumber()
	}
	if err == nil {
		m.paused[key] = true
		m.touch(key)
	}
	return err
}

// ResumeGroup ends the pause of a group.
func (m *Model) ResumeGroup(key string, now int64) {
	defer m.call(now)()
	delete(m.paused, key)
	if !m.keeps(PauseKeepsRule) {
		delete(m.rules, key)
	}
	m.touch(key)
}
