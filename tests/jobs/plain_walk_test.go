package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A plainWalk makes random calls and lets a worker run, and compares everything that a user sees with a plainQueue.
type plainWalk struct {
	*testing.T
	seed     uint64
	random   *rand.Rand
	enqueuer *chime.Enqueuer
	jobs     *chime.Jobs
	queues   *chime.Queues

	mu       sync.Mutex
	model    *plainQueue
	versions int
	release  map[string]chan struct{} // of held handlers
	notes    []string
	wrong    string    // what a handler found
	last     time.Time // when an attempt began or ended
}

const (
	plainMargin   = 100 * time.Millisecond // a worker may need that long to take a job; no call comes so close to an instant of the model
	plainRetry    = 10 * time.Second
	plainAttempts = 2
	plainQueueID  = "default"
)

var (
	plainIDs  = []string{"kept0", "kept1", "kept2", "gone0", "gone1", "gone2"}
	plainKeep = 30 * time.Second // of the IDs that begin with "kept"
)

// Random calls of Enqueue with Once, Keep, In, Expire and Replace, of Cancel, Delete, Requeue, Purge, Pause and Limit, with a worker whose handlers
// succeed, fail, snooze, discard and hang: each answer, each job's state, each run and each kept result is as the documents describe it.
func TestRandomCallsAgreeWithAPlainModel(t *testing.T) {
	seeds, ops := long.Draw(2, 60), 500
	if text := os.Getenv("CHIME_WALK"); text != "" { // how many seeds, how many calls with each, and the first seed
		n, first := 0, uint64(0)
		if _, err := fmt.Sscan(text, &n, &ops, &first); err != nil {
			t.Fatal(err)
		}
		seeds = nil
		for seed := range uint64(n) {
			seeds = append(seeds, first+seed)
		}
	}
	for _, seed := range seeds {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			w := &plainWalk{
				T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 29)), model: newPlainQueue(), release: map[string]chan struct{}{},
				enqueuer: chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), jobs: chime.NewJobs(f.Server.Store()), queues: chime.NewQueues(f.Server.Store()),
			}
			worker := f.Worker(chime.WorkerOptions{Concurrency: 20})
			worker.Handle("plain", w.handle, chime.MaxAttempts(plainAttempts), chime.Timeout(24*time.Hour))
			stop := f.Start(worker)
			fixture.Pass(time.Second)
			for range ops {
				w.step()
				if t.Failed() {
					break
				}
			}
			w.mu.Lock()
			for _, id := range slices.Sorted(maps.Keys(w.release)) {
				close(w.release[id])
			}
			w.mu.Unlock()
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
		if t.Failed() {
			return
		}
	}
}

func (w *plainWalk) note(format string, args ...any) {
	w.notes = append(w.notes, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *plainWalk) errorf(format string, args ...any) {
	w.Helper()
	w.Errorf("seed %d, %s: %s\n%s", w.seed, time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...), strings.Join(w.notes[max(0, len(w.notes)-40):], "\n"))
}

// handle is the handler of all jobs. It decides how the attempt ends, when it begins.
func (w *plainWalk) handle(ctx context.Context, job *chime.Job) error {
	w.mu.Lock()
	held := w.began(job)
	how := w.chance(job.ID, 10)
	if held {
		w.release[job.ID] = make(chan struct{})
	}
	release := w.release[job.ID]
	w.mu.Unlock()
	if held {
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.release, job.ID)
	return w.ended(job.ID, how)
}

// chance returns a number that does not depend on the order of goroutines.
func (w *plainWalk) chance(id string, n int) int {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, id, time.Now().UnixMilli(), n)
	return int(h.Sum64() >> 8 % uint64(n))
}

