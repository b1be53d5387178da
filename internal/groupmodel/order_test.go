package groupmodel

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// An end is the instant at which a flight ends.
type end struct {
	at     float64
	group  int
	flight Flight
}

type ends []end

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].flight.Number < e[j].flight.Number
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(end)) }
func (e *ends) Pop() any     { o := *e; x := o[len(o)-1]; *e = o[:len(o)-1]; return x }

// A round is a queue whose groups always have jobs waiting, and slots that never rest.
type round struct {
	*Model
	t       *testing.T
	weights []int
	ids     int
	of      map[string]int // ID → index of its group
	starts  []int
	holds   []int
	ends    ends
	now     float64
}

func newRound(t *testing.T, weights ...int) *round {
	r := &round{Model: New(), t: t, weights: weights, of: map[string]int{}, starts: make([]int, len(weights)), holds: make([]int, len(weights))}
	for i, w := range weights {
		if err := r.SetGroup(r.key(i), Rule{Weight: w}, 0); err != nil {
			t.Fatal(err)
		}
		r.add(i)
		r.add(i)
	}
	return r
}

func (r *round) key(i int) string { return fmt.Sprintf("g%04d", i) }

func (r *round) add(i int) {
	r.ids++
	id := fmt.Sprint(r.ids)
	r.of[id] = i
	r.Enqueue(Item{ID: id, Group: r.key(i)}, 0)
}

// start takes one job, and adds another one to its group.
func (r *round) start(length func(group int) float64) (group int) {
	taken := r.Take("s", 1, 0).Flights
	if len(taken) == 0 {
		r.t.Fatal("a take got no job")
	}
	f := taken[0]
	group = r.of[f.ID]
	r.starts[group]++
	r.holds[group]++
	r.add(group)
	heap.Push(&r.ends, end{r.now + length(group), group, f})
	return group
}

// end ends the flight that ends next.
func (r *round) end() {
	e := heap.Pop(&r.ends).(end)
	r.now = e.at
	r.holds[e.group]--
	r.Done(e.flight, 0)
}

func alike(int) float64 { return 1 }

func upTo(n int) (weights []int) {
	for w := range n {
		weights = append(weights, w+1)
	}
	return weights
}

// However long the jobs of a group take, it holds its share of the slots, within one slot and at each instant.
func TestSlotsFollowWeights(t *testing.T) {
	for _, slots := range []int{1, 5, 20, 55, 100} {
		random := rand.New(rand.NewPCG(1, uint64(slots)))
		r := newRound(t, upTo(10)...)
		length := func(group int) float64 { return math.Pow(10, float64(group*7%10)/3) * (0.8 + 0.4*random.Float64()) } // 1 ms to 1 s
		for range slots {
			r.start(length)
		}
		for range 3_000 {
			for i, w := range r.weights {
				if share := float64(slots*w) / 55; math.Abs(float64(r.holds[i])-share) > 1 {
					t.Fatalf("%d slots, weight %d: %d flights at %.1f ms, want %.2f within one", slots, w, r.holds[i], r.now, share)
				}
			}
			r.end()
			r.start(length)
		}
	}
}

// While all groups may start jobs all the time and these take equally long, the starts of two groups, each over its weight, differ by at most
// one over each of the weights, and what one take holds.
func TestStartsFollowWeights(t *testing.T) {
	for _, c := range []struct {
		slots   int
		weights []int
	}{
		{1, []int{1, 3}}, {2, []int{1, 3}}, {2, []int{1, 1000}}, {3, []int{1, 1}}, {3, []int{1, 2}}, {5, upTo(10)}, {20, upTo(10)}, {100, upTo(10)},
		{100, []int{1, 10, 100, 1000}}, {7, []int{999, 1000, 1}}, {64, []int{3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}},
	} {
		r := newRound(t, c.weights...)
		for n := range 2_000 {
			if n >= c.slots {
				r.end()
			}
			r.start(alike)
			for i, a := range c.weights {
				for j, b := range c.weights[:i] {
					bound := 1/float64(a) + 1/float64(b) + 1/float64(min(a, b))
					if got := math.Abs(float64(r.starts[i])/float64(a) - float64(r.starts[j])/float64(b)); got > bound+1e-9 {
						t.Fatalf("%d slots: after %d starts weights %d and %d have %d and %d: %.3f turns apart, want at most %.3f",
							c.slots, n+1, a, b, r.starts[i], r.starts[j], got, bound)
					}
				}
			}
		}
	}
}

