package workers_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// A manyModel is what is to happen to the jobs of a walk: it judges each call as it begins, and each settlement that the store has accepted.
//
// A job's attempts are the failures that the store has accepted, and one. What its handler returns decides the settlement of its flight; a flight whose
// handler was never called may only go back, or end as cancelled.
type manyModel struct {
	t     *testing.T
	names map[string]*modelName
	jobs  map[string]*modelJob
	calls map[*modelCall]bool // that run

	limit   int            // of running jobs of the queue; 0: none
	groups  map[string]int // limits of running jobs of groups
	ordered string         // a group whose jobs run in order
	crashes int            // workers that have vanished
}

// A modelName is a job name with its handler; size 0: a plain handler.
type modelName struct {
	name string
	many chime.Many
}

type modelJob struct {
	id, name, group string
	bytes, max      int

	failures  int
	alone     bool // a call of several jobs with it has failed as a whole
	begun     map[int64]*modelFlight
	newest    int64 // fence
	fewest    int   // crashes that the store must know
	most      int   // crashes that it may know
	end       protocol.SettleKind
	cancelled time.Time // zero: not
}

// A modelFlight is a job in a call.
type modelFlight struct {
	call *modelCall
	want []wanted // what may settle it; nil: its handler has not returned
}

// A wanted is a settlement that the model allows.
type wanted struct {
	kind   protocol.SettleKind
	failed bool
	whole  bool // because of a failure of the call, so the job is handled alone from now on
}

var (
	wantDone  = wanted{kind: protocol.SettleDone}
	wantLater = wanted{kind: protocol.SettleLater}
	wantBack  = wanted{kind: protocol.SettleBack}
)

// A modelCall is a call of a handler.
type modelCall struct {
	worker *modelWorker
	name   *modelName
	jobs   []*chime.Job
	since  time.Time
}

type modelWorker struct {
	number   int
	slots    int
	gone     bool      // vanished: the store does not know of it any more
	draining time.Time // zero: it does not drain
	running  int       // calls
	changed  time.Time // when running changed last
	settled  int       // settlements of its store that the model has read
}

