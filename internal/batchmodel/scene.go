package batchmodel

import (
	"fmt"
	"math/rand/v2"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Scene is two processes that make some calls each, in any order.
type Scene struct {
	Name    string
	calls   [2]int // that they make at most
	prepare func(w *Walk) []actor
}

// Scenes are those in which a batch could end early, twice or never.
var Scenes = []Scene{
	{"a job that follows the last member goes to a partition that home does not know", [2]int{6, 7}, func(w *Walk) []actor {
		f := w.running("one", 1)[0]
		to := Place{Queue: "two", Index: f.Place.Index}
		carry := func(step int) func() { return func() { w.Carry(f.Place, to, 0, step) } }
		return []actor{
			&sequence{"the worker and the carrier", []func(){
				func() { w.Settle(f, Settlement{Fate: Done, Next: to.Queue, Batch: f.Batch}) }, carry(0), carry(2), carry(1), carry(2), carry(1),
			}, map[string]Fate{f.ID: Done}},
			&chain{&reporter{place: f.Place}, &looker{plan: w.anyPlan(), careless: true}},
		}
	}},
	{"a handler whose session was lost grows the batch", [2]int{3, 12}, func(w *Walk) []actor {
		f := w.running("one", 1)[0]
		item := planned{id: "grown", place: Place{Queue: "two", Index: protocol.PartitionOf("grown", 2)}}
		return []actor{
			&grower{plan: w.anyPlan(), batch: f.Batch, token: "token", item: item},
			&chain{&sequence{"another worker", []func(){func() { w.Settle(f, Settlement{Fate: Done}) }}, map[string]Fate{f.ID: Done}}, &reporter{place: f.Place}, &looker{plan: w.anyPlan(), careless: true}, &looker{plan: w.anyPlan(), careless: true}},
		}
	}},
	{"somebody seals while a creator fills", [2]int{3, 17}, func(w *Walk) []actor {
		p := w.planned("one", 4)
		first := &creator{plan: p}
		for range 3 {
			first.step(w)
		}
		f := w.takeAll("one")
		return []actor{
			first,
			&chain{&sealer{plan: p}, &sequence{"the worker", []func(){func() {
				for _, f := range f {
					w.Settle(f, Settlement{Fate: Done})
				}
			}}, fatesOf(f, Done)}, &reporter{place: Partitions("one")[0]}, &reporter{place: Partitions("one")[1]}, &looker{plan: p, careless: true}, &looker{plan: p, careless: true}},
		}
	}},
	{"somebody cancels while a creator fills", [2]int{3, 18}, func(w *Walk) []actor {
		p := w.planned("one", 4)
		first := &creator{plan: p}
		for range 3 {
			first.step(w)
		}
		return []actor{first, &chain{&canceller{plan: p, asks: true}, &sequence{"the worker", []func(){func() { w.takeAll("one") }}, nil}, &reporter{place: Partitions("one")[0]}, &reporter{place: Partitions("one")[1]}, &looker{plan: p, careless: true}, &looker{plan: p, careless: true}}}
	}},
	{"a dead member is requeued while the others end", [2]int{2, 12}, func(w *Walk) []actor {
		f := w.running("one", 2)
		w.Settle(f[0], Settlement{Fate: Dead})
		w.made(map[string]Fate{f[0].ID: Dead}, "%s is dead", f[0].ID)
		return []actor{
			&sequence{"the operator and a worker", []func(){func() { w.Requeue(f[0].Place, f[0].ID) }, func() {
				for _, again := range w.takeAll("one") {
					w.Settle(again, Settlement{Fate: Done})
				}
			}}, map[string]Fate{f[0].ID: Done}},
			&chain{&sequence{"a worker", []func(){func() { w.Settle(f[1], Settlement{Fate: Done}) }}, map[string]Fate{f[1].ID: Done}}, &reporter{place: f[0].Place}, &reporter{place: f[1].Place}, &looker{plan: w.anyPlan(), careless: true}},
		}
	}},
	{"two look at once", [2]int{9, 4}, func(w *Walk) []actor {
		f := w.running("one", 1)[0]
		w.Settle(f, Settlement{Fate: Done})
		w.made(map[string]Fate{f.ID: Done}, "%s is done", f.ID)
		w.finish(&reporter{place: f.Place})
		carry := &sequence{"a carrier", []func(){w.CarryAll}, nil}
		return []actor{&chain{&looker{plan: w.anyPlan(), careless: true}, carry, &looker{plan: w.anyPlan(), careless: true}}, &looker{plan: w.anyPlan(), careless: true}}
	}},
}

// Play makes the calls of a scene in an order: each element is the process that makes the next call. Then it checks that the batch ends once.
func (s Scene) Play(system System, order []int) (err error) {
	w := NewWalk(system, NothingGoesBack)
	w.calm, w.random = true, rand.New(rand.NewPCG(1, 1))
	defer w.recovered(&err)
	actors := s.prepare(w)
	more := make([]bool, len(actors))
	for i := range more {
		more[i] = true
	}
	for _, i := range order {
		if more[i] {
			more[i] = actors[i].step(w)
		}
	}
	for i, a := range actors {
		if more[i] {
			w.finish(a)
		}
	}
	w.rest(true)
	return nil
}

// Orders returns the orders in which the two processes can make their calls.
func (s Scene) Orders() (orders [][]int) {
	var add func(order []int, a, b int)
	add = func(order []int, a, b int) {
		if a+b == 0 {
			orders = append(orders, append([]int(nil), order...))
			return
		}
		if a > 0 {
			add(append(order, 0), a-1, b)
		}
		if b > 0 {
			add(append(order, 1), a, b-1)
		}
	}
	add(nil, s.calls[0], s.calls[1])
	return orders
}

// planned plans a batch with items on one queue.
func (w *Walk) planned(queue string, items int) *plan {
	p := &plan{def: protocol.BatchDefinition{ID: "batch", Spec: []byte("spec"), HasDone: true, HasEnded: true}}
	for i := range items {
		id := fmt.Sprint("j", i)
		p.items = append(p.items, planned{Place{Queue: queue, Index: protocol.PartitionOf(id, 2)}, id})
	}
	w.plans[p.def.ID] = p
	return p
}

// running creates a batch and takes its members.
func (w *Walk) running(queue string, items int) []Flight {
	w.finish(&creator{plan: w.planned(queue, items)})
	return w.takeAll(queue)
}

func (w *Walk) takeAll(queue string) (flights []Flight) {
	for _, p := range Partitions(queue) {
		flights = append(flights, w.Take(p, "s0", 10)...)
	}
	w.made(nil, "s0 takes all of %s: %v", queue, ids(flights))
	return flights
}

func fatesOf(flights []Flight, fate Fate) map[string]Fate {
	fates := map[string]Fate{}
	for _, f := range flights {
		fates[f.ID] = fate
	}
	return fates
}

// A sequence is an actor that makes calls one after another.
type sequence struct {
	of    string
	calls []func()
	fates map[string]Fate // of the jobs that they may end
}

func (s *sequence) name() string { return s.of }

func (s *sequence) step(w *Walk) bool {
	s.calls[0]()
	w.made(s.fates, "%s, %d left", s.of, len(s.calls)-1)
	s.calls = s.calls[1:]
	return len(s.calls) > 0
}

// A chain is actors, each of which begins when the one before has ended.
type chain []actor

func (c *chain) name() string { return (*c)[0].name() }

func (c *chain) step(w *Walk) bool {
	if !(*c)[0].step(w) {
		*c = (*c)[1:]
	}
	return len(*c) > 0
}
