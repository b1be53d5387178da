package workers_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A manyLog records the calls of a ManyHandler.
type manyLog struct {
	began time.Time
	mu    sync.Mutex
	calls [][]*chime.Job
	at    []time.Duration // after began
}

// handler returns a handler that takes some time and returns the results of outcome; nil: it succeeds.
func (l *manyLog) handler(takes time.Duration, outcome func(ctx context.Context, jobs []*chime.Job) error) chime.ManyHandler {
	l.began = time.Now()
	return func(ctx context.Context, jobs []*chime.Job) error {
		l.mu.Lock()
		l.calls, l.at = append(l.calls, jobs), append(l.at, time.Since(l.began))
		l.mu.Unlock()
		time.Sleep(takes) // fake time
		if outcome == nil {
			return nil
		}
		return outcome(ctx, jobs)
	}
}

// sizes returns how many jobs each call had, with the time at which it began: "10@0s 5@1s". Of calls that began at once, the largest is first.
func (l *manyLog) sizes() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := make([]int, len(l.calls))
	for i := range calls {
		calls[i] = i
	}
	slices.SortFunc(calls, func(a, b int) int {
		return cmp.Or(cmp.Compare(l.at[a], l.at[b]), cmp.Compare(len(l.calls[b]), len(l.calls[a])))
	})
	var all []string
	for _, i := range calls {
		all = append(all, fmt.Sprintf("%d@%v", len(l.calls[i]), l.at[i].Round(time.Millisecond)))
	}
	return strings.Join(all, " ")
}

// ids returns the IDs of the jobs of each call, sorted, in the order of the calls.
func (l *manyLog) ids() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, jobs := range l.calls {
		all = append(all, idsOf(jobs))
	}
	return all
}

func idsOf(jobs []*chime.Job) string {
	var ids []string
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestACallBeginsWithSizeBytesOrWait(t *testing.T) {
	for _, test := range []struct {
		many chime.Many
		jobs int
		want string
	}{
		{chime.Many{Size: 10, Wait: time.Second}, 25, "10@0s 10@0s 5@1s"},
		{chime.Many{Size: 100, Wait: 200 * time.Millisecond}, 5, "5@200ms"},
		{chime.Many{Size: 100, Wait: time.Second, Bytes: 350}, 7, "3@0s 3@0s 1@1s"},
		{chime.Many{Size: 100, Wait: time.Second, Bytes: 99}, 2, "1@0s 1@0s"}, // each is larger
		{chime.Many{Size: 1, Wait: time.Second}, 2, "1@0s 1@0s"},
		{chime.Many{Size: 100}, 25, "10@0s 9@0s 6@0s"}, // what one answer brings
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var log manyLog
			e := job("work")
			e.Payload = make([]byte, 100)
			f.Enqueue("default", e, fixture.Names("j", test.jobs)...)
			w := f.Worker(chime.WorkerOptions{Concurrency: 10})
			w.HandleMany("work", test.many, log.handler(10*time.Minute, nil))
			stop := fixture.Start(w)
			fixture.Pass(5 * time.Second)
			if got := log.sizes(); got != test.want {
				t.Errorf("%+v, %d jobs: calls %s, want %s", test.many, test.jobs, got, test.want)
			}
			fixture.Pass(2 * time.Hour)
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
		})
	}
}

