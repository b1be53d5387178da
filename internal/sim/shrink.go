package sim

import (
	"slices"
	"time"
)

// Shrink returns the smallest plan found that still fails: it drops faults, acts and processes, and halves times, as long as fails reports true. It
// calls fails at most tries times.
func Shrink(plan Plan, tries int, fails func(Plan) bool) Plan {
	s := &shrinker{plan: plan, tries: tries, fails: fails}
	for before := -1; before != s.size() && s.tries > 0; {
		before = s.size()
		s.dropRests()
		s.dropMany(func(p *Plan) int { return len(p.Faults) }, func(p *Plan, from, to int) { p.Faults = slices.Delete(slices.Clone(p.Faults), from, to) })
		s.dropMany(func(p *Plan) int { return len(p.Acts) }, func(p *Plan, from, to int) { p.Acts = slices.Delete(slices.Clone(p.Acts), from, to) })
		s.dropActors()
		s.halve()
	}
	return s.plan
}

type shrinker struct {
	plan  Plan
	tries int
	fails func(Plan) bool
}

// size is what must become smaller.
func (s *shrinker) size() int {
	size := len(s.plan.Faults) + len(s.plan.Acts) + len(s.plan.Actors) + len(s.plan.Rests)
	for _, f := range s.plan.Faults {
		size += int(f.For / time.Second)
	}
	for _, a := range s.plan.Acts {
		size += a.N
	}
	return size
}

// try takes a smaller plan if it fails too.
func (s *shrinker) try(smaller Plan) bool {
	if s.tries <= 0 {
		return false
	}
	s.tries--
	if !s.fails(smaller) {
		return false
	}
	s.plan = smaller
	return true
}

// dropRests drops rounds: the last ones with what is in them, then the first ones, and what is between two rests with the first of them.
func (s *shrinker) dropRests() {
	for len(s.plan.Rests) > 1 {
		smaller := s.plan
		smaller.Rests = smaller.Rests[:len(smaller.Rests)-1]
		smaller.cutTo(smaller.Rests[len(smaller.Rests)-1])
		if !s.try(smaller) {
			break
		}
	}
	for len(s.plan.Rests) > 1 {
		smaller := s.plan
		smaller.dropFirst()
		if !s.try(smaller) {
			break
		}
	}
}

// dropFirst drops the first round, and the night after it.
func (p *Plan) dropFirst() {
	first, sooner := p.Rests[0], time.Duration(0)
	p.Rests = slices.Clone(p.Rests[1:])
	p.Acts = slices.DeleteFunc(slices.Clone(p.Acts), func(a Act) bool { return a.At < first })
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.At < first })
	p.Actors, p.Nights = slices.Clone(p.Actors), slices.Clone(p.Nights)
	if len(p.Nights) > 0 && p.Nights[0].From <= first {
		sooner, p.Nights = p.Nights[0].To, p.Nights[1:]
	}
	for i := range p.Rests {
		p.Rests[i] -= sooner
	}
	for i := range p.Acts {
		p.Acts[i].At -= sooner
	}
	for i := range p.Faults {
		p.Faults[i].At -= sooner
	}
	for i := range p.Nights {
		p.Nights[i].From, p.Nights[i].To = p.Nights[i].From-sooner, p.Nights[i].To-sooner
	}
	for i := range p.Actors {
		p.Actors[i].Begin = max(p.Actors[i].Begin-sooner, 0)
	}
}

// cutTo drops what is after an instant.
func (p *Plan) cutTo(end time.Duration) {
	p.Actors = slices.DeleteFunc(slices.Clone(p.Actors), func(a Actor) bool { return a.Begin >= end })
	p.Acts = slices.DeleteFunc(slices.Clone(p.Acts), func(a Act) bool { return a.At >= end })
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.At >= end })
	p.Nights = slices.DeleteFunc(slices.Clone(p.Nights), func(n Night) bool { return n.From >= end })
}

// dropMany drops parts of a list: halves first, then quarters, at last single elements.
func (s *shrinker) dropMany(length func(*Plan) int, drop func(p *Plan, from, to int)) {
	for size := (length(&s.plan) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < length(&s.plan); {
			smaller := s.plan
			drop(&smaller, from, min(from+size, length(&s.plan)))
			if !s.try(smaller) {
				from += size
			}
		}
	}
}

// dropActors drops processes, with their acts and faults.
func (s *shrinker) dropActors() {
	for i := 0; i < len(s.plan.Actors); {
		smaller, name := s.plan, s.plan.Actors[i].Name
		smaller.Actors = slices.Delete(slices.Clone(smaller.Actors), i, i+1)
		smaller.Acts = slices.DeleteFunc(slices.Clone(smaller.Acts), func(a Act) bool { return a.By == name })
		smaller.Faults = slices.DeleteFunc(slices.Clone(smaller.Faults), func(f Fault) bool { return f.On == name })
		if !s.try(smaller) {
			i++
		}
	}
}

// halve halves the times of faults and the numbers of acts, and moves the rests closer to what is before them.
func (s *shrinker) halve() {
	for i := range s.plan.Faults {
		for s.plan.Faults[i].For >= 2*time.Second {
			smaller := s.plan
			smaller.Faults = slices.Clone(smaller.Faults)
			smaller.Faults[i].For = (smaller.Faults[i].For / 2).Truncate(100 * time.Millisecond)
			if !s.try(smaller) {
				break
			}
		}
	}
	for i := range s.plan.Acts {
		for s.plan.Acts[i].N > 1 {
			smaller := s.plan
			smaller.Acts = slices.Clone(smaller.Acts)
			smaller.Acts[i].N /= 2
			if !s.try(smaller) {
				break
			}
		}
	}
	if len(s.plan.Rests) == 1 {
		last := time.Duration(0)
		for _, a := range s.plan.Acts {
			last = max(last, a.At)
		}
		for _, f := range s.plan.Faults {
			last = max(last, f.End())
		}
		if sooner := last + time.Minute; sooner < s.plan.Rests[0] {
			smaller := s.plan
			smaller.Rests = []time.Duration{sooner}
			s.try(smaller)
		}
	}
}
