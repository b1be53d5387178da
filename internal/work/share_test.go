package work

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSlotsAreDividedByWeight(t *testing.T) {
	tests := []struct {
		weights []int // one per queue
		lanes   []int // number of partitions of each queue that may have work
		room    int
		rounds  int
		want    []int // slots of each queue over all rounds
	}{
		{[]int{1}, []int{1}, 7, 1, []int{7}},
		{[]int{3, 1}, []int{1, 1}, 8, 1, []int{6, 2}},
		{[]int{3, 1}, []int{1, 1}, 1, 400, []int{300, 100}},
		{[]int{3, 1}, []int{1, 1}, 3, 400, []int{900, 300}},
		{[]int{3, 1}, []int{8, 1}, 1, 400, []int{300, 100}},
		{[]int{1, 1, 1}, []int{1, 1, 1}, 2, 300, []int{200, 200, 200}},
		{[]int{100, 1}, []int{1, 1}, 10, 101, []int{1000, 10}},
		{[]int{3, 1}, []int{1, 1}, 2000, 1, []int{500, 500}},
	}
	for _, test := range tests {
		var lanes []*stake
		var owner []int
		for q, weight := range test.weights {
			s := &share{weight: weight}
			for range test.lanes[q] {
				lanes = append(lanes, &stake{share: s})
				owner = append(owner, q)
			}
		}
		got := make([]int, len(test.weights))
		takes := make([]int, len(lanes))
		for range test.rounds {
			divide(test.room, 1, false, lanes, takes)
			sum := 0
			for i, n := range takes {
				got[owner[i]] += n
				sum += n
			}
			if sum > test.room {
				t.Fatalf("%+v: %d slots given, want at most %d", test, sum, test.room)
			}
		}
		for q := range got {
			if d := got[q] - test.want[q]; d < -1 || d > 1 {
				t.Errorf("weights %v on %v lanes, %d slots in %d rounds: got %v, want %s", test.weights, test.lanes, test.room, test.rounds, got, fmt.Sprint(test.want))
				break
			}
		}
	}
}

// A round calls only as many lanes as have room for a grain each; over many rounds each queue still gets its share.
func TestLanesGetWholeGrainsAndTheirSharesInTurns(t *testing.T) {
	const lanes, grain, room, rounds = 20, 10, 35, 3000
	var stakes []*stake
	for i := range lanes {
		stakes = append(stakes, &stake{share: &share{weight: i + 1}})
	}
	got, takes := make([]int, lanes), make([]int, lanes)
	for range rounds {
		divide(room, grain, false, stakes, takes)
		called, sum := 0, 0
		for i, n := range takes {
			got[i] += n
			sum += n
			if n > 0 {
				called++
			}
		}
		if called > (room+grain-1)/grain || sum != room {
			t.Fatalf("%v: %d lanes get %d of %d slots, want all of them, a grain of %d each", takes, called, sum, room, grain)
		}
	}
	for i, n := range got {
		if want := room * rounds * (i + 1) / (lanes * (lanes + 1) / 2); n < want-3*grain || n > want+3*grain {
			t.Errorf("weight %d got %d, want %d and at most three grains more or less", i+1, n, want)
		}
	}
}

// Lanes that are called anyway get no more than their share, in any sequence of rounds.
func TestLanesThatAreCalledAnywayGetNoMoreThanTheirShare(t *testing.T) {
	const lanes, grain, room, rounds = 6, 8, 12, 4000
	for _, only := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		var stakes []*stake
		for i := range lanes {
			stakes = append(stakes, &stake{share: &share{weight: 1 + i%3}})
		}
		got, takes, all := make([]int, lanes), make([]int, lanes), 0
		for range rounds {
			for i, s := range stakes {
				s.called = random.IntN(10) < 1+i // the last ones far more often than the first
			}
			divide(room, grain, only && random.IntN(2) == 0, stakes, takes)
			for i, n := range takes {
				got[i] += n
				all += n
			}
		}
		for i, n := range got {
			if want := all * (1 + i%3) / 12; n < want-6*grain || n > want+6*grain {
				t.Errorf("only %v: lane %d with weight %d got %d of %d, want %d and a few grains more or less", only, i, 1+i%3, n, all, want)
			}
		}
	}
}

func TestWhereOnlySomeMayTakeTheOthersGetNothing(t *testing.T) {
	s := &share{weight: 1}
	stakes := []*stake{{share: s}, {share: s, called: true}, {share: s}}
	takes := make([]int, 3)
	if divide(9, 4, true, stakes, takes); takes[0] != 0 || takes[1] == 0 || takes[2] != 0 {
		t.Errorf("%v: want that only the second one is called", takes)
	}
	for range 10 {
		divide(9, 4, true, stakes, takes)
	}
	if takes[1] != 0 {
		t.Errorf("it gets %d more although the others have got nothing", takes[1])
	}
}
