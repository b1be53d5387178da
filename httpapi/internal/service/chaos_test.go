package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/internal/long"
)

var chaosQueues = []string{"default", "slow"} // a put moves a job to its collection's queue

const (
	chaosWriters = 6
	chaosActs    = 15
	chaosJobs    = 8
	chaosQuota   = 6
)

// Writers create, change, enable, disable, run and delete jobs while others do the same to their collections. A third of them is stopped between two
// calls to the store, or before an answer; others are slow, some by a minute and a half. Afterwards Run repairs what they have left.
func TestWhatWritersLeaveIsRepaired(t *testing.T) {
	for _, seed := range long.Draw(3, 8) {
		onService(t, Options{}, func(t *testing.T, f *fixture) {
			c := &chaos{fixture: f, store: New(Options{Store: f.cutStore(), Queues: chaosQueues}), quota: chaosQuota}
			for _, name := range []string{"demo", "other"} {
				f.collect(name, &resource.Collection{Quota: resource.Quota{MaxJobCount: chaosQuota}})
			}
			var writers sync.WaitGroup
			for w := range uint64(chaosWriters) {
				writers.Go(func() { c.write(rand.New(rand.NewPCG(seed, w))) })
			}
			writers.Wait()
			c.repair()
			f.checkInvariant(fmt.Sprintf("seed %d", seed))
		})
	}
}

// No writer is stopped here, so nothing needs repair; and an answer to a writer is true until the next write.
func TestEachJobIsWhatItsLastWriterWanted(t *testing.T) {
	for _, seed := range long.Draw(3, 8) {
		onService(t, Options{}, func(t *testing.T, f *fixture) {
			c := &chaos{fixture: f, store: New(Options{Store: f.cutStore(), Queues: chaosQueues})}
			for i := range chaosJobs {
				f.put(jobIn("demo", i), job(hourly))
			}
			var writers sync.WaitGroup
			written := make([]wish, chaosJobs)
			var mu sync.Mutex
			for w := range uint64(chaosWriters) {
				r := rand.New(rand.NewPCG(seed, w))
				writers.Go(func() {
					for range chaosActs {
						if w == 0 {
							c.collection(c.slowly(r), r, "demo", false)
							continue
						}
						i := r.IntN(chaosJobs)
						if now, ok := c.patch(c.slowly(r), r, jobIn("demo", i)); ok {
							mu.Lock()
							written[i] = written[i].later(now)
							mu.Unlock()
						}
					}
				})
			}
			writers.Wait()
			if err := f.finishAll(t.Context()); err != nil {
				t.Error(err)
			}
			f.checkInvariant(fmt.Sprintf("seed %d", seed))
			for i, last := range written {
				s, err := f.schedules.Get(t.Context(), jobIn("demo", i).Schedule())
				if err != nil {
					t.Fatal(err)
				}
				if m, _ := metaOf(s); last.states != nil && !last.states[m.State] {
					t.Errorf("seed %d: job %d is wanted %s, its last writer, who saw revision %d, wanted %v", seed, i, m.State, last.seen, last.states)
				}
			}
		})
	}
}

// A wish is the state that the last writers wanted: they read the same revision.
type wish struct {
	seen   int64
	states map[resource.State]bool
}

func (w wish) later(other wish) wish {
	switch {
	case other.seen > w.seen:
		return other
	case other.seen == w.seen:
		for state := range other.states {
			w.states[state] = true
		}
	}
	return w
}

type chaos struct {
	*fixture
	store *Service // whose calls may be stopped
	quota int      // 0: none
}

// slowly is the ctx of a slow writer that finishes.
func (c *chaos) slowly(r *rand.Rand) context.Context {
	return context.WithValue(c.t.Context(), cutKey{}, &cut{calls: 1 << 30, wait: func() time.Duration { return time.Duration(r.IntN(50)) * time.Millisecond }})
}

