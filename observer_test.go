package chime

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/observe"
)

// The two types lie on each other in memory.
func TestAJobEventHasTheLayoutOfWhatTheEnginesTell(t *testing.T) {
	event, told := reflect.TypeFor[JobEvent](), reflect.TypeFor[observe.Job]()
	if event.Size() != told.Size() || event.NumField() != told.NumField() {
		t.Fatalf("a JobEvent has %d bytes and %d fields, an observe.Job %d and %d", event.Size(), event.NumField(), told.Size(), told.NumField())
	}
	for i := range event.NumField() {
		a, b := event.Field(i), told.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset || a.Type.Kind() != b.Type.Kind() || a.Type.Size() != b.Type.Size() || !a.Type.ConvertibleTo(b.Type) {
			t.Errorf("field %d is %s %v at %d in a JobEvent, and %s %v at %d in an observe.Job", i, a.Name, a.Type, a.Offset, b.Name, b.Type, b.Offset)
		}
	}
}

func TestWhatOneObserverChangesAnotherDoesNotHear(t *testing.T) {
	now, failure := time.Now(), errors.New("no")
	want := JobEvent{
		Queue: "q", Name: "n", ID: "i", Schedule: "s", Attempt: 3, Due: now, Started: now.Add(1), Ended: now.Add(2), Outcome: RunDead, Err: failure,
		Origin: observe.Manual, First: true, Waited: now.Add(3), TimedOut: true,
	}
	heard := 0
	changes := &Observer{Ended: func(events []JobEvent) {
		if len(events) != 2 || events[1] != want {
			t.Errorf("an observer heard %+v, want %+v", events, want)
		}
		heard++
		clear(events)
	}}
	all, err := observing("Observers", []*Observer{changes, changes, {}, changes})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		one := observe.Job{
			Queue: "q", Name: "n", ID: "i", Schedule: "s", Attempt: 3, Due: now, Started: now.Add(1), Ended: now.Add(2), Outcome: "dead", Err: failure,
			Origin: observe.Manual, First: true, Waited: now.Add(3), TimedOut: true,
		}
		all.Ended([]observe.Job{{}, one})
	}
	if heard != 6 {
		t.Errorf("observers heard %d times, want 6", heard)
	}
}