func TestEachOfManyGroupsHasItsTurnInOneSlot(t *testing.T) {
	r := newRound(t, make([]int, 200)...)
	for turns := 1; turns <= 3; turns++ {
		for range 200 {
			r.start(alike)
			r.end()
		}
		for i, n := range r.starts {
			if n != turns {
				t.Fatalf("after %d turns of 200 groups group %d has started %d jobs", turns, i, n)
			}
		}
	}
}

func TestAGroupThatCouldNotStartHasNoCredit(t *testing.T) {
	for name, c := range map[string]struct{ before, after func(r *round) }{
		"idle":   {func(r *round) { r.PurgeGroup(r.key(0), 0) }, func(r *round) { r.add(0); r.add(0) }},
		"paused": {func(r *round) { _ = r.PauseGroup(r.key(0), 0) }, func(r *round) { r.ResumeGroup(r.key(0), 0) }},
		"blocked": {
			func(r *round) {
				_ = r.SetGroup(r.key(0), Rule{Starts: 1, Per: per}, 0)
				r.start(alike)
				for r.holds[0] == 0 {
					r.end()
					r.start(alike)
				}
				r.end()
			},
			func(r *round) { r.ResetGroup(r.key(0), 0) },
		},
	} {
		r := newRound(t, 1, 1)
		c.before(r)
		for range 100 {
			r.start(alike)
			r.end()
		}
		c.after(r)
		r.starts[0], r.starts[1] = 0, 0
		for range 20 {
			r.start(alike)
			r.end()
			if d := r.starts[0] - r.starts[1]; d < -1 || d > 1 {
				t.Errorf("%s: started %d and %d jobs of the two groups afterwards, want equal numbers within one", name, r.starts[0], r.starts[1])
				break
			}
		}
	}
}

// A group of slow jobs holds two of three slots while the other one starts a thousand jobs in the third. When its jobs become as fast as the
// other's, it does not hold two slots until it has started as many: what it is ahead is bounded by two shares.
func TestAGroupOfSlowJobsGathersLittleCredit(t *testing.T) {
	r := newRound(t, 1, 1)
	for r.holds[0] < 2 {
		r.start(func(group int) float64 {
			if group == 0 {
				return 1_000
			}
			return 1
		})
		if len(r.ends) == 3 {
			r.end()
		}
	}
	for r.now < 999 {
		if len(r.ends) == 3 {
			r.end()
		}
		r.start(func(int) float64 { return 1 })
	}
	if r.starts[1] < 900 {
		t.Fatalf("the group of fast jobs started %d, want some thousand", r.starts[1])
	}
	r.starts[0], r.starts[1] = 0, 0
	for range 300 {
		if len(r.ends) == 3 {
			r.end()
		}
		r.start(alike)
		if ahead := r.starts[0] - r.starts[1]; ahead > 5 {
			t.Fatalf("after %d and %d starts the group that was slow is %d ahead, want at most 5", r.starts[0], r.starts[1], ahead)
		}
	}
}

// A group that may start nothing claims no slots, however heavy it is.
func TestAPausedGroupClaimsNoSlots(t *testing.T) {
	r := newRound(t, 1, 1000)
	_ = r.PauseGroup(r.key(1), 0)
	for range 5 {
		r.start(alike)
	}
	if r.holds[0] != 5 {
		t.Errorf("the group beside the paused one has %d flights, want 5", r.holds[0])
	}
}

