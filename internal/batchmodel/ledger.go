// Package batchmodel is a model of batches in plain Go values, for tests. A Ledger records what happens to each member, as somebody sees it who looks at
// all partitions between two calls, and finds a batch that has ended early, twice or never. A Walk makes random calls of creators, workers, handlers that
// grow a batch, carriers, reporters and lookers, which stop anywhere. It drives any System. A Model is a System without a store, which can break one
// promise: so a test shows what a walk finds.
//
// The Ledger decides these points:
//   - A member is a job whose envelope has the batch. It is left while it is in a partition and not dead, or waits in an outbox.
//   - A job that has expired, or that nobody can run for too long, is dead. A dead job that is trimmed remains dead. One that is deleted is cancelled.
//   - A batch that was cancelled ends when nothing is left of it. Whether a job that runs meanwhile counts as done or as cancelled is open.
//   - If a partition goes back to an earlier state, its members and their ends go back too. What was added to another partition remains there.
//   - If a home goes back, a batch may end again, a growth whose note was lost may come after the end, and what is in a partition of which the home does not
//     know any more is not waited for until that partition reports, at most a day later.
package batchmodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// Place is a partition of a queue, or a home.
type Place = protocol.Partition

// A Fate is where a member is, or how it has ended.
type Fate string

// The fates of a member.
const (
	Left      Fate = "left"
	Away      Fate = "away" // in an outbox
	Done      Fate = "done"
	Dead      Fate = "dead"
	Cancelled Fate = "cancelled"
	Unsure    Fate = "done or cancelled"
)

// A Job is a member that a System has now.
type Job struct {
	Batch, ID string
}

// A Status is what a home has of a batch.
type Status struct {
	Sealed, Cancelled, Ended, Done bool
	Known                          []Place // the partitions in its record
}

// A Sight is what a System has between two calls.
type Sight struct {
	Members   map[Place]map[Job]Fate // Left, Away or Dead
	Batches   map[string]Status
	Callbacks map[string]bool // IDs of jobs that follow batches and are in their queues
	Marked    map[Flight]bool // by place and batch: it is cancelled in that partition
}

// A Ledger is what has happened to the members of all batches.
type Ledger struct {
	members   map[Place]map[Job]Fate
	batches   map[string]*book
	callbacks map[string]bool // whether each waits now; those that were seen before remain
	marked    map[Flight]bool // as in the last Sight
}

type book struct {
	Status
	WithoutCancelled bool // Done is added beside cancelled members
	existing         map[Place]int64
	requeued         bool // after the end
	over             bool // once all members had ended: a dead one may be requeued between the last look at its partition and the end
	excused          bool // something went back: members may come after the end
	homeBack         bool // its home went back: it knows only some partitions
	marked           bool // it was cancelled, and partitions may have that mark also after its home went back
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{members: map[Place]map[Job]Fate{}, batches: map[string]*book{}, callbacks: map[string]bool{}}
}

// Open records that somebody creates a batch.
func (l *Ledger) Open(batch string, withoutCancelled bool) {
	if l.batches[batch] == nil {
		l.batches[batch] = &book{WithoutCancelled: withoutCancelled, existing: map[Place]int64{}}
	}
}

// Existing records that items of a batch were not added to a place, because jobs of their IDs existed.
func (l *Ledger) Existing(batch string, p Place, n int64) { l.batches[batch].existing[p] += n }