func (m *manyModel) errorf(format string, args ...any) {
	m.t.Helper()
	m.t.Errorf("%v: "+format, append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}

// begin judges a call that begins.
func (m *manyModel) begin(w *modelWorker, name *modelName, jobs []*chime.Job) *modelCall {
	c := &modelCall{worker: w, name: name, jobs: jobs, since: time.Now()}
	bytes, first := 0, jobs[0]
	for _, job := range jobs {
		bytes += len(job.Payload)
		if job.Name != name.name || job.Partition != first.Partition || job.Timeout != first.Timeout || name.many.ByGroup && job.Group != first.Group {
			m.errorf("a call of %s has %s (%s, partition %d, group %q) and %s (%s, %d, %q)", name.name, job.ID, job.Name, job.Partition, job.Group, first.ID, first.Name, first.Partition, first.Group)
		}
		m.beginJob(c, job)
	}
	if len(jobs) > max(1, name.many.Size) || len(jobs) > 1 && bytes > name.many.Bytes {
		m.errorf("a call of %s has %d jobs of %d bytes, want at most %d and %d", name.name, len(jobs), bytes, name.many.Size, name.many.Bytes)
	}
	if !w.draining.IsZero() && w.draining.Before(time.Now()) {
		m.errorf("%s begins %v after its worker has begun to drain", idsOf(jobs), time.Since(w.draining))
	}
	m.calls[c], w.changed = true, time.Now()
	if w.running++; w.running > w.slots {
		m.errorf("worker %d runs %d calls in %d slots", w.number, w.running, w.slots)
	}
	m.checkLimits()
	return c
}

// beginJob judges a job of a call.
func (m *manyModel) beginJob(c *modelCall, job *chime.Job) {
	j := m.jobs[job.ID]
	switch {
	case job.Fence <= j.newest:
		m.errorf("%s begins with fence %d, after fence %d", j.id, job.Fence, j.newest)
	case j.end != 0:
		m.errorf("%s begins after it was settled as %c", j.id, j.end)
	case !j.cancelled.IsZero() && job.Fence > j.cancelled.UnixMicro()+1000: // fences of one instant are numbered
		m.errorf("%s begins with a flight from after its cancellation", j.id)
	}
	j.newest = job.Fence
	j.begun[job.Fence] = &modelFlight{call: c}
	if job.Attempt != j.failures+1 || job.MaxAttempts != j.max || job.Group != j.group || len(job.Payload) != j.bytes {
		m.errorf("%s has attempt %d of %d, group %q and %d bytes; want %d of %d, %q and %d", j.id, job.Attempt, job.MaxAttempts, job.Group, len(job.Payload), j.failures+1, j.max, j.group, j.bytes)
	}
	if job.Crashes < j.fewest || job.Crashes > j.most {
		m.errorf("%s has %d crashes, want %d to %d", j.id, job.Crashes, j.fewest, j.most)
	}
	if len(c.jobs) == 1 {
		return
	}
	many := c.name.many
	if job.Crashes > 0 || j.group != "" && j.group == m.ordered || j.bytes > many.Bytes || !many.Together && (j.alone || job.Attempt == job.MaxAttempts) {
		m.errorf("%s shares a call of %d: crashes %d, group %q, attempt %d of %d, alone %v, Together %v", j.id, len(c.jobs), job.Crashes, j.group, job.Attempt, job.MaxAttempts, j.alone, many.Together)
	}
}

// checkLimits judges how many jobs run, of workers that the store knows.
func (m *manyModel) checkLimits() {
	all, groups := 0, map[string]int{}
	for c := range m.calls {
		if c.worker.gone {
			continue
		}
		all += len(c.jobs)
		for _, job := range c.jobs {
			groups[job.Group]++
		}
	}
	if m.limit > 0 && all > m.limit {
		m.errorf("%d jobs run, the limit is %d", all, m.limit)
	}
	for group, limit := range m.groups {
		if groups[group] > limit {
			m.errorf("%d jobs of group %s run, the limit is %d", groups[group], group, limit)
		}
	}
}

// returned notes what a handler returns, or with which panic it ends. ctx has the reason why it was to end.
func (m *manyModel) returned(ctx context.Context, c *modelCall, err error) {
	cause := context.Cause(ctx)
	cut := errors.Is(cause, chime.ErrShutdown) || errors.Is(cause, chime.ErrSessionLost)
	var each chime.Each
	if c.name.many.Size > 0 && errors.As(err, &each) {
		for id := range each {
			if !slices.ContainsFunc(c.jobs, func(job *chime.Job) bool { return job.ID == id }) {
				each, err = nil, errors.New("an ID that the call does not have")
				break
			}
		}
	}
	for _, job := range c.jobs {
		j := m.jobs[job.ID]
		var want wanted
		switch one, named := each[job.ID]; {
		case named:
			want = m.outcome(j, one)
		case each != nil && cut:
			want = wantBack
		case each != nil && errors.Is(cause, chime.ErrTimeout):
			want = m.failed(j)
		case each != nil:
			want = wantDone
		default:
			switch want = m.outcome(j, err); {
			case chime.OutcomeOf(err).Action != chime.Retried:
			case cut:
				want = wantBack
			default:
				want.whole = m.splits(c)
			}
		}
		j.begun[job.Fence].want = append(j.begun[job.Fence].want, want)
	}
	m.leave(c)
}

// stuck notes that a handler does not return though its ctx has ended. Its jobs fail after a while, or they go back at the end of the worker.
func (m *manyModel) stuck(c *modelCall) {
	for _, job := range c.jobs {
		j := m.jobs[job.ID]
		want := m.failed(j)
		want.whole = m.splits(c)
		j.begun[job.Fence].want = []wanted{want, wantBack}
	}
	delete(m.calls, c) // its jobs may run elsewhere before it returns
}

// splits reports whether each job of a call is handled alone after the call has failed as a whole.
func (m *manyModel) splits(c *modelCall) bool { return len(c.jobs) > 1 && !c.name.many.Together }

// leave notes that a handler has returned.
func (m *manyModel) leave(c *modelCall) {
	delete(m.calls, c)
	c.worker.running--
	c.worker.changed = time.Now()
}

// outcome returns how an error of a handler settles a job.
func (m *manyModel) outcome(j *modelJob, err error) wanted {
	switch chime.OutcomeOf(err).Action {
	case chime.Succeeded:
		return wantDone
	case chime.Snoozed:
		return wantLater
	case chime.Discarded:
		return wanted{kind: protocol.SettleDead, failed: true}
	}
	return m.failed(j)
}

func (m *manyModel) failed(j *modelJob) wanted {
	if j.failures+1 >= j.max {
		return wanted{kind: protocol.SettleDead, failed: true}
	}
	return wanted{kind: protocol.SettleLater, failed: true}
}

// vanish notes that a worker is gone. The store learns within a moment that a call has begun; a crash counts then, and only then.
func (m *manyModel) vanish(w *modelWorker) {
	w.gone = true
	m.crashes++
	for _, j := range m.jobs {
		for _, f := range j.begun {
			if f.call.worker != w || j.end != 0 {
				continue
			}
			j.most = m.crashes
			if _, runs := m.calls[f.call]; runs && time.Since(f.call.since) > 300*time.Millisecond && f == j.begun[j.newest] && f.want == nil {
				j.fewest++
			}
		}
		if m.limit > 0 || m.groups[j.group] > 0 || m.names[j.name].many.Size == 0 { // taken jobs have begun, except those that gather
			j.most = m.crashes
		}
	}
}

// settle judges a settlement that the store has accepted.
func (m *manyModel) settle(w *modelWorker, s *protocol.Settlement) {
	j := m.jobs[s.ID]
	got := wanted{kind: s.Kind, failed: s.Failed}
	f := j.begun[s.Fence]
	switch {
	case j.end != 0:
		m.errorf("%s is settled as %c by worker %d, after %c", j.id, s.Kind, w.number, j.end)
	case !j.cancelled.IsZero():
		got.failed = false // it ends as cancelled, whatever the handler has returned
	case f == nil && s.Kind != protocol.SettleBack:
		m.errorf("%s is settled as %c by worker %d, and no handler got it", j.id, s.Kind, w.number)
	case f != nil:
		at := slices.IndexFunc(f.want, func(want wanted) bool { return want.kind == got.kind && want.failed == got.failed })
		if at < 0 {
			m.errorf("%s is settled as %c (failed %v) by worker %d, want one of %v", j.id, s.Kind, s.Failed, w.number, f.want)
			break
		}
		j.alone = j.alone || f.want[at].whole
	}
	if got.failed {
		j.failures++
	}
	if s.Finished() || s.Kind == protocol.SettleDead || !j.cancelled.IsZero() && s.Kind != protocol.SettleBack {
		j.end = s.Kind
	}
}
