package work

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

type deafStore struct{ protocol.Store }

func (deafStore) Report(context.Context, []protocol.ProgressReport) error { return errors.New("lost") }

// While the store refuses progress, for example because one node of a cluster is down, the progress of jobs that have ended is forgotten.
func TestProgressThatTheStoreRefusesIsForgottenWithItsJob(t *testing.T) {
	r := newReporter(deafStore{})
	s := newSession(protocol.Partition{Queue: "default"}, 0)
	runs := &Output{reporter: r, session: s, id: "long"}
	runs.Report([]byte("p"))
	for i := range 1000 {
		ends := &Output{reporter: r, session: s, id: fmt.Sprint("short", i)}
		ends.Report([]byte("p"))
		r.send(t.Context())
		ends.closed = true
	}
	r.send(t.Context())
	if n := len(r.changed); n != 1 {
		t.Errorf("the progress of %d jobs is remembered, want that of the one that runs", n)
	}
}