// someWriter is the ctx of a writer that may be stopped, or slow.
func (c *chaos) someWriter(r *rand.Rand) context.Context {
	of := &cut{calls: 1 << 30, wait: func() time.Duration { return time.Duration(r.IntN(50)) * time.Millisecond }}
	switch r.IntN(10) {
	case 0, 1, 2:
		of.calls, of.answer = r.IntN(12), r.IntN(2) == 0
	case 3:
		of.wait = func() time.Duration { return time.Duration(r.IntN(8)/7) * 90 * time.Second }
	}
	return context.WithValue(c.t.Context(), cutKey{}, of)
}

func (c *chaos) write(r *rand.Rand) {
	for range chaosActs {
		ctx := c.someWriter(r)
		name := []string{"demo", "other"}[r.IntN(2)]
		n := jobIn(name, r.IntN(chaosJobs))
		var err error
		switch r.IntN(10) {
		case 0, 1, 2, 3:
			_, _, err = c.store.PutJob(ctx, n, Condition{}, false, func(*Job) (*resource.Job, error) {
				return with(job(hourly), func(j *resource.Job) {
					j.State, j.KeepRuns = []resource.State{"", resource.Enabled, resource.Disabled}[r.IntN(3)], r.IntN(3)
				}), nil
			})
		case 4, 5:
			_, _ = c.patch(ctx, r, n)
		case 6:
			_, err = c.store.DeleteJob(ctx, n, Condition{})
		case 7:
			_, err = c.store.RunJob(ctx, n, "")
		default:
			c.collection(ctx, r, name, true)
		}
		c.expected(err)
	}
}

// patch sets the wanted state of a job, and returns it if that succeeded.
func (c *chaos) patch(ctx context.Context, r *rand.Rand, n resource.JobName) (wish, bool) {
	state := []resource.State{resource.Enabled, resource.Disabled}[r.IntN(2)]
	seen := int64(0)
	_, _, err := c.store.PutJob(ctx, n, Condition{}, true, func(old *Job) (*resource.Job, error) {
		if old == nil {
			return nil, noJob(n)
		}
		seen = old.Revision
		return with(old.Job, func(j *resource.Job) { j.State = state }), nil
	})
	c.expected(err)
	return wish{seen, map[resource.State]bool{state: true}}, err == nil
}

func (c *chaos) collection(ctx context.Context, r *rand.Rand, name string, deletes bool) {
	var err error
	switch act := r.IntN(8); {
	case act == 0 && deletes:
		_, _, err = c.store.DeleteCollection(ctx, name, Condition{})
	case act <= 2:
		_, _, err = c.store.PutCollection(ctx, name, Condition{}, func(*Collection) (*resource.Collection, error) {
			return &resource.Collection{Queue: chaosQueues[r.IntN(2)], Quota: resource.Quota{MaxJobCount: c.quota}}, nil
		})
	case act <= 4:
		_, _, err = c.store.SetCollectionState(ctx, name, resource.CollectionDisabled)
	default:
		_, _, err = c.store.SetCollectionState(ctx, name, resource.CollectionEnabled)
	}
	c.expected(err)
}

// expected fails the test unless an error is a problem, or the error of a stopped writer.
func (c *chaos) expected(err error) {
	var p *problem.Problem
	if err != nil && !errors.As(err, &p) && !errors.Is(err, errCut) && !errors.Is(err, context.DeadlineExceeded) {
		c.t.Errorf("a writer got %v", err)
	}
}

// repair waits for the work of Run in two days.
func (c *chaos) repair() {
	for range 2 {
		time.Sleep(2 * strayAge) // fake time
		if err := c.finishAll(c.t.Context()); err != nil {
			c.t.Error(err)
		}
	}
	for range 2 {
		time.Sleep(sweepAge + time.Hour) // fake time
		if err := c.sweepAll(c.t.Context()); err != nil {
			c.t.Error(err)
		}
	}
}
