// Package chimetest tests programs that use chime. The tests need no server and do not sleep; a simulated week takes a second or less.
//
//	func TestTheReportRunsAgainWhenItFails(t *testing.T) {
//		chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
//			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
//			worker.Handle("report", report)
//			c.Start(worker)
//			…
//			runs := c.Advance(time.Hour) // the attempts that ended within the hour
//		})
//	}
//
// [Run] runs a test under fake time with a store inside the process. The program's own roles use this store as they use Redis, with the same scripts.
// [NewJob] and [Work] test a handler alone and do not need Run. If something goes wrong in NewJob or Work, the test ends with a message that contains
// the job.
//
// The page docs/testing.md has examples.
package chimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A Chime is a store under fake time and the roles that a test has started on it. [Run] creates one; it belongs to the test's goroutine.
type Chime struct {
	t        *testing.T
	server   *embedded.Server
	attempts *attempts
	watchdog *watchdog
	started  []*group
	ahead    time.Duration // how far the clock is ahead of the time that the test has requested
}

// Run runs a test under fake time. It begins at 10:17 UTC on Wednesday, 12 January 2000: few rules are due at such an instant, so a test can tell the
// run at creation of a schedule ([chime.NoImmediateRun]) from its other runs. The time advances only while every goroutine of the test
// waits, so waiting for an hour takes no real time. (The test runs in a bubble of testing/synctest, so it may call neither t.Run nor t.Parallel.
// Before Run a test may call t.Parallel.)
//
// When the test ends, even if it fails, Run stops the roles that the test has started, and deletes the store.
func Run(t *testing.T, test func(t *testing.T, c *Chime)) {
	t.Helper()
	if test == nil {
		t.Fatal("chimetest: Run: the test is nil")
	}
	run(t, test, func(server *embedded.Server) protocol.Store {
		return newQuiet(server.Store().Protocol(), server.Client())
	})
}

// begin is when a test begins. It is not midnight, when the clock of a bubble begins: most rules are due at the beginning of a minute, an hour, a day,
// a week or a month, and there the run at creation would look like a planned one.
var begin = time.Date(2000, time.January, 12, 10, 17, 0, 0, time.UTC)

// run runs the test on the store that wrap returns for the server's store.
func run(t *testing.T, test func(t *testing.T, c *Chime), wrap func(*embedded.Server) protocol.Store) {
	t.Helper()
	watchdog := watch()
	defer watchdog.end()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(begin))
		server := embedded.StartInMemory()
		server.Client().AddHook(watchdog)
		c := &Chime{t: t, server: server, attempts: newAttempts(wrap(server), watchdog.moves), watchdog: watchdog}
		watchdog.running(c.attempts.running)
		t.Cleanup(c.end)
		test(t, c)
	})
}

// Store returns the store, for the program's roles and for everything else of package chime that uses one.
func (c *Chime) Store() chime.Store { return c.attempts }

// A group is some roles that were started together.
type group struct {
	cancel   context.CancelFunc
	done     chan struct{} // closed when the roles have returned
	err      error         // their error; set before done is closed
	reported bool          // the test has got err

	handling atomic.Int64 // handlers that have not returned
}

// ended reports whether the roles have returned.
func (g *group) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Start runs roles, as chime.Run does. It returns when the roles are idle: they have done all work that is due now, and wait. The roles run until the
// test calls stop or ends; stop waits until they have returned. If a role returns an error, the test ends. There is one exception: if a worker is
// stopped and cuts off handlers after its DrainTimeout, as in a deployment, the test continues, and the jobs of these handlers run again. But if a
// cut-off handler does not return, the test ends.
//
// A role runs once. To simulate a new deployment of a program, stop its roles and start new ones:
//
//	stop()
//	c.Advance(time.Hour) // nothing runs
//	c.Start(newRoles())
func (c *Chime) Start(roles ...chime.Role) (stop func()) {
	c.t.Helper()
	c.check()
	ctx, cancel := context.WithCancel(context.Background())
	g := &group{cancel: cancel, done: make(chan struct{})}
	for _, role := range roles {
		c.attempts.listenTo(role, &g.handling)
	}
	c.started = append(c.started, g)
	go func() {
		defer close(g.done)
		g.err = chime.Run(ctx, roles...)
	}()
	c.rest()
	c.check()
	return func() {
		c.t.Helper()
		c.stop(g)
		c.check()
	}
}