// While jobs gather, no more jobs are requested than there are slots: a queue may have other jobs.
func TestAFreeSlotAsksOnWhileJobsGather(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		store := f.Hooked()
		store.VisitWork = func(call *protocol.WorkCall) {
			if call.Take > 10 {
				t.Errorf("a call requests %d jobs, want at most 10", call.Take)
			}
		}
		f.Enqueue("default", job("work"), fixture.Names("j", 100)...)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
		w.HandleMany("work", chime.Many{Size: 100, Wait: time.Second}, log.handler(0, nil))
		stop := fixture.Start(w)
		fixture.Pass(5 * time.Second)
		if got := log.sizes(); got != "100@0s" {
			t.Errorf("calls %s, want one of all jobs", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// Jobs that gather occupy no slot: another name gets all slots meanwhile.
func TestAnotherNameGetsSlotsWhileJobsGather(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		var runs fixture.Runs
		f.Enqueue("default", job("work"), fixture.Names("many", 5)...)
		f.Enqueue("default", job("plain"), fixture.Names("plain", 20)...)
		w := f.Worker(chime.WorkerOptions{Concurrency: 5})
		w.HandleMany("work", chime.Many{Size: 100, Wait: 5 * time.Second}, log.handler(0, nil))
		w.Handle("plain", func(_ context.Context, job *chime.Job) error {
			runs.Add(job.ID)
			time.Sleep(time.Millisecond) // fake time
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		if n := len(runs.IDs()); n != 20 {
			t.Errorf("%d of 20 jobs of another name ran while 5 gathered", n)
		}
		fixture.Pass(10 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A gathering gets more jobs only while a slot is free. So it comes before the job that takes the last one: else it would never begin.
func TestAFullWorkerDoesNotStarveAGatheringName(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		f.Enqueue("default", job("plain"), fixture.Names("before", 10)...)
		f.Enqueue("default", job("work"), "many")
		f.Enqueue("default", job("plain"), fixture.Names("behind", 100)...)
		w := f.Worker(chime.WorkerOptions{Concurrency: 2})
		w.HandleMany("work", chime.Many{Size: 100, Wait: time.Second}, log.handler(0, nil))
		w.Handle("plain", func(context.Context, *chime.Job) error {
			time.Sleep(time.Minute) // fake time
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(8 * time.Minute)
		if log.sizes() == "" {
			t.Error("the job that gathers has not begun although all before it have ended")
		}
		fixture.Pass(time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// With ByGroup a name gathers for many calls at once, in all at most Size jobs.
func TestAtMostSizeOfANameGather(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		w := f.Worker(chime.WorkerOptions{Concurrency: 100})
		w.HandleMany("work", chime.Many{Size: 10, Wait: 5 * time.Second, ByGroup: true}, log.handler(0, nil))
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: fixture.Quiet()})
		var items []chime.Item
		for i := range 30 {
			items = append(items, chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.Group(fmt.Sprint("g", i))}})
		}
		if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		if n := strings.Count(log.sizes(), "1@0s"); n != 21 {
			t.Errorf("%d calls have begun, want 21: only 9 jobs gather", n)
		}
		fixture.Pass(10 * time.Second)
		if n := strings.Count(log.sizes(), "1@"); n != 30 {
			t.Errorf("%d calls, want 30", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestACallHasJobsOfOneSessionTimeoutAndGroup(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		f.Partition("default", 2)
		for _, timeout := range []time.Duration{0, time.Minute} {
			for _, group := range []string{"", "a", "b"} {
				e := job("work")
				e.Timeout = timeout
				item := protocol.EnqueueItem{Group: group}
				if group != "" {
					e.Details = &wire.Details{Group: group}
				}
				item.Body = e.Encode()
				f.Put("default", item, fixture.Names(fmt.Sprint("j", group, timeout), 20)...)
			}
		}
		w := f.Worker(chime.WorkerOptions{Concurrency: 50})
		w.HandleMany("work", chime.Many{Size: 1000, Wait: time.Second, ByGroup: true}, log.handler(0, nil))
		stop := fixture.Start(w)
		fixture.Pass(5 * time.Second)
		if len(log.calls) != 12 {
			t.Errorf("%d calls, want 12: two partitions, two timeouts, three groups", len(log.calls))
		}
		for _, jobs := range log.calls {
			for _, job := range jobs {
				if job.Partition != jobs[0].Partition || job.Timeout != jobs[0].Timeout || job.Group != jobs[0].Group {
					t.Errorf("a call has %s (partition %d, timeout %v, group %q) and %s (%d, %v, %q)", job.ID, job.Partition, job.Timeout, job.Group,
						jobs[0].ID, jobs[0].Partition, jobs[0].Timeout, jobs[0].Group)
				}
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// If a limit allows no more jobs, nothing is gained by waiting.
func TestACallBeginsAtOnceWhenALimitIsReached(t *testing.T) {
	for _, test := range []struct {
		name  string
		limit func(t *testing.T, queues *chime.Queues) error
		want  string
	}{
		{"running jobs of the queue", func(t *testing.T, queues *chime.Queues) error {
			return queues.Limit(t.Context(), "default", chime.Limit{Running: 5})
		}, "5@0s"},
		{"running jobs of the group", func(t *testing.T, queues *chime.Queues) error {
			return queues.SetGroup(t.Context(), "default", "g", chime.GroupRule{Running: 5})
		}, "5@0s"},
		{"order of the group", func(t *testing.T, queues *chime.Queues) error {
			return queues.SetGroup(t.Context(), "default", "g", chime.GroupRule{Ordered: chime.On})
		}, "1@0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				var log manyLog
				f.Partition("default", 1)
				if err := test.limit(t, chime.NewQueues(f.Server.Store())); err != nil {
					t.Error(err)
				}
				e := job("work")
				e.Details = &wire.Details{Group: "g"}
				f.Put("default", protocol.EnqueueItem{Body: e.Encode(), Group: "g"}, fixture.Names("j", 20)...)
				w := f.Worker(chime.WorkerOptions{Concurrency: 10})
				w.HandleMany("work", chime.Many{Size: 100, Wait: 5 * time.Second}, log.handler(time.Minute, nil))
				stop := fixture.Start(w)
				fixture.Pass(time.Second)
				if got := log.sizes(); got != test.want {
					t.Errorf("calls %s, want %s", got, test.want)
				}
				fixture.Pass(time.Hour)
				if err := stop(); err != nil {
					t.Error(err)
				}
				f.CheckEmpty()
			})
		})
	}
}

func TestEachSettlesItsJobs(t *testing.T) {
	bad := errors.New("bad")
	all := map[string]protocol.SettleKind{"a": protocol.SettleLater, "b": protocol.SettleLater, "c": protocol.SettleLater}
	done := map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleDone, "c": protocol.SettleDone}
	for _, test := range []struct {
		name string
		err  error
		want map[string]protocol.SettleKind
	}{
		{"nil", nil, done},
		{"an error", bad, all},
		{"Discard", chime.Discard(bad), map[string]protocol.SettleKind{"a": protocol.SettleDead, "b": protocol.SettleDead, "c": protocol.SettleDead}},
		{"each", chime.Each{"a": bad, "b": chime.Discard(bad), "c": nil}, map[string]protocol.SettleKind{"a": protocol.SettleLater, "b": protocol.SettleDead, "c": protocol.SettleDone}},
		{"Snooze of one", chime.Each{"a": chime.Snooze(time.Hour)}, map[string]protocol.SettleKind{"a": protocol.SettleLater, "b": protocol.SettleDone, "c": protocol.SettleDone}},
		{"empty", chime.Each{}, done},
		{"nil map", chime.Each(nil), done},
		{"wrapped", fmt.Errorf("insert: %w", chime.Each{"c": bad}), map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleDone, "c": protocol.SettleLater}},
		{"beside another error", errors.Join(bad, chime.Each{"c": bad}), all},
		{"another job", chime.Each{"d": bad}, all},
		{"Discard around another job", chime.Discard(chime.Each{"d": bad}), all},
		{"Discard around each", chime.Discard(chime.Each{"c": bad}), map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleDone, "c": protocol.SettleLater}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				var log manyLog
				store := f.Hooked()
				f.Enqueue("default", job("work"), "a", "b", "c")
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 5, Logger: fixture.Quiet()})
				first := true
				w.HandleMany("work", chime.Many{Size: 3, Wait: time.Second}, log.handler(0, func(context.Context, []*chime.Job) error {
					if first {
						first = false
						return test.err
					}
					return nil
				}))
				stop := fixture.Start(w)
				fixture.Pass(500 * time.Millisecond)
				for _, settled := range store.Settled() {
					if test.want[settled.ID] != settled.Kind {
						t.Errorf("%s is settled as %c, want %c", settled.ID, settled.Kind, test.want[settled.ID])
					}
				}
				if n := len(store.Settled()); n != 3 {
					t.Errorf("%d jobs are settled, want 3", n)
				}
				fixture.Pass(2 * time.Hour)
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Whatever happens to the call as a whole, a single bad job makes no other job dead.
func TestOneBadJobDoesNotBuryTheOthers(t *testing.T) {
	for _, fails := range []struct {
		name string
		fail func(ctx context.Context) error
	}{
		{"error", func(context.Context) error { return errors.New("one of them is bad") }},
		{"panic", func(context.Context) error { panic("one of them is bad") }},
		{"timeout", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }},
		{"stuck", func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Minute); return nil }}, // fake time
	} {
		t.Run(fails.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				var log manyLog
				e := job("work")
				e.MaxAttempts = 3
				f.Enqueue("default", e, append(fixture.Names("good", 30), "bad")...)
				w := f.Worker(chime.WorkerOptions{Concurrency: 10})
				w.HandleMany("work", chime.Many{Size: 31, Wait: time.Second}, log.handler(0, func(ctx context.Context, jobs []*chime.Job) error {
					if slices.ContainsFunc(jobs, func(job *chime.Job) bool { return job.ID == "bad" }) {
						return fails.fail(ctx)
					}
					return nil
				}), chime.Timeout(time.Minute))
				stop := fixture.Start(w)
				fixture.Pass(time.Hour)
				info := f.Stats()
				if info.Dead != 1 || info.Done != 30 {
					t.Errorf("%d jobs are dead and %d are done, want 1 and 30", info.Dead, info.Done)
				}
				for i, jobs := range log.calls {
					if i > 0 && len(jobs) > 1 {
						t.Errorf("call %d has %d jobs, want each alone after the first call", i, len(jobs))
					}
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestTogetherGathersJobsOfAFailedCallAgain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		e := job("work")
		e.MaxAttempts = 2
		f.Enqueue("default", e, fixture.Names("j", 10)...)
		w := f.Worker(chime.WorkerOptions{Concurrency: 10})
		w.HandleMany("work", chime.Many{Size: 10, Wait: 5 * time.Second, Together: true}, log.handler(0, func(_ context.Context, jobs []*chime.Job) error {
			if jobs[0].Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		}))
		stop := fixture.Start(w)
		fixture.Pass(time.Minute)
		if ids := log.ids(); len(ids) != 2 || ids[0] != ids[1] {
			t.Errorf("calls %q, want the same jobs twice", ids)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// The end of the last attempt would be the job's death: it must not depend on other jobs.
func TestTheLastAttemptIsHandledAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		e := job("work")
		e.MaxAttempts = 1
		f.Enqueue("default", e, "a", "b")
		f.Enqueue("default", job("work"), "c", "d")
		w := f.Worker(chime.WorkerOptions{Concurrency: 10})
		w.HandleMany("work", chime.Many{Size: 10, Wait: time.Second}, log.handler(0, nil))
		stop := fixture.Start(w)
		fixture.Pass(5 * time.Second)
		ids := log.ids()
		slices.Sort(ids)
		if want := []string{"a", "b", "c d"}; !slices.Equal(ids, want) {
			t.Errorf("calls %q, want %q", ids, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestACancelledJobOfACallEndsAsCancelled(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
		var causes []error
		w.HandleMany("work", chime.Many{Size: 3, Wait: time.Second}, log.handler(0, func(ctx context.Context, _ []*chime.Job) error {
			select {
			case <-ctx.Done():
				causes = append(causes, context.Cause(ctx))
				return context.Cause(ctx)
			case <-time.After(time.Minute):
				return nil
			}
		}))
		stop := fixture.Start(w)
		f.Enqueue("default", job("work"), "gathers", "other")
		fixture.Pass(100 * time.Millisecond)
		f.Cancel("gathers")
		f.Enqueue("default", job("work"), "a", "b")
		fixture.Pass(100 * time.Millisecond)
		f.Cancel("a")
		fixture.Pass(time.Second)
		if len(causes) > 0 {
			t.Errorf("the ctx of a call of three ended after one was cancelled: %v", causes)
		}
		fixture.Pass(2 * time.Minute)
		if got, want := log.ids(), []string{"a b other"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		if kinds := store.Kinds(); kinds[protocol.SettleCancelled] != 2 || kinds[protocol.SettleDone] != 2 {
			t.Errorf("settled %v, want two cancelled and two done", kinds)
		}
		f.Enqueue("default", job("work"), "c", "d", "e")
		fixture.Pass(100 * time.Millisecond)
		for _, id := range []string{"c", "d", "e"} {
			f.Cancel(id)
		}
		fixture.Pass(time.Second)
		if len(causes) != 1 || !errors.Is(causes[0], chime.ErrCancelled) {
			t.Errorf("after all jobs of a call were cancelled its ctx ended with %v, want ErrCancelled", causes)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestAJobExpiresWhileItGathers(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		store := f.Hooked()
		e := job("work")
		e.Expires = time.Now().Add(time.Second)
		f.Enqueue("default", e, "a")
		f.Enqueue("default", job("work"), "b")
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
		w.HandleMany("work", chime.Many{Size: 3, Wait: 5 * time.Second}, log.handler(0, nil))
		stop := fixture.Start(w)
		fixture.Pass(10 * time.Second)
		if got := log.ids(); !slices.Equal(got, []string{"b"}) || store.Kinds()[protocol.SettleExpired] != 1 {
			t.Errorf("calls %q, settled %v; want b alone, and a expired", got, store.Kinds())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestUseManyWrapsManyHandlersOnly(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var order []string
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		outer := func(name string) func(chime.ManyHandler) chime.ManyHandler {
			return func(next chime.ManyHandler) chime.ManyHandler {
				return func(ctx context.Context, jobs []*chime.Job) error {
					order = append(order, name)
					if chime.JobFrom(ctx) != nil {
						t.Error("the ctx of a ManyHandler has a job")
					}
					return next(ctx, jobs)
				}
			}
		}
		w.UseMany(outer("1"), outer("2"))
		w.Use(func(next chime.Handler) chime.Handler {
			return func(ctx context.Context, job *chime.Job) error {
				order = append(order, "use")
				return next(ctx, job)
			}
		})
		w.HandleMany("many", chime.Many{Size: 2, Wait: time.Second}, func(context.Context, []*chime.Job) error { order = append(order, "many"); return nil })
		w.Handle("plain", func(context.Context, *chime.Job) error { order = append(order, "plain"); return nil })
		f.Enqueue("default", job("many"), "a", "b")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		f.Enqueue("default", job("plain"), "c")
		fixture.Pass(time.Second)
		if got := strings.Join(order, " "); got != "1 2 many use plain" {
			t.Errorf("called %s", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A job whose arguments cannot be decoded is dead; the handler gets the others, and what it returns concerns only these.
func TestKindHandleManyDiscardsWhatItCannotDecode(t *testing.T) {
	type page struct{ N int }
	bad := errors.New("bad")
	for _, test := range []struct {
		name string
		err  error
		want map[string]protocol.SettleKind
	}{
		{"nil", nil, map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleDone, "c": protocol.SettleDead}},
		{"an error", bad, map[string]protocol.SettleKind{"a": protocol.SettleLater, "b": protocol.SettleLater, "c": protocol.SettleDead}},
		{"each", chime.Each{"a": bad}, map[string]protocol.SettleKind{"a": protocol.SettleLater, "b": protocol.SettleDone, "c": protocol.SettleDead}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				kind := chime.Define[page]("many.page")
				store := f.Hooked()
				enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: fixture.Quiet()})
				items := []chime.Item{kind.Item(page{1}, chime.ID("a")), kind.Item(page{2}, chime.ID("b")), {Name: "many.page", Args: "text", Options: []chime.EnqueueOption{chime.ID("c")}}}
				if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
					t.Fatal(err)
				}
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
				kind.HandleMany(w, chime.Many{Size: 3, Wait: time.Second}, func(_ context.Context, jobs []*chime.Job, pages []page) error {
					if len(jobs) != len(pages) || jobs[0].Attempt == 1 && (idsOf(jobs) != "a b" || pages[0].N != 1 || pages[1].N != 2) {
						t.Errorf("got %s with %v", idsOf(jobs), pages)
					}
					if jobs[0].Attempt > 1 {
						return nil
					}
					return test.err
				})
				stop := fixture.Start(w)
				fixture.Pass(500 * time.Millisecond)
				settled := map[string]protocol.SettleKind{}
				for _, s := range store.Settled() {
					settled[s.ID] = s.Kind
				}
				if !maps.Equal(settled, test.want) {
					t.Errorf("settled %v, want %v", settled, test.want)
				}
				fixture.Pass(time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
				f.CheckEmpty()
			})
		})
	}
}

// Several jobs may share a handler, so at most all slots are busy.
func TestTheBusySlotsOfAWorkerWithCalls(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		w := f.Worker(chime.WorkerOptions{Concurrency: 2})
		w.HandleMany("work", chime.Many{Size: 10, Wait: time.Second}, log.handler(time.Minute, nil))
		plain := f.Worker(chime.WorkerOptions{Concurrency: 2, Queues: map[string]int{"other": 1}})
		plain.Handle("plain", func(context.Context, *chime.Job) error { return nil })
		stop, stopPlain := fixture.Start(w), fixture.Start(plain)
		f.Enqueue("default", job("work"), fixture.Names("j", 10)...)
		fixture.Pass(5 * time.Second)
		infos, err := chime.NewWorkers(f.Server.Store()).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			running, busy := 0, 0
			if info.Many {
				running, busy = 10, 2
			}
			if info.Many != (info.Queues["default"] > 0) || len(info.Running) != running || info.Busy != busy {
				t.Errorf("a worker of %v: Many %v, %d running jobs, %d busy slots", info.Queues, info.Many, len(info.Running), info.Busy)
			}
		}
		fixture.Pass(time.Minute)
		for _, stop := range []func() error{stop, stopPlain} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		f.CheckEmpty()
	})
}