// A group that lacks a whole slot gets it, though it has the latest tag.
func TestAGroupThatLacksAWholeSlotComesFirst(t *testing.T) {
	r := newRound(t, 1, 1, 1)
	_ = r.PauseGroup(r.key(1), 0)
	_ = r.PauseGroup(r.key(2), 0)
	for range 6 {
		r.start(alike)
	}
	r.ResumeGroup(r.key(1), 0)
	var order []int
	order = append(order, r.start(alike), r.start(alike), r.start(alike))
	r.ResumeGroup(r.key(2), 0)
	for range 6 {
		order = append(order, r.start(alike))
	}
	if got, want := fmt.Sprint(order), "[1 1 1 2 2 2 1 2 1]"; got != want {
		t.Errorf("slots went to groups %s, want %s", got, want)
	}
}

// Of two groups that lack a whole slot the one with the least flights for its weight is first, also if the other one has the earlier tag.
func TestOfGroupsThatLackAWholeSlotTheLeastShareIsFirst(t *testing.T) {
	r := newRound(t, 1, 3, 1)
	_ = r.PauseGroup(r.key(1), 0)
	_ = r.PauseGroup(r.key(2), 0)
	for range 6 {
		r.start(alike)
	}
	r.ResumeGroup(r.key(2), 0)
	first := r.start(func(int) float64 { return 0 }) // its turn gives group 2 the latest tag
	r.end()
	r.ResumeGroup(r.key(1), 0)
	if got, want := fmt.Sprint(first, r.start(alike), r.start(alike)), "2 1 2"; got != want {
		t.Errorf("slots went to groups %s, want %s", got, want)
	}
}

func TestAGroupThatWasPurgedHasNoDebt(t *testing.T) {
	r := newRound(t, 1, 1000)
	for r.starts[0] == 0 { // a turn of weight 1 is a thousand of the other's
		r.start(alike)
		r.end()
	}
	r.PurgeGroup(r.key(0), 0)
	r.add(0)
	r.starts[0] = 0
	for range 2 {
		r.start(alike)
		r.end()
	}
	if r.starts[0] != 1 {
		t.Errorf("started %d jobs of the group in two turns after its purge, want 1", r.starts[0])
	}
}

func TestAWeightHoldsFromTheNextTake(t *testing.T) {
	r := newRound(t, 1, 1)
	for range 10 {
		r.start(alike)
		r.end()
	}
	if err := r.SetGroup(r.key(0), Rule{Weight: 9}, 0); err != nil {
		t.Fatal(err)
	}
	r.starts[0], r.starts[1] = 0, 0
	for range 20 {
		r.start(alike)
		r.end()
	}
	if r.starts[0] < 17 || r.starts[0] > 19 {
		t.Errorf("weight 9 of 10 started %d of 20 jobs, want 18 within one", r.starts[0])
	}
}

func TestJobsWithAndWithoutAGroupShareABatch(t *testing.T) {
	for _, many := range []string{"", "g"} {
		m := New()
		for i := range 1_000 {
			m.Enqueue(Item{ID: fmt.Sprint(i), Group: many}, 0)
		}
		one := Item{ID: "one"}
		if many == "" {
			one.Group = "g"
		}
		m.Enqueue(one, 0)
		found := false
		for range 3 {
			found = found || m.Take("s", 1, 0).Flights[0].ID == "one"
		}
		if !found {
			t.Errorf("1,000 jobs with group %q: the other one did not start within three takes", many)
		}
	}
}

func TestAJobGivenBackReturnsItsTurnAndItsPlace(t *testing.T) {
	m := New()
	for _, id := range []string{"a1", "a2", "b1", "b2"} {
		m.Enqueue(Item{ID: id, Group: id[:1]}, 0)
	}
	for range 5 { // however often it is given back
		f := m.Take("s", 1, 0).Flights[0]
		if f.ID != "a1" {
			t.Fatalf("took %s, want a1", f.ID)
		}
		m.Back(f, 0)
		if class := m.class(); !m.allowed(m.group("a"), class) {
			t.Fatalf("group a may not be next: %s", m.describe(class))
		}
	}
}
