package batchmodel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A job of a Model.
type job struct {
	id, batch string
	order     int64
	session   string // empty: it waits
	fence     int64
	dead      bool
	asked     bool // to end as cancelled
}

// counts are those of a batch in a partition.
type counts struct {
	protocol.PartitionCounts
	reported int64 // version
	again    int64 // when they are reported although the home has this version, µs
}

// report returns the counts as an answer has them.
func (c *counts) report() protocol.PartitionCounts {
	counts := c.PartitionCounts
	counts.To = slices.Clone(c.To)
	return counts
}

// An entry of an outbox.
type entry struct {
	id, batch string
	to        Place
	number    int64
	carried   bool
}

type partition struct {
	jobs    map[string]*job
	counts  map[string]*counts
	tokens  map[string]bool
	outbox  map[string]*entry
	taken   map[Place]int64 // source → the highest number
	records map[string]*protocol.BatchRecord
}

// A Model is a System in plain values.
type Model struct {
	broken Promise
	places map[Place]*partition
	clock  int64 // µs
	last   func()
}

// New returns an empty model.
func New() *Model { return Broken("") }

// Broken returns an empty model that breaks one promise.
func Broken(p Promise) *Model { return &Model{broken: p, places: map[Place]*partition{}} }

func (m *Model) keeps(p Promise) bool { return m.broken != p }

func (m *Model) at(p Place) *partition {
	m.clock++
	if m.places[p] == nil {
		m.places[p] = &partition{
			jobs: map[string]*job{}, counts: map[string]*counts{}, tokens: map[string]bool{}, outbox: map[string]*entry{}, taken: map[Place]int64{},
			records: map[string]*protocol.BatchRecord{},
		}
	}
	return m.places[p]
}

func (m *Model) home(id string) *partition { return m.at(protocol.Home(protocol.HomeOf(id))) }

// countsOf returns the counts of a batch in a partition, and a function that is called when they have changed.
func (m *Model) countsOf(p Place, batch string) *counts {
	part := m.at(p)
	c := part.counts[batch]
	if c == nil {
		c = &counts{PartitionCounts: protocol.PartitionCounts{Partition: p, Batch: batch}}
		part.counts[batch] = c
	}
	return c
}

func (m *Model) draw(c *counts) { c.Version = max(c.Version+1, m.clock) }

// change changes the counts of a member's batch.
func (m *Model) change(p Place, batch string, change func(c *protocol.BatchCounts)) {
	if batch == "" {
		return
	}
	c := m.countsOf(p, batch)
	change(&c.Counts)
	if m.keeps(VersionsGrow) {
		m.draw(c)
	}
}

// Add is System's.
func (m *Model) Add(p Place, id string) {
	if part := m.at(p); part.jobs[id] == nil {
		part.jobs[id] = &job{id: id, order: m.clock}
	}
}

// add adds a member, and reports whether there was a job of its ID.
func (m *Model) add(p Place, batch, id string) (existed bool) {
	part := m.at(p)
	if part.jobs[id] != nil {
		m.change(p, batch, func(c *protocol.BatchCounts) { c.Existing++ })
		return true
	}
	part.jobs[id] = &job{id: id, batch: batch, order: m.clock}
	m.change(p, batch, func(c *protocol.BatchCounts) { c.Added++ })
	return false
}

// end removes a job, or leaves it as a dead one.
func (m *Model) end(p Place, j *job, fate Fate) {
	part := m.at(p)
	wasDead := j.dead
	j.session, j.asked, j.dead = "", false, fate == Dead
	if fate != Dead {
		delete(part.jobs, j.id)
	}
	m.change(p, j.batch, func(c *protocol.BatchCounts) {
		if wasDead {
			c.Dead--
		}
		switch fate {
		case Done:
			c.Done++
		case Dead:
			c.Dead++
		case Cancelled:
			c.Cancelled++
		}
	})
}

func (m *Model) waiting(p Place) []*job {
	jobs := slices.Collect(maps.Values(m.at(p).jobs))
	jobs = slices.DeleteFunc(jobs, func(j *job) bool { return j.dead || j.session != "" })
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Or(cmp.Compare(a.order, b.order), strings.Compare(a.id, b.id)) })
	return jobs
}

// marked reports whether the batch of a job was cancelled in its partition.
func (m *Model) marked(p Place, batch string) bool {
	return batch != "" && m.countsOf(p, batch).Cancelled
}