// Advance lets d pass, and then waits until everything that is due by that instant has finished; 0 means everything that is due now. It returns the
// attempts that have ended since the last Advance, or since the beginning, in the order in which they ended. These are the attempts of all jobs, not
// only of schedules, and the occurrences that were missed or superseded. While no role runs, it returns nothing. If an attempt has not ended yet, a
// later Advance returns it.
//
// Workers need some milliseconds to store the outcomes of jobs, so the clock is then a little ahead of the requested time. The next Advance is
// shorter by this difference.
func (c *Chime) Advance(d time.Duration) []*chime.RunInfo {
	c.t.Helper()
	if d < 0 {
		c.t.Fatalf("chimetest: Advance(%v): time cannot go back: want 0 or more", d)
	}
	c.check()
	until := time.Now().Add(d - c.ahead)
	c.rest()
	for left := time.Until(until); left > 0 && c.fine(); left = time.Until(until) {
		c.sleep(min(left, time.Hour))
	}
	c.settle(until)
	c.ahead = time.Since(until)
	c.check()
	return c.attempts.take()
}

const (
	// dueWithin is how late a due job may be taken: workers count in microseconds, and jobs are due at a millisecond.
	dueWithin = time.Millisecond
	// settledWithin is how long Advance waits for outcomes to be stored. A worker keeps one for at most 20 ms, to send it with others.
	settledWithin = 200 * time.Millisecond
	settleStep    = 5 * time.Millisecond
)

// settle waits until the jobs that are due by an instant are taken, and the outcomes of those that end immediately are stored.
func (c *Chime) settle(until time.Time) {
	c.t.Helper()
	horizon := until.Add(dueWithin)
	if left := time.Until(horizon); left > 0 {
		c.sleep(left)
	}
	if now := time.Now(); now.After(horizon) { // the last Advance was ahead by this much
		horizon = now
	}
	for c.attempts.unsettled(horizon) && time.Since(until) < settledWithin && c.fine() {
		c.sleep(settleStep)
	}
}

// watchStep is how much of the test's time passes before the watchdog is notified that time moves: on a busy machine an hour with much work
// may take longer than the watchdog waits.
const watchStep = time.Minute

// sleep lets d pass, and waits until every goroutine is idle.
func (c *Chime) sleep(d time.Duration) {
	c.watchdog.enter()
	for ; d > watchStep; d -= watchStep {
		time.Sleep(watchStep)
		c.watchdog.moves()
	}
	time.Sleep(d)
	synctest.Wait()
	c.watchdog.leave()
}

// rest returns when every other goroutine waits.
func (c *Chime) rest() {
	c.watchdog.enter()
	synctest.Wait()
	c.watchdog.leave()
}

// stop stops roles and waits until they have returned.
func (c *Chime) stop(g *group) {
	g.cancel()
	c.watchdog.enter()
	<-g.done
	synctest.Wait()
	g.reported = g.reported || cutOff(g.err) && g.handling.Load() == 0
	c.watchdog.leave()
}

// cutOff reports whether an error means only that handlers were cut off.
func cutOff(err error) bool {
	switch e := err.(type) {
	case *chime.DrainTimeoutError:
		return true
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 0 && !slices.ContainsFunc(all, func(err error) bool { return !cutOff(err) })
	case interface{ Unwrap() error }:
		return cutOff(e.Unwrap())
	}
	return false
}

// fine reports whether no role has returned an error.
func (c *Chime) fine() bool {
	for _, g := range c.started {
		if g.ended() && g.err != nil && !g.reported {
			return false
		}
	}
	return true
}

// check ends the test if a role has returned an error.
func (c *Chime) check() {
	c.t.Helper()
	if err := c.failed(); err != nil {
		c.t.Fatalf("chimetest: a role has ended: %v", err)
	}
}

// failed returns the errors of roles that the test has not got yet.
func (c *Chime) failed() error {
	var failed []error
	for _, g := range c.started {
		if g.ended() && !g.reported {
			g.reported = true
			failed = append(failed, g.err)
		}
	}
	return errors.Join(failed...)
}

// end stops the running roles at the end of the test.
func (c *Chime) end() {
	for _, g := range c.started {
		g.cancel()
	}
	for _, g := range c.started {
		c.stop(g)
	}
	if err := c.failed(); err != nil {
		c.t.Errorf("chimetest: a role has ended: %v", err)
	}
	if running := c.attempts.running(); len(running) > 0 {
		c.t.Errorf("chimetest: the test is over, and handlers have not returned: %s", names(running))
	}
	if err := c.server.Close(); err != nil {
		c.t.Errorf("chimetest: closing the store: %v", err)
	}
}

// names formats attempts for a message.
func names(runs []*chime.RunInfo) (text string) {
	for i, run := range runs {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("job %q (ID %q, queue %s, attempt %d)", run.Name, run.ID, run.Queue, run.Attempt)
	}
	return text
}

// protocol returns the store as this package reads it.
func (c *Chime) protocol() protocol.Store { return c.attempts.Store }
