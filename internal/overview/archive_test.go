package overview

import (
	"fmt"
	"testing"
	"time"
)

// The samples of a queue are forgotten ten minutes after its charts were requested last.
func TestSamplesOfQueuesThatAreNotViewedAreForgotten(t *testing.T) {
	now := time.Now()
	a := archive{kept: map[archived]*kept{}}
	a.kept[archived{"viewed", time.Minute}] = &kept{asked: now.Add(-forgetAfter)}
	for i := range 100 {
		a.kept[archived{fmt.Sprint("q", i), time.Minute}] = &kept{asked: now.Add(-forgetAfter - time.Second)}
	}
	if _, _, err := a.readOn(t.Context(), nil, nil, time.Minute, time.Hour, now); err != nil || len(a.kept) != 1 {
		t.Errorf("samples of %d queues are kept, %v; want those of one", len(a.kept), err)
	}
}