// Take is System's.
func (m *Model) Take(p Place, session string, most int) (flights []Flight) {
	for _, j := range m.waiting(p) {
		switch {
		case m.marked(p, j.batch) && m.keeps(TakesEnd):
			m.end(p, j, Cancelled)
		case len(flights) < most:
			m.clock++
			j.session, j.fence = session, m.clock
			flights = append(flights, Flight{Place: p, Session: session, ID: j.id, Batch: j.batch, Fence: j.fence})
		}
	}
	return flights
}

// Settle is System's.
func (m *Model) Settle(f Flight, s Settlement) bool {
	m.last = func() { m.settle(f, s) }
	return m.settle(f, s)
}

// SettleAgain is System's.
func (m *Model) SettleAgain() {
	if m.last != nil {
		m.last()
	}
}

func (m *Model) settle(f Flight, s Settlement) bool {
	part := m.at(f.Place)
	j := part.jobs[f.ID]
	if j == nil || j.session != f.Session || j.fence != f.Fence {
		return false
	}
	if j.asked || m.marked(f.Place, j.batch) && s.Fate == Left {
		m.end(f.Place, j, Cancelled)
		return true
	}
	if s.Fate == Left {
		j.session, j.order = "", m.clock
		return true
	}
	m.end(f.Place, j, s.Fate)
	if s.Fate != Done || s.Next == "" {
		return true
	}
	id := FollowerID(f)
	if s.Next == f.Place.Queue {
		part.jobs[id] = &job{id: id, batch: s.Batch, order: -m.clock}
		m.change(f.Place, s.Batch, func(c *protocol.BatchCounts) { c.Added++ })
		return true
	}
	part.outbox[id] = &entry{id: id, batch: s.Batch, to: Place{Queue: s.Next, Index: f.Place.Index}, number: m.clock}
	if m.keeps(OutboxCounts) {
		m.change(f.Place, s.Batch, func(c *protocol.BatchCounts) { c.Away++ })
	}
	return true
}

// FollowerID is the ID of the job that follows a flight that is done.
func FollowerID(f Flight) string {
	return protocol.FollowerID(f.ID, protocol.EndDone, f.Fence, "")
}

// Reap is System's.
func (m *Model) Reap(p Place, session string) {
	for _, id := range slices.Sorted(maps.Keys(m.at(p).jobs)) {
		switch j := m.at(p).jobs[id]; {
		case j.session != session:
		case j.asked:
			m.end(p, j, Cancelled)
		default:
			j.session = ""
		}
	}
}

// Cancel is System's.
func (m *Model) Cancel(p Place, id string) {
	switch j := m.at(p).jobs[id]; {
	case j == nil || j.dead:
	case j.session != "":
		j.asked = true
	default:
		m.end(p, j, Cancelled)
	}
}

// Delete is System's.
func (m *Model) Delete(p Place, id string) {
	if j := m.at(p).jobs[id]; j != nil && j.session == "" {
		m.end(p, j, Cancelled)
	}
}

// Requeue is System's.
func (m *Model) Requeue(p Place, id string) {
	if j := m.at(p).jobs[id]; j != nil && !m.marked(p, j.batch) {
		m.revive(p, j)
	}
}

// revive lets a dead job wait again.
func (m *Model) revive(p Place, j *job) {
	if j.dead {
		j.dead = false
		if m.keeps(RequeueCounts) {
			m.change(p, j.batch, func(c *protocol.BatchCounts) { c.Dead-- })
		}
	}
}

// Replace is System's.
func (m *Model) Replace(p Place, id string) {
	if j := m.at(p).jobs[id]; j != nil {
		m.revive(p, j)
	}
}

// Purge is System's.
func (m *Model) Purge(queue string) {
	for _, p := range Partitions(queue) {
		for _, j := range m.waiting(p) {
			m.end(p, j, Cancelled)
		}
	}
}

// Carry is System's. A step carries one entry, or notes that it was carried, or finds that the target went back.
func (m *Model) Carry(from, to Place, _, step int) {
	part, target := m.at(from), m.at(to)
	entries := slices.SortedFunc(maps.Values(part.outbox), func(a, b *entry) int { return cmp.Compare(a.number, b.number) })
	entries = slices.DeleteFunc(entries, func(e *entry) bool { return e.to != to })
	for _, e := range entries {
		has := target.taken[from] >= e.number
		switch {
		case !e.carried && !has && step%2 == 0:
			target.taken[from] = e.number
			if e.batch == "" {
				m.Add(to, e.id)
			} else {
				m.add(to, e.batch, e.id)
			}
			return
		case !e.carried && has && step%2 == 1:
			e.carried = true
			if e.batch != "" {
				if c := m.countsOf(from, e.batch); !slices.Contains(c.To, to) {
					c.To = append(c.To, to)
				}
			}
			if m.keeps(OutboxCounts) {
				m.change(from, e.batch, func(c *protocol.BatchCounts) { c.Away-- })
			}
			return
		case e.carried && !has && step%2 == 1:
			e.carried = false
			m.change(from, e.batch, func(c *protocol.BatchCounts) { c.Away++ })
			return
		}
	}
}

