package pages

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
)

const (
	kindQueues      = 8                // number of queues whose samples one page reads: each costs three commands
	kindAgain       = time.Minute      // the samples of a queue are read again after this time
	kindForgotten   = 10 * time.Minute // without a request
	partOfYesterday = -1               // the part of the hour a day ago that has passed of the current one
)

// A kindHour has the attempts of jobs of one name in an hour.
type kindHour struct {
	done, failed int64
	run          chime.Histogram
}

func (h *kindHour) add(other kindHour) {
	h.done, h.failed, h.run = h.done+other.done, h.failed+other.failed, h.run.Add(other.run)
}

func (h *kindHour) sum() KindSum {
	return KindSum{h.done, h.failed, overview.Quantile(h.run, 0.5), overview.Quantile(h.run, 0.95), overview.Quantile(h.run, 0.99)}
}

// kindHours are the hours of one name on one queue, by their beginning in Unix seconds. partOfYesterday is one of them.
type kindHours map[int64]kindHour

// kinds caches the hours of the last two days by job name, for queues that are being viewed. The zero value is empty.
type kinds struct {
	mu  sync.Mutex
	all map[string]*kindRead
}

// kindRead has the hours of one queue.
type kindRead struct {
	names       map[string]kindHours
	read, asked time.Time
}

// read returns the hours of a name on all queues that were read so far, by queue. Each call reads some queues: first those that were never read.
func (k *kinds) read(ctx context.Context, queues *chime.Queues, standing *Standing, name string) (map[string]kindHours, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]*kindRead{}
	}
	now := standing.Now()
	maps.DeleteFunc(k.all, func(_ string, old *kindRead) bool { return now.Sub(old.asked) > kindForgotten || now.Before(old.read) })
	found, left := map[string]kindHours{}, kindQueues
	for _, fresh := range []bool{true, false} {
		for _, q := range standing.Queues {
			known := k.all[q.Name]
			if due := known == nil && fresh || known != nil && !fresh && now.Sub(known.read) >= kindAgain; !due || left == 0 {
				continue
			}
			left--
			read, err := readKinds(ctx, queues, q.Name, now)
			if err != nil && !errors.Is(err, chime.ErrNotFound) {
				return nil, err
			}
			k.all[q.Name] = &kindRead{names: read, read: now, asked: now}
		}
	}
	for _, q := range standing.Queues {
		if known := k.all[q.Name]; known != nil {
			known.asked = now
			found[q.Name] = known.names[name]
		}
	}
	return found, nil
}

// readKinds reads the hours of all names on a queue.
func readKinds(ctx context.Context, queues *chime.Queues, queue string, now time.Time) (map[string]kindHours, error) {
	hour, day := now.Truncate(time.Hour), 24*time.Hour
	names := map[string]kindHours{}
	for _, part := range []struct {
		from, to time.Time
		step     time.Duration
		into     int64 // 0: the hour of each sample
	}{
		{hour.Add(-2*day + time.Hour), hour, time.Hour, 0},
		{hour, now, time.Minute, 0},
		{hour.Add(-day), now.Add(-day), time.Minute, partOfYesterday},
	} {
		samples, err := queues.Samples(ctx, queue, part.from, part.to, part.step)
		if err != nil {
			return nil, err
		}
		for i := range samples {
			at := part.into
			if at == 0 {
				at = samples[i].At.Truncate(time.Hour).Unix()
			}
			for _, job := range samples[i].Jobs {
				if names[job.Name] == nil {
					names[job.Name] = kindHours{}
				}
				cell := names[job.Name][at]
				cell.add(kindHour{job.Done, job.Failed, job.Run})
				names[job.Name][at] = cell
			}
		}
	}
	return names, nil
}
