package observe

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestPlacesTellsOfWhatWasPlacedAndOfWhatWasPassedOverBeforeIt(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 9, minute, 0, 0, time.UTC) }
	sent := []protocol.Placement{
		{Name: "a", Instants: []time.Time{at(1), at(2), at(3)}, Missed: 7, CaughtUp: 2, Owed: time.Second},
		{Name: "lost", Instants: []time.Time{at(1)}, Missed: 1},
		{Name: "b", Instants: []time.Time{at(4), at(5)}},
	}
	answers := []protocol.PlaceAnswer{{Placed: 3}, {Lost: true}, {Placed: 1}}
	var got []Place
	o := Observer{Placed: func(places []Place) { got = append(got, places...) }}
	o.Places(sent, answers)
	want := []Place{
		{Schedule: "a", Planned: at(1), Owed: time.Second, Missed: 7, CaughtUp: true}, {Schedule: "a", Planned: at(2), Owed: time.Second, CaughtUp: true},
		{Schedule: "a", Planned: at(3), Owed: time.Second}, {Schedule: "b", Planned: at(4)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n %+v, want\n %+v", got, want)
	}
	new(Observer).Places(sent, answers) // there is no observer
}

// A stubStore answers every call with the same error.
type stubStore struct {
	protocol.Store
	err error
}

func (s stubStore) Check(context.Context) error { return s.err }

func (s stubStore) Work(_ context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	answers := make([]protocol.WorkAnswer, len(calls))
	answers[0].Err, answers[len(calls)-1].Err = protocol.ErrSessionLost, s.err
	return answers
}

func TestAStoreTellsOfItsCallsAndOfThoseThatFail(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct{ err, want error }{
		{nil, nil}, {down, down}, {fmt.Errorf("x: %w", protocol.ErrSessionLost), nil}, {protocol.ErrConflict, nil}, {context.Canceled, nil},
		{context.DeadlineExceeded, context.DeadlineExceeded},
	} {
		var ops []string
		o := Observer{Called: func(op string, took time.Duration, err error) {
			ops = append(ops, op)
			if err != c.want || took < 0 {
				t.Errorf("%s with %v is reported as %v, want %v; %v", op, c.err, err, c.want, took)
			}
		}}
		store := o.Store(stubStore{err: c.err})
		if err := store.Check(t.Context()); err != c.err {
			t.Errorf("the caller gets %v, want %v", err, c.err)
		}
		store.Work(t.Context(), make([]protocol.WorkCall, 2))
		if !slices.Equal(ops, []string{"check", "work"}) {
			t.Errorf("%q were reported", ops)
		}
	}
}

func TestWithoutAnObserverTheStoreIsTheSame(t *testing.T) {
	store := protocol.Store(stubStore{})
	if got := new(Observer).Store(store); got != store {
		t.Errorf("got %T", got)
	}
	o := Observer{Called: func(string, time.Duration, error) {}}
	if o.Store(nil) != nil {
		t.Error("a nil store became a store")
	}
}

// Every call that a role may make is reported. Only two kinds are left out: calls that only an application makes, and methods that make no call.
func TestEveryCallOfARoleIsReported(t *testing.T) {
	unreported := []string{
		"Node", "Server", "MayReplan", "Removals", "Leader", "Runs", "Days", "Soonest", "PauseSchedule", "Backfill", "PauseQueue", "BeginPurge", "PurgeStep", "DeleteQueue", "LimitQueue", "SetGroup", "SetGroups", "PauseGroup", "PurgeGroup", "PageGroups", "CountGroups", "Workers", "Versions", "Held",
		"Verify", "Samples", "Shapes", "CancelJob", "DeleteJobs", "RequeueJobs", "FindJobs", "QueuesOf", "PageJobs", "PlaceOf", "Newest", "Await",
		"PutCollection", "DeleteCollection", "FindCollection", "PageCollections", "ReserveName", "ReleaseNames", "CollectionNames", "FinishTransition", "MoveSwept", "SecretsVersion", "RaiseSecretsVersion",
	}
	reported := map[string]bool{}
	for _, name := range []string{"store.go", "batches.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				reported[f.Name.Name] = true
			}
		}
	}
	all := reflect.TypeFor[protocol.Store]()
	for i := range all.NumMethod() {
		if name := all.Method(i).Name; reported[name] == slices.Contains(unreported, name) {
			t.Errorf("%s is reported: %v", name, reported[name])
		}
	}
}