// began checks that a run was allowed to begin.
func (w *plainWalk) began(job *chime.Job) (held bool) {
	now, q := time.Now(), w.model
	w.last = now
	var version int
	if err := job.Decode(&version); err != nil {
		w.wrong = err.Error()
	}
	j := q.jobs[job.ID]
	w.note("  %s begins, version %d, attempt %d", job.ID, version, job.Attempt)
	running := 0
	for _, other := range q.jobs {
		if other.running {
			running++
		}
	}
	q.starts = slices.DeleteFunc(q.starts, func(at time.Time) bool { return now.Sub(at) > time.Minute })
	recent := 0
	for _, at := range q.starts {
		if now.Sub(at) < q.limit.Per-2*time.Millisecond {
			recent++
		}
	}
	switch {
	case j == nil:
		w.wrong = job.ID + " began and does not exist"
		return false
	case j.running || j.dead:
		w.wrong = fmt.Sprintf("%s began and is %s", job.ID, j.state())
	case j.version != version:
		w.wrong = fmt.Sprintf("%s began with version %d, want %d", job.ID, version, j.version)
	case job.Attempt != j.failures+1:
		w.wrong = fmt.Sprintf("%s began its attempt %d, want %d", job.ID, job.Attempt, j.failures+1)
	case j.due.After(now.Add(time.Millisecond)):
		w.wrong = fmt.Sprintf("%s began, and is due at %v", job.ID, j.due)
	case !j.expires.IsZero() && now.After(j.expires.Add(plainMargin)):
		w.wrong = fmt.Sprintf("%s began, and expired at %v", job.ID, j.expires)
	case q.paused:
		w.wrong = job.ID + " began, and its queue is paused"
	case q.limit.Running > 0 && running >= q.limit.Running:
		w.wrong = fmt.Sprintf("%s began, and %d run", job.ID, running)
	case q.limit.Starts > 0 && recent >= q.limit.Starts:
		w.wrong = fmt.Sprintf("%s began, and %d have begun within %v", job.ID, recent, q.limit.Per)
	}
	q.starts = append(q.starts, now)
	delete(q.cancelled, job.ID)
	j.running, j.expires, j.held = true, time.Time{}, w.chance(job.ID, 3) == 0
	return j.held
}

// ended lets a run end in one of several ways.
func (w *plainWalk) ended(id string, how int) error {
	now, q := time.Now(), w.model
	w.last = now
	j := q.jobs[id]
	if j == nil {
		return nil
	}
	j.running = false
	again := func(outcome chime.RunOutcome, failed bool) {
		if j.follow != nil {
			q.end(id, chime.RunSuperseded, now)
			return
		}
		if failed {
			j.failures++
		}
		if j.failures >= plainAttempts && failed || outcome == chime.RunDead {
			j.dead, j.failures = true, max(j.failures, 1)
			if j.keep > 0 {
				q.kept[id] = plainResult{chime.RunDead, now.Add(j.keep)}
			}
			return
		}
		j.due, j.delayed = now.Add(plainRetry), true
	}
	w.note("  %s ends: %d", id, how)
	switch {
	case j.cancelled:
		q.end(id, chime.RunCancelled, now)
		return errors.New("cancelled")
	case how < 5:
		q.end(id, chime.RunDone, now)
		return nil
	case how < 7:
		again("", true)
		return chime.RetryAfter(plainRetry, errors.New("failed"))
	case how < 8:
		again(chime.RunDead, true)
		return chime.Discard(errors.New("discarded"))
	}
	again("", false)
	return chime.Snooze(plainRetry)
}

// pass lets time pass. It does not stop close to an instant of the model.
func (w *plainWalk) pass(d time.Duration) {
	w.Helper()
	for d > 0 {
		step := d
		if w.expiring() { // when it ends is seen only when it is looked for
			step = min(d, plainMargin)
		}
		fixture.Pass(step)
		w.sync()
		d -= step
	}
	for w.near() {
		fixture.Pass(plainMargin)
		w.sync()
	}
}

// expiring reports whether a job may expire that a limit holds up.
func (w *plainWalk) expiring() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.model.limit == (chime.Limit{}) {
		return false
	}
	for _, j := range w.model.jobs {
		if !j.expires.IsZero() {
			return true
		}
	}
	return false
}

