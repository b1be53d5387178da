package tick

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	// samplePhases is over how much of a minute its samples are spread: what is left is for those that come late.
	samplePhases = 45 * time.Second
	// unledSamples is how many minutes have ended without a sample before somebody takes it who does not lead.
	unledSamples = 2
)

// A sampler takes a sample of each partition once a minute, each at an instant of its own, so that hundreds of partitions are no burst. What
// is taken late, or by two, is taken once: the store knows which minute was sampled last.
type sampler struct {
	store protocol.SampleStore
	until time.Time     // samples that were due up to here are taken; zero: none
	ahead time.Duration // the store's clock against this one
}

// step takes the samples that have become due since the last step, those of all partitions after a minute or more, and returns how long
// until the next ones.
func (s *sampler) step(ctx context.Context, partitions []protocol.Partition, missing int) (time.Duration, error) {
	now := time.Now().Add(s.ahead)
	if now.Sub(s.until).Abs() > time.Minute { // the first step, or a clock was set
		s.until = now.Add(-time.Minute)
	}
	var due []protocol.Partition
	for _, p := range partitions {
		if !lastPhase(p, now).Before(s.until) {
			due = append(due, p)
		}
	}
	var failed error
	for some := range slices.Chunk(due, protocol.MaxSwept) {
		for _, answer := range s.store.Sample(ctx, some, missing) {
			if failed = cmp.Or(failed, answer.Err); !answer.Now.IsZero() {
				s.ahead = time.Until(answer.Now)
			}
		}
	}
	if failed != nil {
		return 0, failed // all that are due are tried again; those that were taken are not taken twice
	}
	s.until = now
	wait := time.Minute
	for _, p := range partitions {
		wait = min(wait, time.Minute-now.Sub(lastPhase(p, now)))
	}
	return wait, nil
}

// lastPhase is the last instant, not after now, at which a sample of the partition was due.
func lastPhase(p protocol.Partition, now time.Time) time.Time {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(p.Queue)) // never fails
	phase := time.Duration((hash.Sum32()+uint32(p.Index)*7)%uint32(samplePhases/time.Second)) * time.Second
	at := now.Truncate(time.Minute).Add(phase)
	if at.After(now) {
		at = at.Add(-time.Minute)
	}
	return at
}