// CarryAll is System's.
func (m *Model) CarryAll() {
	for from, part := range m.places {
		for range 3 * len(part.outbox) {
			for _, e := range slices.SortedFunc(maps.Values(part.outbox), func(a, b *entry) int { return cmp.Compare(a.number, b.number) }) {
				m.Carry(from, e.to, 0, 1)
				m.Carry(from, e.to, 0, 0)
				m.Carry(from, e.to, 0, 1)
			}
		}
	}
}

// Save is System's.
func (m *Model) Save(p Place) (back func()) {
	saved := copyOf(m.at(p))
	return func() { m.places[p] = copyOf(saved) }
}

func copyOf(p *partition) *partition {
	c := &partition{jobs: map[string]*job{}, counts: map[string]*counts{}, tokens: maps.Clone(p.tokens), outbox: map[string]*entry{}, taken: maps.Clone(p.taken), records: map[string]*protocol.BatchRecord{}}
	for id, j := range p.jobs {
		of := *j
		c.jobs[id] = &of
	}
	for id, n := range p.counts {
		of := *n
		of.To = slices.Clone(n.To)
		c.counts[id] = &of
	}
	for id, e := range p.outbox {
		of := *e
		c.outbox[id] = &of
	}
	for id, r := range p.records {
		of := clone(r)
		c.records[id] = &of
	}
	return c
}

// Advance is System's.
func (m *Model) Advance(by time.Duration) { m.clock += by.Microseconds() }

// See is System's.
func (m *Model) See() Sight {
	s := Sight{Members: map[Place]map[Job]Fate{}, Batches: map[string]Status{}, Callbacks: map[string]bool{}}
	for p, part := range m.places {
		s.Members[p] = map[Job]Fate{}
		for id, j := range part.jobs {
			fate := Left
			if j.dead {
				fate = Dead
			}
			s.note(p, Job{j.batch, id}, fate)
		}
		for batch, c := range part.counts {
			if c.Cancelled {
				s.Mark(p, batch)
			}
		}
		for id, e := range part.outbox {
			if !e.carried {
				s.note(p, Job{e.batch, id}, Away)
			}
		}
		for id, r := range part.records {
			s.Batches[id] = Status{Sealed: !r.Sealed.IsZero(), Cancelled: r.State == protocol.BatchCancelled, Ended: !r.Ended.IsZero(), Done: !r.Done.IsZero(), Known: Known(r)}
		}
	}
	return s
}

// note notes a job that is somewhere.
func (s *Sight) note(p Place, j Job, fate Fate) {
	if j.Batch != "" {
		s.Members[p][j] = fate
	} else if fate == Away {
		return
	} else if strings.HasSuffix(j.ID, "#ended") || strings.HasSuffix(j.ID, "#done") {
		s.Callbacks[j.ID] = true
	}
}

// Mark notes that a batch is cancelled in a partition.
func (s *Sight) Mark(p Place, batch string) {
	if s.Marked == nil {
		s.Marked = map[Flight]bool{}
	}
	s.Marked[Flight{Place: p, Batch: batch}] = true
}

// Note notes a job of a sight.
func (s *Sight) Note(p Place, j Job, fate Fate) {
	if s.Members[p] == nil {
		s.Members[p] = map[Job]Fate{}
	}
	s.note(p, j, fate)
}

// Queues are those of a walk, with two partitions each.
var Queues = []string{"one", "two", "three"}

// Partitions returns the partitions of a queue.
func Partitions(queue string) []Place { return []Place{{Queue: queue}, {Queue: queue, Index: 1}} }

var _ System = (*Model)(nil)

func notFound(id string) error { return fmt.Errorf("batch %s: %w", id, protocol.ErrNotFound) }

func conflict(id, why string) error {
	return fmt.Errorf("batch %s: %s: %w", id, why, protocol.ErrConflict)
}

func clone(r *protocol.BatchRecord) protocol.BatchRecord {
	c := *r
	c.Partition, c.Growing = slices.Clone(r.Partition), slices.Clone(r.Growing)
	return c
}
