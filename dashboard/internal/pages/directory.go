package pages

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	maxDirectory = 10_000 // maximum number of schedules in memory
	slice        = 500    // number of schedules that are read at a time
	maxChanged   = 20     // number of changed schedules that are read again without the others
	// A list is kept for this multiple of the time that reading it took, so reading takes a hundredth of the time for any number of viewers.
	agePerRead = 100
	minAge     = time.Second
	// A summary of all schedules may be this much older for each schedule, up to a limit.
	agePerSchedule = 20 * time.Millisecond
	maxRoughAge    = 30 * time.Second
	// Open pages may show data that is this much older for each schedule. Reading one schedule takes the server about 12 µs.
	liveAgePerSchedule = 15 * time.Millisecond
	// After a change of some schedules only these are read again, unless the list of the others is older than this, and older than open pages may show.
	changedAge = 10 * time.Second
)

// schedulesSeq is the result of Schedules.List.
type schedulesSeq = iter.Seq2[*chime.Schedule, error]

// A directory caches the schedules of a store, for pages that count them or sort them. It is read in slices while there are requests for it, and not
// more often than its size allows.
type directory struct {
	list func(context.Context) schedulesSeq                              // iterates over all schedules by name
	find func(ctx context.Context, name string) (*chime.Schedule, error) // nil: after a change all are read again

	mu      sync.Mutex
	have    Listing
	took    time.Duration // duration of the last reading
	err     error         // of the last reading
	reads   bool          // a reading is running
	changes int           // number of changes that this process knows of
	seen    int           // number of changes before have was read
	changed []change      // the changes after that, oldest first
	news    chan struct{} // closed when have or err changes
}

func newDirectory(list func(context.Context) schedulesSeq) *directory {
	return &directory{list: list, news: make(chan struct{})}
}

// A change is one that this process has made.
type change struct {
	number int
	names  []string // of the changed schedules; empty: not known
}

// A Listing is the contents of a directory.
type Listing struct {
	Schedules []ListedSchedule // ordered by name
	At        time.Time        // when reading began, by this process's clock
	Whole     bool             // the list is complete; false: there are more than maxDirectory, or they are still being read
	Reading   bool             // the first reading has not ended
}

// A ListedSchedule is a schedule of a listing.
type ListedSchedule struct {
	*chime.Schedule
	Unread error // why it cannot be read; if it is set, only the name, queue, owner and revision are known
}

// lately is get for a page that only shows a summary. For many schedules it returns a reading that may be some seconds old.
func (d *directory) lately(ctx context.Context, live bool) (Listing, error) {
	d.mu.Lock()
	have, usable := d.have, d.err == nil && d.seen == d.changes
	d.mu.Unlock()
	if usable && have.Whole && time.Since(have.At) < min(maxRoughAge, time.Duration(len(have.Schedules))*agePerSchedule) {
		return have, nil
	}
	return d.get(ctx, live)
}

// forget makes the next request read the changed schedules again, so that a viewer sees their own change. Without names it reads all.
func (d *directory) forget(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	d.changed = append(d.changed, change{d.changes, names})
}

// get returns the schedules. It waits for the reading if the store is small, or if schedules were changed since the last reading. For a larger store
// it returns the last reading and starts a new one. live: no request needs them now, but open pages show them.
func (d *directory) get(ctx context.Context, live bool) (Listing, error) {
	d.mu.Lock()
	for {
		if fresh := d.fresh(live); fresh || len(d.have.Schedules) > slice && d.seen == d.changes {
			defer d.mu.Unlock()
			return d.have, nil
		}
		seen, notified := d.changes, d.news
		d.mu.Unlock()
		select {
		case <-notified:
		case <-ctx.Done():
			return Listing{}, ctx.Err()
		}
		d.mu.Lock()
		if d.err != nil || d.seen >= seen {
			defer d.mu.Unlock()
			return d.have, d.err
		}
	}
}

// fresh reports whether the last reading is recent enough. If not, it starts a new one.
func (d *directory) fresh(live bool) bool {
	age := max(minAge, agePerRead*d.took)
	if live {
		age = max(age, time.Duration(len(d.have.Schedules))*liveAgePerSchedule)
	}
	fresh := !d.have.At.IsZero() && d.err == nil && d.seen == d.changes && time.Since(d.have.At) < age
	if !fresh && !d.reads {
		d.reads = true
		if names := d.changedNames(); len(names) > 0 {
			go d.readChanged(names, d.have, d.changes)
		} else {
			go d.read(d.changes)
		}
	}
	return fresh
}

// changedNames returns the names of the schedules that were changed since the list was read. It returns none if all have to be read again.
func (d *directory) changedNames() []string {
	oldest := max(changedAge, time.Duration(len(d.have.Schedules))*liveAgePerSchedule)
	if d.find == nil || d.err != nil || !d.have.Whole || time.Since(d.have.At) >= oldest {
		return nil
	}
	var names []string
	for _, c := range d.changed {
		if len(c.names) == 0 || len(names)+len(c.names) > maxChanged {
			return nil
		}
		names = append(names, c.names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readChanged reads some schedules, after this number of changes, and puts them into the list. If that fails, it reads all.
func (d *directory) readChanged(names []string, list Listing, changes int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list.Schedules = slices.Clone(list.Schedules)
	for _, name := range names {
		found, err := d.find(ctx, name)
		at, listed := slices.BinarySearchFunc(list.Schedules, name, func(s ListedSchedule, name string) int { return strings.Compare(s.Name, name) })
		if listed {
			list.Schedules = slices.Delete(list.Schedules, at, at+1)
		}
		switch {
		case errors.Is(err, chime.ErrNotFound): // it was deleted
		case err != nil:
			d.read(changes)
			return
		default:
			list.Schedules = slices.Insert(list.Schedules, at, ListedSchedule{found, nil})
		}
	}
	if len(list.Schedules) > maxDirectory {
		d.read(changes)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.publish(list, changes)
}

// read reads all schedules, after this number of changes. During the first reading, waiting requests already get the first slice.
func (d *directory) read(changes int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	read := Listing{At: time.Now(), Whole: true}
	for found, err := range d.list(ctx) {
		if found == nil {
			d.fail(err)
			return
		}
		if len(read.Schedules) == maxDirectory {
			read.Whole = false
			break
		}
		read.Schedules = append(read.Schedules, ListedSchedule{found, err})
		if len(read.Schedules) == slice+1 {
			d.begin(read, changes)
		}
	}
	d.end(read, changes)
}

// begin publishes the first slice if nothing was published yet.
func (d *directory) begin(read Listing, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.have.At.IsZero() {
		read.Whole, read.Reading = false, true
		d.have, d.seen = read, changes
		d.notify()
	}
}

// end publishes a complete reading.
func (d *directory) end(read Listing, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = time.Since(read.At)
	d.publish(read, changes)
}

// publish ends a reading that was begun after this number of changes.
func (d *directory) publish(read Listing, changes int) {
	d.have, d.seen, d.err, d.reads = read, changes, nil, false
	d.changed = slices.DeleteFunc(d.changed, func(c change) bool { return c.number <= changes })
	d.notify()
}

// fail ends a failed reading and keeps the previous one.
func (d *directory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.reads = err, false
	d.notify()
}

func (d *directory) notify() {
	close(d.news)
	d.news = make(chan struct{})
}
