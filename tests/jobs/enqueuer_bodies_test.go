package jobs_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// manyItems returns n jobs of 100 bytes.
func manyItems(n int, options ...chime.EnqueueOption) []chime.Item {
	items := make([]chime.Item, n)
	for i := range items {
		items[i] = chime.Item{Name: "report", Args: []byte(strings.Repeat("x", 100)), Options: options}
	}
	return items
}

// A store may read an unanswered call at any later time.
func TestBodiesOfACallThatFailedAreNotOverwritten(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		var kept []protocol.EnqueueItem
		var texts []string
		store.fail(func(_ int, call *protocol.EnqueueCall) (before, after error) {
			for _, item := range call.Items {
				kept, texts = append(kept, item), append(texts, string(item.Body))
			}
			return fmt.Errorf("no: %w", chime.ErrStoreFull), nil
		})
		e.EnqueueMany(t.Context(), manyItems(100))
		e.Enqueue(t.Context(), "a.name.that.is.long.so.that.the.next.body.fits", strings.Repeat("one", 20))
		store.fail(nil)
		for i := range 10 {
			if _, err := e.EnqueueMany(t.Context(), manyItems(100, chime.ID(fmt.Sprint("second-", i)))); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Enqueue(t.Context(), "another", "two"); err != nil {
				t.Fatal(err)
			}
		}
		for i, item := range kept {
			if string(item.Body) != texts[i] {
				t.Fatalf("body %d is %q now, was %q", i, item.Body, texts[i])
			}
		}
	})
}

// A caller that does not wait for the outcome leaves its call unfinished. The memory of that call is not used again.
func TestBodiesOfAnUnfinishedCallAreNotOverwritten(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		waiting, goOn := make(chan struct{}), make(chan struct{})
		first := true
		store.fail(func(_ int, call *protocol.EnqueueCall) (before, after error) {
			if first {
				first = false
				close(waiting)
				<-goOn
			}
			return nil, nil
		})
		ended := make(chan error)
		go func() {
			_, err := e.EnqueueMany(ctx, manyItems(50))
			ended <- err
		}()
		<-waiting
		cancel()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "outcome unknown") {
			t.Errorf("got %v, want an error with \"outcome unknown\"", err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := e.EnqueueMany(t.Context(), []chime.Item{{Name: "other", Args: []byte(strings.Repeat("y", 100))}}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait() // it waits behind the first call and has already written its bodies
		close(goOn)
		<-done
		arrived := map[string]int{} // name and payload -> jobs
		for job, err := range chime.NewJobs(f.Server.Store()).List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobWaiting}) {
			if err != nil {
				t.Fatal(err)
			}
			arrived[fmt.Sprintf("%s %.1s", job.Name, job.Payload)]++
		}
		if want := map[string]int{"report x": 50, "other y": 1}; !maps.Equal(arrived, want) {
			t.Errorf("%v arrived, want %v", arrived, want)
		}
	})
}
