package enqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/protocol"
)

// grow adds jobs to a batch. Like the batcher, it does not send jobs again that an earlier call has added without the caller's knowledge: if a job is in a call with
// an unknown outcome, that call is sealed first.
//
//	                  answered
//	sent with a token ────────► known to the caller; outcomes remembers these jobs if another part of its call fails
//	      │                               the seal: added
//	      └── its time is up ──► unknown ─────────────────► outcomes remembers its jobs, without those that were refused
//	                               │      the seal: not added, and not later
//	                               └──────────────────────► sent with another token
//
// The home of the batch has a note of each token, until it has the counts of its jobs or the partition refuses it: the seal changes nothing there.
//
// Model: CALLER2 in models/unknown.pml.
func (e *Enqueuer) grow(ctx context.Context, growth batch.Growth) (answer protocol.FillAnswer, err error) {
	o, items := &e.batcher.outcomes, growth.Items
	all := part{to: len(items)}
	if o.size.Load() > 0 {
		if err := e.sealGrowths(ctx, &growth); err != nil {
			return answer, fmt.Errorf("not sent: %w", err)
		}
		growth.Items = nil
		for i, now := 0, time.Now(); i < len(items); i++ {
			if o.answer(growth.Partition, &items[i], now) {
				all.known = append(all.known, i)
			} else {
				growth.Items = append(growth.Items, items[i])
			}
		}
	}
	if len(growth.Items) > 0 {
		growth.Token = rand.Text()
		began := time.Now()
		answer, err = e.grower.Grow(ctx, growth)
		if errors.Is(err, batch.ErrUnknown) {
			o.addUnknownGrowth(&growth, began)
		}
	}
	if err != nil {
		for _, i := range all.known {
			o.add(growth.Partition, items[i:i+1])
		}
		return answer, err
	}
	n := len(growth.Items)
	answer.Existing = answersOf(&all, slices.Grow(answer.Existing, n)[:n], true)
	answer.Full = answersOf(&all, slices.Grow(answer.Full, n)[:n], nil)
	return answer, nil
}

// sealGrowths seals the calls with unknown outcomes that have one of these jobs.
func (e *Enqueuer) sealGrowths(ctx context.Context, growth *batch.Growth) error {
	o := &e.batcher.outcomes
	for {
		call := o.unknownGrowth(growth)
		if call == nil {
			return nil
		}
		answer, err := e.grower.Seal(ctx, protocol.SealCall{
			Partition: growth.Partition, Caller: call.caller, Number: call.number, Seal: call.number + 1, Items: call.jobs, Young: call.young(time.Now()),
		})
		if err != nil {
			return err
		}
		e.batcher.logUnknown(growth.Partition.Queue, call, answer.Sealed)
		o.resolveGrowth(growth.Partition, call, &answer)
	}
}

// addUnknownGrowth remembers a growth whose outcome is unknown.
func (o *outcomes) addUnknownGrowth(growth *batch.Growth, began time.Time) {
	call := newUnsealed(growth.Token, 1, growth.Items, began)
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.watch()
	if o.growths == nil {
		o.growths = make(map[jobKey]*unsealedCall)
	}
	if len(o.growths) == 0 || began.Before(o.grown) {
		o.grown = began
	}
	for _, item := range call.items {
		job := jobKey{growth.Partition, item.id}
		if before := o.growths[job]; before != nil { // another caller has added the same job at the same time
			o.unknown -= before.drop(item.id)
		}
		o.growths[job] = call
	}
	o.unknown += len(call.items)
	o.bound(time.Now())
}

// unknownGrowth returns a growth with an unknown outcome that has one of these jobs; nil: no growth has.
func (o *outcomes) unknownGrowth(growth *batch.Growth) *unsealedCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.growths) == 0 {
		return nil
	}
	for i := range growth.Items {
		if call := o.growths[jobKey{growth.Partition, growth.Items[i].ID}]; call != nil {
			return call
		}
	}
	return nil
}

// resolveGrowth notes the outcome of a growth. If another call has noted it meanwhile, nothing changes.
func (o *outcomes) resolveGrowth(partition protocol.Partition, call *unsealedCall, answer *protocol.SealAnswer) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.watch()
	if len(call.items) == 0 || o.growths[jobKey{partition, call.items[0].id}] != call {
		return
	}
	o.addSealed(partition, call, answer, now)
	o.forgetGrowth(partition, call)
	o.bound(now)
}

// forgetGrowth removes a growth with an unknown outcome.
func (o *outcomes) forgetGrowth(partition protocol.Partition, call *unsealedCall) {
	for _, item := range call.items {
		delete(o.growths, jobKey{partition, item.id})
	}
	o.unknown -= len(call.items)
	call.items = nil
}

// boundGrowths removes growths that are too old, and others if there are too many jobs with unknown outcomes. It looks at all of them only if one is removed.
func (o *outcomes) boundGrowths(now time.Time) {
	if len(o.growths) == 0 || o.unknown <= maxOutcomes/2 && now.Sub(o.grown) <= outcomeAge {
		return
	}
	o.grown = now
	for job, call := range o.growths {
		if o.unknown > maxOutcomes/2 || now.Sub(call.began) > outcomeAge {
			o.forgetGrowth(job.partition, call)
		} else if call.began.Before(o.grown) {
			o.grown = call.began
		}
	}
}
