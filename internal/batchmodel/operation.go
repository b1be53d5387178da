package batchmodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The operations of a walk.

// plan makes a batch that somebody wants, in up to six partitions.
func (w *Walk) plan() {
	if len(w.plans) >= 4 {
		return
	}
	w.items++
	id := fmt.Sprint("batch", w.items)
	p := &plan{def: protocol.BatchDefinition{ID: id, Spec: []byte("spec of " + id), Keep: 24 * time.Hour, KeepDead: 7 * 24 * time.Hour, DoneWithoutCancelled: w.random.IntN(3) == 0, HasDone: true, HasEnded: true}}
	few := w.random.IntN(2) == 0
	for range w.random.IntN(7) {
		w.items++
		item := planned{id: fmt.Sprint("j", w.items)}
		queue := Queues[w.random.IntN(len(Queues))]
		if few {
			queue = Queues[0]
		}
		item.place = Place{Queue: queue, Index: protocol.PartitionOf(item.id, 2)}
		p.items = append(p.items, item)
		if w.random.IntN(12) == 0 {
			w.Add(item.place, item.id)
			w.made(nil, "%s is added to %s, of no batch", item.id, item.place.Path())
		}
	}
	w.plans[id] = p
	w.note("plan of %s: %v", id, p.items)
}

func (w *Walk) anyPlan() *plan {
	ids := slices.Sorted(maps.Keys(w.plans))
	if len(ids) == 0 {
		return nil
	}
	return w.plans[ids[w.random.IntN(len(ids))]]
}

func (w *Walk) anyPlace() Place {
	return Place{Queue: Queues[w.random.IntN(len(Queues))], Index: w.random.IntN(2)}
}

func (w *Walk) anySession() string { return fmt.Sprint("s", w.random.IntN(3)) }

// take takes jobs.
func (w *Walk) take() { w.takeFrom(w.anyPlace()) }

// takeFrom takes jobs from a partition.
func (w *Walk) takeFrom(p Place) {
	session := w.anySession()
	flights := w.Take(p, session, 1+w.random.IntN(3))
	w.flights = append(w.flights, flights...)
	for _, f := range flights {
		if w.ledger.marked[Flight{Place: p, Batch: f.Batch}] {
			w.fail("%s was taken from %s, in which its batch %s is cancelled", f.ID, p.Path(), f.Batch)
		}
	}
	w.made(nil, "%s takes from %s: %v", session, p.Path(), ids(flights))
}

func ids(flights []Flight) (ids []string) {
	for _, f := range flights {
		ids = append(ids, f.ID)
	}
	return ids
}

// settle ends a flight, or lets its handler grow the batch.
func (w *Walk) settle() {
	if len(w.flights) == 0 {
		return
	}
	at := w.random.IntN(len(w.flights))
	f := w.flights[at]
	if f.Batch != "" && w.random.IntN(4) == 0 {
		w.items++
		item := planned{id: fmt.Sprint("g", w.items)}
		item.place = Place{Queue: Queues[w.random.IntN(len(Queues))], Index: protocol.PartitionOf(item.id, 2)}
		w.begin(&grower{plan: w.plans[f.Batch], batch: f.Batch, token: fmt.Sprint("t", w.items), item: item})
		return
	}
	s := Settlement{Fate: []Fate{Done, Done, Done, Done, Dead, Left}[w.random.IntN(6)]}
	if s.Fate == Done && w.random.IntN(3) == 0 && strings.Count(f.ID, "#") == 0 {
		s.Next = Queues[w.random.IntN(len(Queues))]
		if w.random.IntN(4) > 0 {
			s.Batch = f.Batch
		}
	}
	held := w.Settle(f, s)
	w.made(map[string]Fate{f.ID: w.ends(f.Place, f.ID, s.Fate)}, "%s settles %s of %q as %s, next in %q of batch %q: %v", f.Session, f.ID, f.Batch, s.Fate, s.Next, s.Batch, held)
	if w.lost() {
		w.SettleAgain()
		w.made(nil, "once more")
	}
	if w.random.IntN(4) > 0 { // else it is tried again, in vain
		w.flights = slices.Delete(w.flights, at, at+1)
	}
}

// ends is the fate of a job whose flight ends so, if it does not remain.
func (w *Walk) ends(p Place, id string, f Fate) Fate {
	switch asked := w.asked[Flight{Place: p, ID: id}]; {
	case f == Left || f == Dead:
		return Cancelled // somebody has cancelled it
	case asked && w.mode == PartitionsGoBack:
		return Unsure // that was before, or it went back
	case asked:
		return Cancelled
	}
	return f
}

