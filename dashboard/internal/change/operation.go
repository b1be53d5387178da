package change

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	keepOperations = 10 * time.Minute // time after their end
	maxOperations  = 100              // maximum number of kept operations
)

// An Operation is a change of many jobs or schedules. It continues when the viewer leaves its page.
type Operation struct {
	ID    string
	Title string // such as "Requeue 12,000 jobs"
	Page  string // the page on which it was begun
	List  string // the query of that page's address
	Verb  string // the result for each, such as "requeued"
	Lost  string // why some were left out, such as "gone"
	Meant int
	// Counting: Meant has the jobs that were found so far. The operation searches for the others while it changes these.
	Counting bool
	Done     chime.BulkResult
	Denied   int       // those that the viewer may not change
	Why      string    // why, for the first of them; empty: there are none
	Ended    time.Time // zero: it is still running
	Failed   error     // why it stopped early; nil: it did not
}

// Left returns the number of jobs or schedules that are still to change.
func (o Operation) Left() int { return max(0, o.Meant-o.Done.Changed-o.Done.Gone-o.Denied) }

// Summary describes for the audit what became of all.
func (o Operation) Summary() string {
	text := fmt.Sprintf("%d of %d %s, %d %s", o.Done.Changed, o.Meant, o.Verb, o.Done.Gone, o.Lost)
	if o.Denied > 0 {
		text += fmt.Sprintf(", %d not allowed: %s", o.Denied, o.Why)
	}
	if left := o.Left(); left > 0 {
		text += fmt.Sprintf(", %d not reached", left)
	}
	return text
}

// A progress is the result of a step of an operation.
type progress struct {
	chime.BulkResult
	found  int // further jobs that were found
	denied int
	why    string // why the first one was denied
}

// deny counts names that the viewer may not change.
func (p *progress) deny(n int, why error) {
	if p.denied += n; p.why == "" {
		p.why = why.Error()
	}
}

// add counts a step.
func (o *Operation) add(step progress) {
	o.Meant += step.found
	o.Done.Changed, o.Done.Gone = o.Done.Changed+step.Changed, o.Done.Gone+step.Gone
	if o.Denied += step.denied; o.Why == "" {
		o.Why = step.why
	}
}

// operations are the operations of a process. When the process ends, they end after their current step.
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

// begin gives an operation an ID and begins it. do makes the changes until ctx ends, and reports each step. ended is called with the result; it may be nil.
func (all *operations) begin(o *Operation, do func(ctx context.Context, report func(progress)) error, ended func(Operation)) Operation {
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
		err := do(all.ctx, func(step progress) {
			all.mu.Lock()
			defer all.mu.Unlock()
			o.add(step)
		})
		all.mu.Lock()
		o.Ended, o.Failed = time.Now(), err
		o.Counting = o.Counting && err != nil
		result := *o
		all.mu.Unlock()
		if ended != nil {
			ended(result)
		}
	})
	return *o
}

// get returns the current state of an operation.
func (all *operations) get(id string) (Operation, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	o, ok := all.all[id]
	if !ok {
		return Operation{}, false
	}
	return *o, true
}

// Operation returns the current state of an operation. It returns false if it is not known, if it ended a while ago, or if another process has it.
func (c *Changer) Operation(id string) (Operation, bool) { return c.operations.get(id) }

// Close ends all operations after their current step, and waits for them.
func (c *Changer) Close() {
	c.operations.stop()
	c.operations.running.Wait()
}
