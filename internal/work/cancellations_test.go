package work

import (
	"fmt"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// At most maxCancellations cancelled jobs that this worker does not have are in memory.
func TestCancellationsInMemoryAreBounded(t *testing.T) {
	var c cancellations
	job := func(i int) protocol.HeldJob { return protocol.HeldJob{ID: fmt.Sprint("job", i)} }
	for i := range 3*maxCancellations + 1 {
		c.add(job(i))
		if len(c.jobs) > maxCancellations {
			t.Fatalf("%d cancellations are kept, want %d at most", len(c.jobs), maxCancellations)
		}
	}
	if last := job(3 * maxCancellations); !c.take(last) || c.take(last) {
		t.Error("the last cancellation is not taken exactly once")
	}
}