// near reports whether it is close to an instant at which something changes.
func (w *plainWalk) near() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, q := time.Now(), w.model
	if now.Sub(w.last) < plainMargin { // its outcome may be under way
		return true
	}
	is := func(at time.Time) bool { return at.After(now.Add(-plainMargin)) && at.Before(now.Add(3*plainMargin)) }
	for _, j := range q.jobs {
		if is(j.due) && j.delayed || is(j.expires) || j.follow != nil && (is(j.follow.due) || is(j.follow.expires)) {
			return true
		}
	}
	for id := range q.barred {
		if is(q.barred[id]) {
			return true
		}
	}
	for id := range q.kept {
		if is(q.kept[id].until) {
			return true
		}
	}
	return false
}

// sync records which jobs have expired, and checks that every job runs that may.
func (w *plainWalk) sync() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrong != "" {
		w.errorf("%s", w.wrong)
		w.wrong = ""
	}
	now, q := time.Now(), w.model
	running, recent := 0, 0
	for _, j := range q.jobs {
		if j.running {
			running++
		}
	}
	for _, at := range q.starts {
		if now.Sub(at) < q.limit.Per*17/16+plainMargin {
			recent++
		}
	}
	full := q.limit.Running > 0 && running >= q.limit.Running || q.limit.Starts > 0 && recent > 0
	for _, id := range slices.Sorted(maps.Keys(q.jobs)) {
		j := q.jobs[id]
		if q.paused || j.running || j.dead || j.due.After(now.Add(-plainMargin)) {
			continue
		}
		if !j.expires.IsZero() && j.expires.Before(now) {
			info, err := w.jobs.Get(w.Context(), plainQueueID, id)
			if errors.Is(err, chime.ErrNotFound) || err == nil && info.State == chime.JobDone {
				w.note("  %s has expired", id)
				q.end(id, chime.RunExpired, now)
				continue
			}
		}
		if !full {
			w.errorf("%s does not run, although it is due since %s and may: %d run, %d began of late, limit %+v", id, j.due.Format("15:04:05.000"), running, recent, q.limit)
		}
	}
}

