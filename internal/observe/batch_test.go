package observe

import (
	"fmt"
	"testing"
)

func TestABatchTellsOfEachJobOnceAndForgetsIt(t *testing.T) {
	var b Batch
	var sizes []int
	heard := func(jobs []Job) {
		sizes = append(sizes, len(jobs))
		for i, j := range jobs {
			if j != (Job{ID: fmt.Sprint(i)}) {
				t.Errorf("job %d is %+v", i, j)
			}
			jobs[i].Schedule = "changed"
		}
	}
	for _, n := range []int{together, 0, 3, 5 * together, together - 1} {
		for i := range n {
			if b.Full() != (i >= together) {
				t.Errorf("with %d jobs a batch is full: %v", i, b.Full())
			}
			j := b.Add()
			if *j != (Job{}) {
				t.Errorf("the memory of job %d of %d has %+v", i, n, *j)
			}
			j.ID = fmt.Sprint(i)
		}
		b.Report(heard)
	}
	if got, want := fmt.Sprint(sizes), fmt.Sprint([]int{together, 3, 5 * together, together - 1}); got != want {
		t.Errorf("%s jobs reported, want %s", got, want)
	}
}
