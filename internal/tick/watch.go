package tick

import (
	"context"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// Watch is the slow safety tick of a worker, until ctx ends. About every SafetyTick it looks whether the leader's lease was
// renewed. Where it was not, it places what nobody has placed, because a worker vanished between taking an occurrence and placing the next; it returns what
// vanished workers held; it takes the samples that nobody has taken; it sweeps; it lets schedules go on that stand nowhere; and it logs queues that nobody serves. So schedules go on
// where workers run and no scheduler.
//
// It has no connection of its own and never leads: whatever it does beside a leader takes effect once.
func Watch(ctx context.Context, store protocol.Store, options Options) {
	t := New(store, options)
	t.watches = true
	t.outage.Role = "worker"
	watching := retry.Duty{Action: "look for a leader", Do: t.watch, Next: time.Now().Add(t.safetyPause())}
	t.duties = []*retry.Duty{&watching, &t.placing, &t.polling, &t.sampling, &t.sweeping, &t.mending, &t.counting}
	for _, d := range t.duties[1:] {
		d.Next = time.Now().Add(retry.Never)
	}

	ctx, stop := context.WithCancel(ctx)
	var reaping sync.WaitGroup
	reaping.Go(func() { t.reaper.Run(ctx) })
	defer reaping.Wait()
	defer stop()
	timer := time.NewTimer(observe.LongestNap)
	defer timer.Stop()
	defer t.options.Pulse.End()
	for {
		t.options.Pulse.Turn(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		t.turn(ctx)
		wait := min(t.options.SafetyTick, observe.LongestNap)
		for _, d := range t.duties {
			wait = min(wait, time.Until(d.Next))
		}
		timer.Reset(max(wait, 0))
	}
}

// watch has everything searched if nobody leads.
func (t *Ticker) watch(ctx context.Context) (time.Duration, error) {
	lease, err := t.store.Lease(ctx)
	led := lease != "" && lease != t.lease // a leader renews it several times from one look to the next
	t.lease = lease
	if err == nil && !led {
		t.placing.Now()
		t.polling.Now()
		t.sampling.Now()
		if retry.Reached(t.swept.Add(watchSweep), time.Now()) {
			t.swept = time.Now()
			t.sweeping.Now() // it passes over what was swept a short while ago
			t.mending.Now()
			t.counting.Now()
		}
	}
	return t.safetyPause(), err
}

// safetyPause is about a SafetyTick, half as much to one and a half times as much at random.
func (t *Ticker) safetyPause() time.Duration {
	return t.options.SafetyTick/2 + mathrand.N(t.options.SafetyTick)
}
