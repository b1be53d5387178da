package work

import (
	"fmt"
	"testing"
)

func TestSlotsAreDividedByWeight(t *testing.T) {
	tests := []struct {
		weights []int // one a queue
		lanes   []int // partitions of each that may have work
		room    int
		rounds  int
		want    []int // slots a queue over all rounds
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
			divide(test.room, lanes, takes)
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
