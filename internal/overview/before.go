package overview

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	aDay       = 24 * time.Hour
	beforeFor  = 10 * time.Minute // the samples of the day before reach this much further than a window, and are read again after this time
	beforeRead = 2_500            // samples of the day before that one call reads
)

// before caches the samples of a day before the windows of charts. They do not change, so each is read once in beforeFor. The zero value is empty.
type before struct {
	mu     sync.Mutex
	kept   map[archived]*beforeKept
	change int
}

type beforeKept struct {
	entries     []entry
	from, to    time.Time
	asked, read time.Time
}

// Before reads the charts of the same window a day earlier, for the windows of which the store has such samples; otherwise it returns nil. Samples are
// kept for some minutes. If many queues have not been read yet, some of them follow with the next call.
func (p *Poller) Before(ctx context.Context, s *Snapshot, w Window, queue string) (*Charts, error) {
	if w == Season {
		return nil, nil
	}
	step := time.Minute
	if w == Day { // minutes are kept for 25 hours
		step = time.Hour
	}
	var infos []*chime.QueueInfo
	for _, q := range s.Queues {
		if queue == "" || q.Name == queue {
			infos = append(infos, q.QueueInfo)
		}
	}
	to := s.At.Truncate(step).Add(-aDay)
	c := &Charts{Window: w, From: to.Add(-w.back()), To: to, Step: step}
	if w == Day {
		c.From = to.Add(-aDay)
	}
	queues := busiest(infos)
	all, change, err := p.before.read(ctx, p.queues, queues, c, s.At)
	if err != nil {
		return nil, err
	}
	c.Read, c.Of, c.Stamp = len(all), len(queues), Stamp{to: to, change: change}
	c.sum(all)
	return c, nil
}

// read returns the samples of queues that were read so far, and reads some of the others.
func (b *before) read(ctx context.Context, store *chime.Queues, queues []*chime.QueueInfo, c *Charts, now time.Time) (all map[string][]entry, change int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = map[archived]*beforeKept{}
	}
	maps.DeleteFunc(b.kept, func(_ archived, k *beforeKept) bool { return now.Sub(k.asked) > forgetAfter })
	all, room := map[string][]entry{}, beforeRead
	from, to := c.From.Truncate(c.Step), c.To.Add(beforeFor)
	if oldest := now.Add(-25 * time.Hour).Truncate(time.Minute).Add(time.Minute); c.Step == time.Minute && from.Before(oldest) {
		from = oldest
	}
	for _, q := range queues {
		key := archived{q.Name, c.Step}
		k := b.kept[key]
		if k == nil || k.from.After(from) || k.to.Before(c.To) {
			n := int(to.Sub(from)/c.Step) + 1
			if room < n && room < beforeRead {
				continue
			}
			room -= n
			samples, err := store.Samples(ctx, q.Name, from, to, c.Step)
			if err != nil && !errors.Is(err, chime.ErrNotFound) {
				return nil, 0, err
			}
			k = &beforeKept{from: from, to: to, read: now}
			for i := range samples {
				k.entries = append(k.entries, entryOf(&samples[i]))
			}
			b.kept[key] = k
			b.change++
		}
		k.asked = now
		all[q.Name] = k.entries
	}
	return all, b.change, nil
}
