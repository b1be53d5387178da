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
	// samplePhases is the part of a minute over which its samples are spread; the rest of the minute is for late samples.
	samplePhases = 45 * time.Second
	// unledSamples is how many minutes must have ended without a sample before a process that does not lead takes it.
	unledSamples = 2
)

// A sampler takes a sample of each partition once a minute. Each partition has its own instant within the minute, so that hundreds of partitions
// cause no burst. A late or second sample counts once: the store knows which minute was sampled last.
type sampler struct {
	store protocol.SampleStore
	until time.Time     // samples that were due until this instant are taken; zero: none was taken
	ahead time.Duration // how far the store's clock is ahead of this one
}

// step takes the samples that have become due since the last step; after a minute or more, those of all partitions. It returns how long to wait
// for the next ones.
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
		return 0, failed // all due samples are tried again; those that were taken are not taken twice
	}
	s.until = now
	wait := time.Minute
	for _, p := range partitions {
		wait = min(wait, time.Minute-now.Sub(lastPhase(p, now)))
	}
	return wait, nil
}

// lastPhase returns the last instant, not after now, at which a sample of the partition was due.
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