// See compares what a System has after a call with what it had before. fates are those of the jobs that the call may have removed.
func (l *Ledger) See(now Sight, fates map[string]Fate) error {
	for _, p := range places(l.members, now.Members) {
		if err := l.seePlace(p, now, fates); err != nil {
			return fmt.Errorf("%s: %w", p.Path(), err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.batches)) {
		if err := l.seeBatch(id, now.Batches[id]); err != nil {
			return fmt.Errorf("batch %s: %w", id, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now.Callbacks)) {
		batch, _, _ := strings.Cut(id, "#")
		if waits, seen := l.callbacks[id]; seen && !waits && !l.excused(batch) {
			return fmt.Errorf("%s was added again", id)
		}
	}
	l.marked = now.Marked
	for id := range l.callbacks {
		l.callbacks[id] = now.Callbacks[id]
	}
	for id := range now.Callbacks {
		l.callbacks[id] = true
	}
	return nil
}

func (l *Ledger) excused(batch string) bool {
	return l.batches[batch] == nil || l.batches[batch].excused
}

func places(sets ...map[Place]map[Job]Fate) []Place {
	all := map[Place]bool{}
	for _, set := range sets {
		for p := range set {
			all[p] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b Place) int { return strings.Compare(a.Path(), b.Path()) })
}

func (l *Ledger) seePlace(p Place, now Sight, fates map[string]Fate) error {
	before := l.members[p]
	if before == nil {
		before = map[Job]Fate{}
		l.members[p] = before
	}
	for job, is := range now.Members[p] {
		was, known := before[job]
		b := l.batches[job.Batch]
		if is == Away && !known && b != nil && l.arrived(job, now) {
			continue // a late answer of its target lets it wait once more, in vain
		}
		switch {
		case b == nil:
			return fmt.Errorf("%v is a member of a batch that nobody has created", job)
		case known && was == is:
		case !known && b.Ended && !b.requeued && !b.excused:
			return fmt.Errorf("%v was added after the end of its batch", job)
		case known && (was == Done || was == Cancelled || was == Unsure) && !b.excused:
			return fmt.Errorf("%v, which was %s, is %s again", job, was, is)
		case was == Dead && is == Left && b.Ended:
			b.requeued = true
		}
		before[job] = is
	}
	for job, was := range before {
		if _, is := now.Members[p][job]; is || was == Done || was == Cancelled || was == Unsure {
			continue
		}
		fate, told := fates[job.ID]
		switch {
		case was == Away:
			if !l.arrived(job, now) {
				return fmt.Errorf("%v left the outbox and arrived nowhere", job)
			}
			delete(before, job)
			continue
		case told:
		case was == Dead:
			fate = Dead // trimmed
		case l.batches[job.Batch].marked:
			fate = Cancelled
		default:
			return fmt.Errorf("%v, which was %s, is gone", job, was)
		}
		if fate == Done && l.batches[job.Batch].marked {
			fate = Unsure
		}
		before[job] = fate
	}
	return nil
}

// arrived reports whether another place has, or had, a job.
func (l *Ledger) arrived(job Job, now Sight) bool {
	for _, place := range []map[Place]map[Job]Fate{l.members, now.Members} {
		for _, members := range place {
			if fate, ok := members[job]; ok && fate != Away {
				return true
			}
		}
	}
	return l.batches[job.Batch].excused
}

func (l *Ledger) seeBatch(id string, now Status) error {
	b := l.batches[id]
	was := b.Status
	b.Status, b.marked = now, b.marked || now.Cancelled
	c := l.counts(id, b.homeBack)
	b.over = b.over || was.Sealed && c.left == 0 && c.Away == 0
	switch {
	case was.Ended && !now.Ended, was.Done && !now.Done:
		return fmt.Errorf("it had ended, and is %+v", now)
	case now.Ended && !was.Ended && !b.over && (c.left > 0 || c.Away > 0):
		return fmt.Errorf("it has ended early: left %v", l.left(id))
	case now.Ended && !was.Ended && !now.Sealed && !now.Cancelled:
		return fmt.Errorf("it has ended before it was sealed")
	case now.Done && !was.Done && !b.mayBeDone(c):
		return fmt.Errorf("it is done with counts %+v", c)
	}
	return nil
}

func (b *book) mayBeDone(c Counts) bool {
	return c.left == 0 && c.Away == 0 && c.Dead == 0 && (c.Cancelled == 0 || b.WithoutCancelled) && !b.Cancelled
}

// Counts are the counts of a batch.
type Counts struct {
	protocol.BatchCounts
	Unsure, left int64
}

// Counts returns the counts of a batch.
func (l *Ledger) Counts(batch string) (c Counts) { return l.counts(batch, false) }

// counts returns the counts of a batch, in all partitions or in those that its home knows.
func (l *Ledger) counts(batch string, known bool) (c Counts) {
	for p, members := range l.members {
		if known && !slices.Contains(l.batches[batch].Known, p) {
			continue
		}
		for job, fate := range members {
			if job.Batch == batch {
				c.add(fate)
			}
		}
	}
	for p, n := range l.batches[batch].existing {
		if !known || slices.Contains(l.batches[batch].Known, p) {
			c.Existing += n
		}
	}
	return c
}

func (c *Counts) add(fate Fate) {
	if fate != Away {
		c.Added++
	}
	switch fate {
	case Left:
		c.left++
	case Away:
		c.Away++
	case Done:
		c.Done++
	case Dead:
		c.Dead++
	case Cancelled:
		c.Cancelled++
	case Unsure:
		c.Unsure++
	}
}

func (l *Ledger) left(batch string) (ids []string) {
	for p, members := range l.members {
		for job, fate := range members {
			if job.Batch == batch && (fate == Left || fate == Away) {
				ids = append(ids, fmt.Sprintf("%s %s in %s", job.ID, fate, p.Path()))
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// Counted compares the counts of a home with the ledger, when all reports have come home. all: a home that went back knows all partitions again.
func (l *Ledger) Counted(id string, r *protocol.BatchRecord, all bool) error {
	c, got := l.counts(id, l.batches[id].homeBack && !all), r.Totals()
	unsure := c.Added - got.Done - got.Dead - got.Cancelled - c.left
	if got.Added != c.Added || got.Away != c.Away || got.Dead != c.Dead || got.Existing != c.Existing || got.Left() != c.left+c.Away ||
		got.Done < c.Done || got.Cancelled < c.Cancelled || unsure != 0 {
		return fmt.Errorf("batch %s: home counts %+v, want %+v", id, got, c)
	}
	return nil
}

// Rest compares the record of a batch with the ledger, when all reports have come home and nobody does anything. all is that of Counted.
func (l *Ledger) Rest(id string, r *protocol.BatchRecord, all bool) error {
	if err := l.Counted(id, r, all); err != nil {
		return err
	}
	b, c := l.batches[id], l.counts(id, l.batches[id].homeBack && !all)
	switch over := (b.Sealed || b.Cancelled) && c.left == 0 && c.Away == 0; {
	case b.Ended && !b.excused && !l.seen(id+"#ended") || b.Done && !b.excused && !l.seen(id+"#done"):
		return fmt.Errorf("batch %s has ended, and a job that follows it was not added", id)
	case over && !b.Ended:
		return fmt.Errorf("batch %s has not ended, although nothing is left", id)
	case over && c.Unsure == 0 && b.mayBeDone(c) && !b.Done:
		return fmt.Errorf("batch %s is not done, although all members are", id)
	}
	return nil
}

// seen reports whether a job that follows a batch was added.
func (l *Ledger) seen(id string) bool {
	_, seen := l.callbacks[id]
	return seen
}

// A Saved is an earlier state of a place.
type Saved struct {
	place    Place
	members  map[Job]Fate
	existing map[string]int64
	batches  map[string]Status
}

// Save returns what the ledger has of a place.
func (l *Ledger) Save(p Place) Saved {
	s := Saved{place: p, members: maps.Clone(l.members[p]), existing: map[string]int64{}, batches: map[string]Status{}}
	for id, b := range l.batches {
		s.existing[id], s.batches[id] = b.existing[p], b.Status
	}
	return s
}

// GoBack records that a place has gone back to an earlier state.
func (l *Ledger) GoBack(s Saved) {
	if !s.place.IsHome() {
		l.members[s.place] = maps.Clone(s.members)
	}
	for id, b := range l.batches {
		b.excused = true
		switch {
		case !s.place.IsHome():
			b.existing[s.place] = s.existing[id]
		case protocol.Home(protocol.HomeOf(id)) == s.place:
			b.Status, b.homeBack = s.batches[id], true
		}
	}
}

// Forget removes a batch whose record was removed.
func (l *Ledger) Forget(batch string) {
	delete(l.batches, batch)
	for _, members := range l.members {
		maps.DeleteFunc(members, func(job Job, _ Fate) bool { return job.Batch == batch })
	}
	maps.DeleteFunc(l.callbacks, func(id string, _ bool) bool { return strings.HasPrefix(id, batch+"#") })
}

// Ended reports whether the ledger knows a batch, and whether it has ended.
func (l *Ledger) Ended(batch string) (known, ended bool) {
	b := l.batches[batch]
	return b != nil, b != nil && b.Ended
}
