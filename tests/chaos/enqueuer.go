//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chimejobs/chime"
)

// An offerer enqueues batches of jobs until the store has accepted them. If an outcome is unknown, it enqueues the batch again.
type offerer struct {
	*program
	enqueuer *chime.Enqueuer
	queues   *chime.Queues
	random   *rand.Rand
}

// runEnqueuer offers jobs at a fixed rate until Stop.
func runEnqueuer(ctx context.Context, p *program) error {
	o := &offerer{
		program: p, random: rand.New(rand.NewPCG(p.Seed, uint64(time.Now().UnixNano()))),
		enqueuer: chime.NewEnqueuer(p.store, chime.EnqueuerOptions{SendTimeout: 5 * time.Second, Logger: p.log}), queues: chime.NewQueues(p.store),
	}
	next := time.Now()
	for i := 0; time.Now().Before(p.Stop); i++ {
		size, group := 1+o.random.IntN(80), (*groupPlan)(nil)
		key := fmt.Sprintf("%s.%d", p.Name, i)
		if !isEnded(key) && o.random.IntN(groupedShare) == 0 {
			group = &groupPlans[o.random.IntN(len(groupPlans))]
			size = 1 + o.random.IntN(group.size)
		}
		if !o.offer(ctx, key, size, group) {
			return nil
		}
		next = next.Add(time.Duration(float64(size) / p.Rate * float64(time.Second)))
		if now := time.Now(); now.Sub(next) > time.Second { // after an outage it does not catch up
			next = now
		}
		if !sleep(ctx, next) {
			return nil
		}
	}
	<-ctx.Done()
	return nil
}

// offer enqueues a batch until the store has accepted it, into a group unless that is nil. It returns false if ctx ended first.
func (o *offerer) offer(ctx context.Context, batch string, size int, group *groupPlan) bool {
	items := make([]chime.Item, size)
	queue := queueNames[o.random.IntN(len(queueNames))]
	options := []chime.EnqueueOption{chime.MaxAttempts(maxAttempts)}
	ordered := false // jobs that are due at one instant have no order
	where := queue
	if group != nil {
		ordered = group.rule.Ordered == chime.On
		queue, where = queueGroups, queueGroups+" "+group.name
		options = append(options, chime.Group(group.name))
	}
	options = append(options, chime.Queue(queue))
	if !ordered && o.random.IntN(4) == 0 {
		options = append(options, chime.In(time.Duration(o.random.Int64N(int64(2*time.Second)))))
	}
	for i := range items {
		key := jobKey(batch, i)
		items[i] = chime.Item{Name: jobName, Args: key, Options: options}
		if isFollowed(key) {
			items[i].Options = append(slices.Clone(options), onDone(key, queue, isEnded(batch)))
		}
	}
	p := o.program
	p.send(Offered, batch, int64(size), where)
	if group != nil && !group.ensureRule(ctx, o.queues) { // now it has a rule, unless the server is emptied after the batch was offered
		return false
	}
	if isEnded(batch) {
		if !o.offerBatch(ctx, asBatch(batch, items)) {
			return false
		}
		p.send(Accepted, batch, 0, "")
		return true
	}
	receipts, err := o.enqueuer.EnqueueMany(ctx, items)
	for err != nil {
		if ctx.Err() != nil {
			return false
		}
		for i, r := range receipts {
			items[i].Options = append(slices.Clone(items[i].Options), chime.ID(r.ID)) // the last ID counts
		}
		p.send(Repeated, batch, 0, "")
		receipts, err = o.enqueuer.EnqueueMany(ctx, items)
	}
	p.send(Accepted, batch, 0, "")
	return true
}
