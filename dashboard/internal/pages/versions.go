package pages

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/svg"
)

// versionsFor is how long the versions of programs are cached.
const versionsFor = 10 * time.Second

// versions caches when each version of a program was first seen. The zero value is empty.
type versions struct {
	mu   sync.Mutex
	seen []protocol.VersionSeen // the newest first
	read time.Time
}

// list returns the versions, the newest first. If they cannot be read, it returns those of the last reading: nothing but marks depends on them.
func (v *versions) list(ctx context.Context, store chime.Store, now time.Time) []protocol.VersionSeen {
	v.mu.Lock()
	defer v.mu.Unlock()
	if age := now.Sub(v.read); v.read.IsZero() || age >= versionsFor || age < 0 {
		if seen, err := store.Protocol().Versions(ctx); err == nil {
			v.seen = seen
		}
		v.read = now
	}
	return v.seen
}

// marks returns the versions as marks of charts.
func (v *versions) marks(ctx context.Context, store chime.Store, now time.Time) (marks []svg.Mark) {
	for _, seen := range v.list(ctx, store, now) {
		marks = append(marks, svg.Mark{At: seen.First, Name: shortVersion(seen.Version)})
	}
	return marks
}

// first returns when a version was first seen, in the form in which the names of workers have it; zero: it is not known.
func (v *versions) first(ctx context.Context, store chime.Store, version string, now time.Time) (first time.Time) {
	for _, seen := range v.list(ctx, store, now) {
		if shortVersion(seen.Version) == version {
			first = earlier(first, seen.First)
		}
	}
	return first
}

// shortVersion returns a version in the form in which the names of workers have it.
func shortVersion(version string) string {
	_, _, short, ok := chime.ParseWorker(protocol.NewWorkerName("host", 1, version))
	if !ok || short == "" {
		return version
	}
	return short
}
