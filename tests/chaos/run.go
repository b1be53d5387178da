//go:build unix

package chaos

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// Options configure a run.
type Options struct {
	Seed   uint64
	Length time.Duration // of the faults; the remaining work is finished afterwards
	Rate   float64       // jobs a second
	Loss   int           // one of Loss replies to script calls is lost; 0: none
	Pace   int           // multiplies the number of faults
	GoBack bool          // also lets slots go back alone

	// After no job has begun for Patience, the remaining work counts as stuck. A job waits for up to a minute after its worker vanished twice.
	Patience time.Duration
}

// Waiting times of a run.
const (
	schedulesContinue = 4 * time.Second // after the last fault begins
	atMost            = 4 * time.Minute // to finish the remaining work
)

// A step is the beginning or the end of a fault.
type step struct {
	at time.Duration
	do func()
}

// A runner executes a plan.
type runner struct {
	t       testing.TB
	options Options
	history *History
	server  *redistest.Server
	direct  *redis.Client
	fleet   *fleet
	did     map[Kind]int
	began   time.Time
	store   *redisstore.Store
	back    *goingBack // the slot that is about to go back
}

// Go runs chaos, and returns its figures and its findings.
func Go(t testing.TB, o Options) (Figures, Findings) {
	// A kill must lose nothing that the server has acknowledged; otherwise the checker cannot distinguish that loss from a defect. With appendfsync
	// no, every write reaches the operating system before its reply is sent. With everysec, Redis delays writes for up to 2 s during a slow fsync,
	// and a kill loses them.
	server := redistest.Start(t, redistest.Options{AppendOnly: true, Config: []string{"appendfsync no"}})
	r := &runner{
		t: t, options: o, history: NewHistory(), server: server, direct: server.Client(&redis.Options{MaxRetries: 10}),
		did: map[Kind]int{}, began: time.Now(),
	}
	r.store = redisstore.New(r.direct, redisstore.Options{Partitions: queuePartitions, Logger: slog.New(slog.DiscardHandler)})
	stop := r.began.Add(o.Length)
	c := config{Seed: o.Seed, Stop: stop, End: stop.Add(schedulesContinue).Truncate(time.Second), Rate: o.Rate}
	r.fleet = newFleet(t, r.history, server.Addr(), c, o.Loss)
	plan := slices.DeleteFunc(Plan(o.Seed, o.Length, o.Pace), func(f Fault) bool { return f.Kind == GoBack && !o.GoBack })
	for _, s := range r.steps(plan) {
		r.wait(r.began.Add(s.at))
		s.do()
	}
	r.wait(c.End)
	r.settle()
	lost, refused := r.fleet.counts()
	r.fleet.end()
	snapshot, err := TakeSnapshot(t.Context(), r.direct)
	if err != nil {
		t.Fatal(err)
	}
	found, reruns := Check(r.history, snapshot)
	found = append(found, r.verify()...)
	figures := NewFigures(o, r.history, snapshot, found, reruns)
	figures.RepliesLost, figures.ReapedRefused = lost, refused
	figures.count(r.did)
	return figures, found
}

// wait sleeps until an instant, and replaces processes that ended by themselves.
func (r *runner) wait(until time.Time) {
	for time.Now().Before(until) {
		r.fleet.all((*slot).check)
		time.Sleep(min(time.Until(until), 100*time.Millisecond)) // the instant is in the plan
	}
}

// settle waits until no work is left and nothing is owed, or no job begins any more.
func (r *runner) settle() {
	began, last, before := time.Now(), time.Now(), time.Time{}
	for time.Since(began) < atMost && time.Since(last) < r.options.Patience {
		if s, err := TakeSnapshot(r.t.Context(), r.direct); err == nil && s.Idle() && !s.Owes() {
			return
		}
		r.history.Note(func() {
			if r.history.Served.After(before) {
				before, last = r.history.Served, time.Now()
			}
		})
		r.wait(time.Now().Add(500 * time.Millisecond))
	}
}

// steps returns the beginnings and ends of the faults, in order.
func (r *runner) steps(plan []Fault) []step {
	var steps []step
	for _, f := range plan {
		end := func() {}
		steps = append(steps, step{f.At, func() {
			r.did[f.Kind]++
			end = r.begin(f)
		}})
		if f.For > 0 {
			steps = append(steps, step{f.At + f.For, func() { end() }})
		}
		if f.Kind == GoBack {
			steps = append(steps, step{f.At + f.For + sweptAfter, r.sweep})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// begin starts a fault, and returns the function that ends it.
func (r *runner) begin(f Fault) (end func()) {
	end = func() {}
	switch f.Kind {
	case KillWorker:
		r.fleet.pick("worker", f.Slot).kill()
	case EndWorker:
		r.fleet.leaving = append(r.fleet.leaving, r.fleet.pick("worker", f.Slot).end())
	case StopWorker:
		end = stop(r.fleet.pick("worker", f.Slot))
	case CutWorker:
		s := r.fleet.pick("worker", f.Slot)
		s.hold(true)
		end = func() { s.hold(false) }
	case KillLeader:
		r.fleet.leader().kill()
	case StopLeader:
		end = stop(r.fleet.leader())
	case KillEnqueuer:
		r.fleet.pick("enqueuer", f.Slot).kill()
	case KillChanger:
		r.fleet.pick("changer", f.Slot).kill()
	case KillRedis:
		r.down(func() { r.server.Kill(); r.server.Up() })
	case EmptyRedis:
		r.history.Note(func() { r.history.Emptied.From = time.Now() })
		r.back = nil // that state is older
		r.down(func() { r.server.Kill(); r.server.UpEmpty() })
		r.history.Note(func() { r.history.Emptied.To = time.Now() })
	case Outage:
		from := time.Now()
		r.history.Note(func() { r.history.Down = append(r.history.Down, Window{From: from}) })
		r.fleet.all(func(s *slot) { s.proxy.Refuse(true); s.proxy.Cut() })
		end = func() {
			r.fleet.all(func(s *slot) { s.proxy.Refuse(false) })
			r.history.up(from)
		}
	case GoBack:
		r.copy(f)
		end = r.putBack
	case Flush:
		if err := r.direct.ScriptFlush(r.t.Context()).Err(); err != nil {
			r.history.Problem("SCRIPT FLUSH: %v", err)
		}
	default:
		panic(fmt.Sprintf("chaos: no fault %q", f.Kind))
	}
	return end
}

func stop(s *slot) (end func()) {
	s.stop()
	record := s.record
	return func() { s.thaw(record) }
}

// down records that the server is down while do restarts it.
func (r *runner) down(do func()) {
	from := time.Now()
	r.history.Note(func() {
		r.history.Down = append(r.history.Down, Window{From: from})
		r.history.Kills = append(r.history.Kills, from)
	})
	do()
	r.history.up(from)
}