func (w *Walk) reap() {
	if len(w.flights) == 0 {
		return
	}
	f := w.flights[w.random.IntN(len(w.flights))]
	fates := map[string]Fate{}
	for _, other := range w.flights {
		if other.Place == f.Place && nameOf(other) == nameOf(f) {
			fates[other.ID] = Cancelled
		}
	}
	w.Reap(f.Place, f.Session) // its handlers go on
	w.made(fates, "%s is reaped in %s", f.Session, f.Place.Path())
}

// nameOf is the session of the walk that has a flight.
func nameOf(f Flight) string {
	name, _, _ := strings.Cut(f.Session, "-")
	return name
}

// carry makes one step of one of three carriers.
func (w *Walk) carry() {
	from, to := w.anyPlace(), Place{}
	if p := w.anyPlan(); p != nil && w.random.IntN(3) == 0 {
		from = protocol.Home(protocol.HomeOf(p.def.ID))
		ending := []string{"#ended", "#done"}[w.random.IntN(2)]
		to = Place{Queue: callbackQueue, Index: protocol.PartitionOf(p.def.ID+ending, 2)}
	} else {
		to = Place{Queue: Queues[w.random.IntN(len(Queues))], Index: from.Index}
	}
	if from == to {
		return
	}
	carrier, step := w.random.IntN(3), w.random.IntN(1000)
	w.Carry(from, to, carrier, step)
	w.made(nil, "carrier %d from %s to %s, step %d", carrier, from.Path(), to.Path(), step)
}

// callbackQueue is where jobs that follow batches are added.
const callbackQueue = "three"

// change changes a job, or purges a queue.
func (w *Walk) change() {
	p := w.anyPlace()
	members := slices.SortedFunc(maps.Keys(w.ledger.members[p]), func(a, b Job) int { return strings.Compare(a.ID, b.ID) })
	if len(members) == 0 {
		return
	}
	j := members[w.random.IntN(len(members))]
	switch n := w.random.IntN(12); {
	case n < 3:
		w.Cancel(p, j.ID)
		w.made(map[string]Fate{j.ID: Cancelled}, "cancel %v in %s", j, p.Path())
		if w.ledger.members[p][j] == Left {
			w.asked[Flight{Place: p, ID: j.ID}] = true
		}
	case n < 5:
		w.Delete(p, j.ID)
		w.made(map[string]Fate{j.ID: Cancelled}, "delete %v in %s", j, p.Path())
	case n < 9:
		w.Requeue(p, j.ID)
		w.made(nil, "requeue %v in %s", j, p.Path())
	case n < 11:
		if fate := w.ledger.members[p][j]; fate != Left && fate != Dead {
			return
		}
		w.Replace(p, j.ID)
		w.made(nil, "replace %v in %s", j, p.Path())
	default:
		fates := map[string]Fate{}
		for _, p := range Partitions(p.Queue) {
			for j := range w.ledger.members[p] {
				fates[j.ID] = Cancelled
			}
		}
		w.Purge(p.Queue)
		w.made(fates, "purge %s", p.Queue)
	}
}

// replay makes a call that came late.
func (w *Walk) replay() {
	if len(w.late) == 0 {
		return
	}
	c := w.late[w.random.IntN(len(w.late))]
	c.call()
	w.made(nil, "late: %s", c.name)
}

// forget removes a batch that has ended, when its retention is over.
func (w *Walk) forget() {
	p := w.anyPlan()
	if p == nil || w.mode != NothingGoesBack {
		return
	}
	if known, ended := w.ledger.Ended(p.def.ID); known && ended && len(w.ledger.left(p.def.ID)) == 0 && w.ledger.Counts(p.def.ID).Dead == 0 && w.random.IntN(2) == 0 {
		w.begin(&forgetter{plan: p})
	}
}

// goBack saves a place, or brings it back.
func (w *Walk) goBack() {
	p := w.anyPlace()
	switch w.mode {
	case NothingGoesBack:
		return
	case HomesGoBack:
		of := w.anyPlan()
		if of == nil {
			return
		}
		p = protocol.Home(protocol.HomeOf(of.def.ID))
	}
	saved, ok := w.saved[p]
	if !ok || w.random.IntN(4) == 0 {
		w.saved[p] = savedPlace{w.ledger.Save(p), w.Save(p), w.now}
		w.made(nil, "%s is saved", p.Path())
		return
	}
	delete(w.saved, p)
	if w.now-saved.at > 50*time.Second {
		return
	}
	// A look that has seen the place cannot know, and a growth whose note is lost holds nothing up.
	w.actors = slices.DeleteFunc(w.actors, func(a actor) bool {
		_, looks := a.(*looker)
		_, grows := a.(*grower)
		return looks || grows && p.IsHome()
	})
	w.late = slices.DeleteFunc(w.late, func(c lateCall) bool { return c.end || c.token && p.IsHome() })
	saved.back()
	w.ledger.GoBack(saved.saved)
	w.made(nil, "%s goes back", p.Path())
}
