package pages

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	maxDirectory = 10_000 // schedules that are kept in memory
	slice        = 500    // that are read at a time
	// A list that took so long to read is good for so many times as long: reading takes up a hundredth of the time, whoever looks.
	agePerRead = 100
	minAge     = time.Second
	// What sums up all schedules may be this much older for each of them, up to a limit.
	agePerSchedule = 20 * time.Millisecond
	maxRoughAge    = 30 * time.Second
	// What those see who have a page open, and do not ask, may be this much older for each schedule: reading one takes the server some 12 µs.
	liveAgePerSchedule = 15 * time.Millisecond
)

// schedulesSeq is what Schedules.List returns.
type schedulesSeq = iter.Seq2[*chime.Schedule, error]

// A directory is the schedules of a store, as they were when they were read: for pages that count them, or show them in an order of their own. It is
// read while somebody asks for it, in slices, and no oftener than its size allows.
type directory struct {
	list func(context.Context) schedulesSeq // goes through all schedules, in the order of their names

	mu      sync.Mutex
	have    Listing
	took    time.Duration // to read it
	err     error         // of the last reading
	reads   bool          // one is under way
	changes int           // that this process knows of
	seen    int           // those of them that came before have was read
	changed chan struct{} // closed when have or err is another
}

func newDirectory(list func(context.Context) schedulesSeq) *directory {
	return &directory{list: list, changed: make(chan struct{})}
}

// A Listing is what a directory has.
type Listing struct {
	Schedules []ListedSchedule // in the order of their names
	At        time.Time        // when reading began, by this process's clock
	Whole     bool             // these are all; otherwise there are more than maxDirectory, or they are still being read
	Reading   bool             // they are still being read for the first time
}

// A ListedSchedule is one of a listing.
type ListedSchedule struct {
	*chime.Schedule
	Unread error // why it cannot be read; then only its name, queue, owner and revision are known
}

// lately is get for a page that only sums them up: of many schedules, what was read some seconds ago will do.
func (d *directory) lately(ctx context.Context, live bool) (Listing, error) {
	d.mu.Lock()
	have, usable := d.have, d.err == nil && d.seen == d.changes
	d.mu.Unlock()
	if usable && have.Whole && time.Since(have.At) < min(maxRoughAge, time.Duration(len(have.Schedules))*agePerSchedule) {
		return have, nil
	}
	return d.get(ctx, live)
}

// forget has schedules be read anew: something was changed, and who has changed it wants to see it.
func (d *directory) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
}

// get returns the schedules. It waits for those of a small store, and for those that were changed since they were read; of a larger one it returns
// what there is, and has it read anew. live: nobody asks for them, some have a page open that shows them.
func (d *directory) get(ctx context.Context, live bool) (Listing, error) {
	d.mu.Lock()
	for {
		if fresh := d.fresh(live); fresh || len(d.have.Schedules) > slice && d.seen == d.changes {
			defer d.mu.Unlock()
			return d.have, nil
		}
		seen, told := d.changes, d.changed
		d.mu.Unlock()
		select {
		case <-told:
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

// fresh reports whether what was read will do, and otherwise has it be read anew.
func (d *directory) fresh(live bool) bool {
	age := max(minAge, agePerRead*d.took)
	if live {
		age = max(age, time.Duration(len(d.have.Schedules))*liveAgePerSchedule)
	}
	fresh := !d.have.At.IsZero() && d.err == nil && d.seen == d.changes && time.Since(d.have.At) < age
	if !fresh && !d.reads {
		d.reads = true
		go d.read(d.changes)
	}
	return fresh
}

// read reads all schedules, after so many changes. Of the first reading, the first slice is there for those who wait.
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

// begin publishes the first slice, if there is nothing yet.
func (d *directory) begin(read Listing, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.have.At.IsZero() {
		read.Whole, read.Reading = false, true
		d.have, d.seen = read, changes
		d.tell()
	}
}

// end publishes a whole reading.
func (d *directory) end(read Listing, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.have, d.seen, d.took, d.err, d.reads = read, changes, time.Since(read.At), nil, false
	d.tell()
}

// fail leaves what was read before.
func (d *directory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.reads = err, false
	d.tell()
}

func (d *directory) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}