// step makes one call, and compares its answer.
func (w *plainWalk) step() {
	w.Helper()
	ctx, id := w.Context(), plainIDs[w.random.IntN(len(plainIDs))]
	w.pass(0)
	w.mu.Lock()
	w.learn(id)
	now, q := time.Now(), w.model
	got, want := "", ""
	var err error
	byID := chime.JobFilter{Queue: plainQueueID, IDs: []string{id}}
	// the model is asked first: a worker may take the job as soon as the call was made
	switch n := w.random.IntN(24); {
	case n < 10:
		w.versions++
		c := plainCall{id: id, version: w.versions}
		options := []chime.EnqueueOption{chime.ID(id)}
		if strings.HasPrefix(id, "kept") {
			c.keep = plainKeep
			options = append(options, chime.Keep(c.keep))
		}
		if w.random.IntN(3) == 0 {
			c.once = time.Duration(20+20*w.random.IntN(2)) * time.Second
			options = append(options, chime.Once(c.once))
		}
		if w.random.IntN(3) == 0 {
			c.in = time.Duration(1+w.random.IntN(20)) * time.Second
			options = append(options, chime.In(c.in))
		}
		if w.random.IntN(3) == 0 {
			c.expire = time.Duration(1+w.random.IntN(10)) * time.Second
			options = append(options, chime.Expire(c.expire))
		}
		if c.replace = w.random.IntN(3) == 0; c.replace {
			options = append(options, chime.Replace())
		}
		w.note("enqueue %+v", c)
		existing, replaced, state := q.enqueue(c, now)
		want = fmt.Sprint(existing, replaced, state)
		w.mu.Unlock()
		var r chime.Receipt
		r, err = w.enqueuer.Enqueue(ctx, "plain", c.version, options...)
		got = fmt.Sprint(r.Existing, r.Replaced, r.State)
	case n < 13:
		w.note("cancel %s", id)
		twice := q.cancelled[id]
		want = string(q.cancel(id, now))
		w.mu.Unlock()
		var result chime.CancelResult
		if result, err = w.jobs.Cancel(ctx, plainQueueID, id); errors.Is(err, chime.ErrNotFound) {
			err = nil
		}
		if got = string(result); twice && got == string(chime.CancelDone) {
			want = got
		}
	case n < 16:
		w.note("delete %s", id)
		want = fmt.Sprint(q.remove(id, now))
		w.mu.Unlock()
		var result chime.BulkResult
		result, err = w.jobs.Delete(ctx, byID, nil)
		got = fmt.Sprint(result.Changed)
	case n < 18:
		w.note("requeue %s", id)
		want = fmt.Sprint(q.requeue(id, now))
		w.mu.Unlock()
		var result chime.BulkResult
		result, err = w.jobs.Requeue(ctx, byID, nil)
		got = fmt.Sprint(result.Changed)
	case n == 18 && w.random.IntN(3) == 0:
		w.note("purge")
		want = fmt.Sprint(q.purge())
		w.mu.Unlock()
		var result chime.BulkResult
		result, err = w.queues.Purge(ctx, plainQueueID, plainQueueID, nil)
		got = fmt.Sprint(result.Changed)
	case n < 21 && q.paused || n == 20:
		q.paused = !q.paused
		w.note("paused: %v", q.paused)
		paused := q.paused
		w.mu.Unlock()
		if paused {
			err = w.queues.Pause(ctx, plainQueueID)
		} else {
			err = w.queues.Resume(ctx, plainQueueID)
		}
	case n == 21:
		old := q.limit
		q.limit = []chime.Limit{{}, {}, {Running: 1}, {Running: 3}, {Starts: 2, Per: 5 * time.Second}, {Running: 2, Starts: 3, Per: 10 * time.Second}}[w.random.IntN(6)]
		w.note("limit %+v", q.limit)
		limit := q.limit
		q.starts = slices.DeleteFunc(q.starts, func(at time.Time) bool { return old.Starts == 0 || now.Sub(at) > old.Per }) // others never counted
		w.mu.Unlock()
		err = w.queues.Limit(ctx, plainQueueID, limit)
	default:
		if ids := slices.Sorted(maps.Keys(w.release)); len(ids) > 0 {
			id := ids[w.random.IntN(len(ids))]
			w.note("release %s", id)
			close(w.release[id])
			delete(w.release, id)
		}
		w.mu.Unlock()
	}
	fixture.Pass(plainMargin)
	if err != nil || got != want {
		w.errorf("got %s, %v; want %s", got, err, want)
	}
	w.sync()
	w.compare(id)
	w.compare(plainIDs[w.random.IntN(len(plainIDs))])
	w.pass(time.Duration(w.random.IntN(5)*w.random.IntN(4)) * 700 * time.Millisecond)
}

// learn asks where a job is whose time has come and that a pause or a limit holds up: it is delayed until a worker has looked at it, and waits then.
func (w *plainWalk) learn(id string) {
	if j := w.model.jobs[id]; j != nil && j.delayed && !j.running && !j.dead && !j.due.After(time.Now()) {
		info, err := w.jobs.Get(w.Context(), plainQueueID, id)
		j.delayed = err != nil || info.State != chime.JobWaiting
	}
}

// compare compares what Get returns.
func (w *plainWalk) compare(id string) {
	w.Helper()
	if w.pass(0); w.Failed() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learn(id)
	now, q := time.Now(), w.model
	got, want := "", ""
	info, err := w.jobs.Get(w.Context(), plainQueueID, id)
	missing := (*chime.NotFoundError)(nil)
	switch {
	case err == nil && info.State == chime.JobDone:
		got = fmt.Sprint(info.State, " ", info.Outcome)
	case err == nil:
		got = string(info.State)
	case errors.As(err, &missing):
		got = "barred"
		if at := q.barred[id]; missing.BarredUntil.Sub(at).Abs() > plainMargin {
			w.errorf("%s is barred until %v, want %v", id, missing.BarredUntil, at)
		}
	case !errors.Is(err, chime.ErrNotFound):
		got = err.Error()
	}
	if kept, ok := q.result(id, now); q.jobs[id] != nil {
		want = string(q.jobs[id].state())
	} else if ok {
		want = fmt.Sprint(chime.JobDone, " ", kept.outcome)
	} else if q.bars(id, now) {
		want = "barred"
	}
	if got != want {
		w.errorf("%s is %q, want %q", id, got, want)
	}
}
