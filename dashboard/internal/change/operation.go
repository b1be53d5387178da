package change

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	keepOperations = 10 * time.Minute // after they have ended
	maxOperations  = 100              // that are kept
)

// An Operation is a change of many jobs or schedules that goes on while its viewer looks at something else.
type Operation struct {
	ID     string
	Title  string // as "Requeue 12,000 jobs"
	Page   string // that it was begun on
	List   string // the query of that page's address
	Verb   string // what becomes of each, as "requeued"
	Lost   string // why some are left out, as "had gone"
	Meant  int
	Done   chime.BulkResult
	Ended  time.Time // zero: it goes on
	Failed error     // why it ended before its end; nil: it did not
}

// Left is how many have not had their turn.
func (o Operation) Left() int { return max(0, o.Meant-o.Done.Changed-o.Done.Gone) }

// operations are those of a process. They end with it, after the step that is under way.
type operations struct {
	mu      sync.Mutex
	all     map[string]*Operation
	running sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

func newOperations() *operations {
	ctx, stop := context.WithCancel(context.Background())
	return &operations{all: map[string]*Operation{}, ctx: ctx, stop: stop}
}

// begin begins an operation that has all but an ID: do changes what is meant and tells of each step, until ctx ends.
func (all *operations) begin(o *Operation, do func(ctx context.Context, told func(chime.BulkResult)) error) Operation {
	all.mu.Lock()
	defer all.mu.Unlock()
	for id, old := range all.all {
		if !old.Ended.IsZero() && (time.Since(old.Ended) > keepOperations || len(all.all) >= maxOperations) {
			delete(all.all, id)
		}
	}
	o.ID = rand.Text()
	all.all[o.ID] = o
	all.running.Go(func() {
		err := do(all.ctx, func(step chime.BulkResult) {
			all.mu.Lock()
			defer all.mu.Unlock()
			o.Done.Changed, o.Done.Gone = o.Done.Changed+step.Changed, o.Done.Gone+step.Gone
		})
		all.mu.Lock()
		defer all.mu.Unlock()
		o.Ended, o.Failed = time.Now(), err
	})
	return *o
}

// get returns an operation as it is now.
func (all *operations) get(id string) (Operation, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	o, ok := all.all[id]
	if !ok {
		return Operation{}, false
	}
	return *o, true
}

// Operation returns an operation as it is now; false: there is none, or it ended a while ago, or another process has it.
func (c *Changer) Operation(id string) (Operation, bool) { return c.operations.get(id) }

// Close ends all operations after the step that is under way, and waits for them.
func (c *Changer) Close() {
	c.operations.stop()
	c.operations.running.Wait()
}
