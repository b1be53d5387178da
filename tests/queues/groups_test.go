package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// An order is the jobs that have started, in order.
type order struct {
	mu  sync.Mutex
	ids []string
}

func (o *order) add(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = append(o.ids, id)
}

func (o *order) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.ids, " ")
}

// groups is a queue with groups under fake time.
type groups struct {
	*fixture.Fixture
	t        *testing.T
	enqueuer *chime.Enqueuer
	queues   *chime.Queues
	jobs     *chime.Jobs
}

func withGroups(t *testing.T, scenario func(t *testing.T, g *groups)) {
	t.Helper()
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		if _, err := store.Protocol().Partitions(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		scenario(t, &groups{f, t, chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()}), chime.NewQueues(store), chime.NewJobs(store)})
	})
}

// add enqueues jobs of a group, with their IDs.
func (g *groups) add(group string, ids ...string) {
	g.t.Helper()
	var items []chime.Item
	for _, id := range ids {
		items = append(items, chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.ID(id), chime.Group(group)}})
	}
	if _, err := g.enqueuer.EnqueueMany(g.t.Context(), items); err != nil {
		g.t.Fatal(err)
	}
}

func (g *groups) rule(group string, rule chime.GroupRule) {
	g.t.Helper()
	if err := g.queues.SetGroup(g.t.Context(), "default", group, rule); err != nil {
		g.t.Fatal(err)
	}
}

// work runs a worker with a handler.
func (g *groups) work(concurrency int, handler func(ctx context.Context, job *chime.Job) error, options ...chime.HandlerOption) (stop func()) {
	w := g.Worker(chime.WorkerOptions{Concurrency: concurrency})
	w.Handle("work", handler, options...)
	stopped := fixture.Start(w)
	return func() {
		if err := stopped(); err != nil {
			g.t.Error(err)
		}
	}
}

// list describes the groups of the queue.
func (g *groups) list(filter chime.GroupFilter) string {
	g.t.Helper()
	var all []string
	for group, err := range g.queues.Groups(g.t.Context(), "default", filter) {
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s:%d/%d", group.Key, group.Waiting, group.Running))
	}
	return strings.Join(all, " ")
}

// A tenant with thousands of jobs does not delay one that comes later with a single job.
func TestAFloodOfOneGroupDelaysNoOther(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		g.add("flood", fixture.Names("flood", 2000)...)
		var started order
		stop := g.work(4, func(_ context.Context, job *chime.Job) error {
			if job.Group != "flood" {
				started.add(job.Group)
			}
			<-time.After(time.Second)
			return nil
		})
		fixture.Pass(10 * time.Second)
		g.add("late", "late")
		fixture.Pass(2 * time.Second)
		if started.String() != "late" {
			t.Errorf("within 2 s started %q, want the job of the other group", started.String())
		}
		if list := g.list(chime.GroupFilter{Waiting: true}); !strings.HasPrefix(list, "flood:19") {
			t.Errorf("groups %q, want one with more than 1,900 jobs", list)
		}
		stop()
	})
}

// Weights share the slots of a worker.
func TestWeightsShareTheSlots(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		g.rule("more", chime.GroupRule{Weight: 3})
		g.add("more", fixture.Names("more", 400)...)
		g.add("less", fixture.Names("less", 400)...)
		var mu sync.Mutex
		counts := map[string]int{}
		stop := g.work(8, func(_ context.Context, job *chime.Job) error {
			mu.Lock()
			counts[job.Group]++
			mu.Unlock()
			<-time.After(time.Second)
			return nil
		})
		fixture.Pass(40 * time.Second)
		mu.Lock()
		more, less := counts["more"], counts["less"]
		mu.Unlock()
		if ratio := float64(more) / float64(less); ratio < 2.7 || ratio > 3.3 {
			t.Errorf("%d and %d have started, want three to one", more, less)
		}
		stop()
	})
}

// A limit of a group holds over all workers, and the other groups do not notice it.
func TestALimitOfAGroupHoldsForThatGroup(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		if err := g.queues.SetGroups(t.Context(), "default", chime.GroupRule{Running: 2}); err != nil {
			t.Fatal(err)
		}
		g.rule("free", chime.GroupRule{Running: chime.NoLimit})
		g.add("tight", fixture.Names("tight", 20)...)
		g.add("free", fixture.Names("free", 20)...)
		tight, free := new(atOnce), new(atOnce)
		handle := func(ctx context.Context, job *chime.Job) error {
			if job.Group == "tight" {
				return tight.hold(ctx, time.Second)
			}
			return free.hold(ctx, time.Second)
		}
		stop, stopOther := g.work(6, handle), g.work(6, handle)
		fixture.Pass(30 * time.Second)
		if tight.highest() != 2 || free.highest() < 8 || tight.ended() != 20 || free.ended() != 20 {
			t.Errorf("at most %d and %d ran at once, %d and %d have ended; want 2 and more than 8, 20 and 20", tight.highest(), free.highest(), tight.ended(), free.ended())
		}
		stop()
		stopOther()
	})
}

// The rate of a group holds: the next jobs start when the period is over, without a poll by a person.
func TestTheRateOfAGroupHolds(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		g.rule("slow", chime.GroupRule{Starts: 2, Per: time.Minute})
		g.add("slow", fixture.Names("slow", 5)...)
		var a atOnce
		stop := g.work(10, func(ctx context.Context, _ *chime.Job) error { return a.hold(ctx, time.Millisecond) })
		for _, want := range []int{2, 4, 4, 5, 5} {
			fixture.Pass(31 * time.Second)
			if n := a.begun(); n != want {
				t.Errorf("%d have begun, want %d", n, want)
			}
		}
		stop()
	})
}

// In an ordered group the next job starts when the one before has ended for good, also if that fails and waits for its next attempt.
func TestAnOrderedGroupStartsOneAfterTheOther(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		if err := g.queues.SetGroups(t.Context(), "default", chime.GroupRule{Ordered: chime.On}); err != nil {
			t.Fatal(err)
		}
		g.add("a", "a1", "a2", "a3")
		g.add("b", "b1", "b2")
		var started order
		failed := false
		stop := g.work(10, func(_ context.Context, job *chime.Job) error {
			started.add(fmt.Sprintf("%s/%d", job.ID, job.Attempt))
			if job.ID == "a1" && !failed {
				failed = true
				return errors.New("not yet")
			}
			<-time.After(100 * time.Millisecond)
			return nil
		}, chime.Retry(chime.Fixed(time.Minute)))
		fixture.Pass(10 * time.Second)
		if got := started.String(); strings.Contains(got, "a2") || !strings.Contains(got, "b2") {
			t.Errorf("started %q, want a2 to wait for the retry of a1, and b to continue", got)
		}
		for group := range g.queues.Groups(t.Context(), "default", chime.GroupFilter{Waiting: true}) {
			if group.Key != "a" || group.Blocked != chime.GroupOrdered || group.By != "a1" || group.Oldest != "a2" {
				t.Errorf("%+v, want that a1 blocks the group a", group)
			}
		}
		fixture.Pass(2 * time.Minute)
		got := slices.DeleteFunc(strings.Fields(started.String()), func(id string) bool { return id[0] == 'b' })
		if strings.Join(got, " ") != "a1/1 a1/2 a2/1 a3/1" {
			t.Errorf("of a started %q", got)
		}
		stop()
	})
}

// The counts of the groups of a queue: jobs in each state, groups that may start a job, and rules.
func TestTheGroupsOfAQueueAreCounted(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		count := func(when string, want chime.GroupCounts) {
			t.Helper()
			if info, err := g.queues.Get(t.Context(), "default"); err != nil || info.Groups != want {
				t.Errorf("%s: got %+v, %v; want %+v", when, info.Groups, err, want)
			}
		}
		count("before", chime.GroupCounts{})
		g.add("a", "a1", "a2", "a3")
		g.add("b", "b1")
		count("two groups", chime.GroupCounts{Jobs: 4, Waiting: 4, MayStart: 2})
		rule := chime.GroupRule{Running: 1, Starts: 100, Per: time.Minute}
		if err := g.queues.SetGroups(t.Context(), "default", rule); err != nil {
			t.Fatal(err)
		}
		count("a rule", chime.GroupCounts{Jobs: 4, Waiting: 4, MayStart: 2, Rules: 1, Rule: rule})
		if err := g.queues.PauseGroup(t.Context(), "default", "b"); err != nil {
			t.Fatal(err)
		}
		count("a pause", chime.GroupCounts{Jobs: 4, Waiting: 4, MayStart: 1, Rules: 2, Rule: rule})
		ends := make(chan struct{})
		stop := g.work(5, func(context.Context, *chime.Job) error { <-ends; return nil })
		fixture.Pass(time.Second)
		count("one runs", chime.GroupCounts{Jobs: 4, Waiting: 3, Rules: 2, Rule: rule})
		err := errors.Join(g.queues.PauseGroup(t.Context(), "default", "a"), g.queues.SetGroups(t.Context(), "default", chime.GroupRule{}))
		close(ends)
		stop()
		if err != nil {
			t.Fatal(err)
		}
		count("only pauses", chime.GroupCounts{Jobs: 3, Waiting: 3, Rules: 2})
	})
}

// A paused group starts nothing, and keeps its rule; a group that is reset keeps its pause.
func TestAPauseOfAGroupAndItsRule(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		ctx := t.Context()
		g.rule("a", chime.GroupRule{Weight: 5, Running: 10})
		began := time.Now()
		g.add("a", "a1", "a2")
		g.add("b", "b1")
		if err := g.queues.PauseGroup(ctx, "default", "a", chime.Note{Text: "why", By: "anna"}); err != nil {
			t.Fatal(err)
		}
		var started order
		stop := g.work(5, func(_ context.Context, job *chime.Job) error { started.add(job.ID); return nil })
		fixture.Pass(20 * time.Second)
		if started.String() != "b1" {
			t.Errorf("started %q, want b1 alone", started.String())
		}
		find := func() *chime.GroupInfo {
			for group := range g.queues.Groups(ctx, "default", chime.GroupFilter{Paused: true}) {
				return group
			}
			return &chime.GroupInfo{}
		}
		if a := find(); a.Key != "a" || a.Note.Text != "why" || a.Own != (chime.GroupRule{Weight: 5, Running: 10}) || a.Waiting != 2 || a.Blocked != chime.GroupPaused || a.Oldest != "a1" {
			t.Errorf("%+v", a)
		}
		if a, err := g.queues.Group(ctx, "default", "a"); err != nil || a.Key != "a" || a.Note.Text != "why" || a.Own.Weight != 5 || a.Waiting != 2 || a.Blocked != chime.GroupPaused || a.Next != "" {
			t.Errorf("one group: %+v, %v", a, err)
		}
		if a := find(); !a.OldestSince.Equal(began) { // the year of fake time is 2000
			t.Errorf("the oldest waits since %v, want %v", a.OldestSince, began)
		}
		if a, err := g.queues.Group(ctx, "default", "unknown"); err != nil || a.Key != "unknown" || a.Waiting != 0 || a.Effective.Weight != 1 {
			t.Errorf("an unknown group: %+v, %v", a, err)
		}
		if _, err := g.queues.Group(ctx, "none", "a"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unknown queue: %v, want ErrNotFound", err)
		}
		if err := g.queues.ResetGroup(ctx, "default", "a"); err != nil {
			t.Fatal(err)
		}
		if a := find(); a.Key != "a" || a.Own != (chime.GroupRule{}) || a.Note.By != "anna" {
			t.Errorf("reset: %+v", a)
		}
		if err := g.queues.ResumeGroup(ctx, "default", "a"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Second)
		if started.String() != "b1 a1 a2" {
			t.Errorf("resumed: started %q", started.String())
		}
		if list := g.list(chime.GroupFilter{}); list != "" {
			t.Errorf("groups are left: %q", list)
		}
		stop()
	})
}

// A group that is full refuses jobs that are to run now, and the receipts show which ones.
func TestAFullGroupRefusesJobs(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		if err := g.queues.SetGroups(t.Context(), "default", chime.GroupRule{Waiting: 2}); err != nil {
			t.Fatal(err)
		}
		g.add("a", "a1")
		item := func(group, id string) chime.Item {
			return chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.ID(id), chime.Group(group)}}
		}
		receipts, err := g.enqueuer.EnqueueMany(t.Context(), []chime.Item{item("a", "a2"), item("a", "a3"), item("b", "b1"), item("a", "a1")})
		if !errors.Is(err, chime.ErrGroupFull) || receipts[0].Full || !receipts[1].Full || receipts[2].Full || !receipts[3].Existing {
			t.Errorf("%+v, %v", receipts, err)
		}
		receipt, err := g.enqueuer.Enqueue(t.Context(), "work", nil, chime.Group("a"))
		if !errors.Is(err, chime.ErrGroupFull) || !receipt.Full {
			t.Errorf("%+v, %v; want ErrGroupFull", receipt, err)
		}
		replacing := func(id string) chime.Item {
			return chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.ID(id), chime.Group("a"), chime.Replace()}}
		}
		receipts, err = g.enqueuer.EnqueueMany(t.Context(), []chime.Item{replacing("a8"), replacing("a1"), replacing("a9")})
		if !errors.Is(err, chime.ErrGroupFull) || !receipts[0].Full || receipts[1].Full || !receipts[1].Replaced || !receipts[2].Full {
			t.Errorf("with Replace %+v, %v; want that new jobs are refused, and an existing one is replaced", receipts, err)
		}
		receipt, err = g.enqueuer.Enqueue(t.Context(), "work", nil, replacing("a8").Options...)
		if !errors.Is(err, chime.ErrGroupFull) || !receipt.Full {
			t.Errorf("with Replace %+v, %v; want ErrGroupFull", receipt, err)
		}
		if list := g.list(chime.GroupFilter{}); list != "a:2/0 b:1/0" {
			t.Errorf("groups %q", list)
		}
		stop := g.work(5, func(context.Context, *chime.Job) error { return nil })
		fixture.Pass(time.Second)
		g.add("a", "a3")
		fixture.Pass(time.Second)
		if s := g.Stats(); s.Done != 4 {
			t.Errorf("%d are done, want 4: what was refused is enqueued later", s.Done)
		}
		stop()
	})
}

// Jobs of one group are listed, requeued, deleted and purged, in every state, and those of others remain.
func TestJobsOfOneGroupAreChanged(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		ctx := t.Context()
		g.add("a", "a-dead", "a1", "a2", "a3")
		g.add("ab", "ab1")
		g.add("b", "b-dead", "b1")
		if _, err := g.enqueuer.Enqueue(ctx, "work", nil, chime.ID("plain")); err != nil {
			t.Fatal(err)
		}
		later := []chime.EnqueueOption{chime.ID("a-later"), chime.Group("a"), chime.In(time.Hour)}
		if _, err := g.enqueuer.Enqueue(ctx, "work", nil, later...); err != nil {
			t.Fatal(err)
		}
		ids := func(filter chime.JobFilter) string {
			var all []string
			filter.Queue = "default"
			for job, err := range g.jobs.List(ctx, filter) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, job.ID)
			}
			return strings.Join(all, " ")
		}
		want := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		want("waiting", ids(chime.JobFilter{State: chime.JobWaiting, Group: "a"}), "a-dead a1 a2 a3")
		want("one by one", ids(chime.JobFilter{State: chime.JobWaiting, Group: "a", Limit: 1}), "a-dead a1 a2 a3")
		want("delayed", ids(chime.JobFilter{State: chime.JobDelayed, Group: "a"}), "a-later")
		want("of another group", ids(chime.JobFilter{State: chime.JobDelayed, Group: "b"}), "")
		want("all waiting", ids(chime.JobFilter{State: chime.JobWaiting}), "plain a-dead a1 a2 a3 ab1 b-dead b1")
		job, err := g.jobs.Get(ctx, "default", "a2")
		if err != nil || job.Group != "a" {
			t.Errorf("%+v, %v; want its group", job, err)
		}
		change := func(what string, result chime.BulkResult, err error, changed int) {
			t.Helper()
			if err != nil || result.Changed != changed {
				t.Errorf("%s: %+v, %v; want %d changed", what, result, err, changed)
			}
		}
		if result, err := g.jobs.Cancel(ctx, "default", "a1"); err != nil || result != chime.CancelDone {
			t.Errorf("cancel: %v, %v", result, err)
		}
		result, err := g.jobs.Requeue(ctx, chime.JobFilter{Queue: "default", State: chime.JobDelayed, Group: "a"}, nil)
		change("requeue", result, err, 1)
		want("requeued", ids(chime.JobFilter{State: chime.JobWaiting, Group: "a"}), "a-later a-dead a2 a3")
		result, err = g.jobs.Delete(ctx, chime.JobFilter{Queue: "default", State: chime.JobWaiting, Group: "b"}, nil)
		change("delete", result, err, 2)
		result, err = g.queues.PurgeGroup(ctx, "default", "a", nil)
		change("purge", result, err, 4)
		want("left", ids(chime.JobFilter{State: chime.JobWaiting}), "plain ab1")
		want("groups", g.list(chime.GroupFilter{}), "ab:1/0")
	})
}

// A queue with several partitions refuses groups and their rules before anything is sent.
func TestAQueueWithPartitionsRefusesGroups(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := redisstore.New(f.Server.Client(), redisstore.Options{Partitions: map[string]int{"wide": 4}})
		queues, enqueuer := chime.NewQueues(store), chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()})
		if _, err := enqueuer.Enqueue(t.Context(), "work", nil, chime.Queue("wide")); err != nil {
			t.Fatal(err)
		}
		_, one := enqueuer.Enqueue(t.Context(), "work", nil, chime.Queue("wide"), chime.Group("a"))
		_, replaced := enqueuer.Enqueue(t.Context(), "work", nil, chime.Queue("wide"), chime.Group("a"), chime.ID("x"), chime.Replace())
		_, many := enqueuer.EnqueueMany(t.Context(), []chime.Item{
			{Name: "work", Options: []chime.EnqueueOption{chime.Queue("wide")}}, {Name: "work", Options: []chime.EnqueueOption{chime.Queue("wide"), chime.Group("a")}},
		})
		for what, err := range map[string]error{
			"enqueue": one, "replace": replaced, "enqueue many": many,
			"rule": queues.SetGroup(t.Context(), "wide", "a", chime.GroupRule{Weight: 2}), "rule of the queue": queues.SetGroups(t.Context(), "wide", chime.GroupRule{Weight: 2}),
			"pause": queues.PauseGroup(t.Context(), "wide", "a"),
		} {
			if !errors.Is(err, &chime.InvalidError{}) || !strings.Contains(err.Error(), "4 partitions") {
				t.Errorf("%s: %v, want an InvalidError that has the number of partitions", what, err)
			}
		}
		if info, err := queues.Get(t.Context(), "wide"); err != nil || info.Waiting != 1 {
			t.Errorf("%+v, %v; want one job", info, err)
		}
		if err := queues.SetGroup(t.Context(), "unknown", "a", chime.GroupRule{Weight: 2}); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("the rule of a group of an unknown queue: %v, want ErrNotFound", err)
		}
	})
}

func TestARuleOfAGroupIsReadAsItIsWritten(t *testing.T) {
	for text, rule := range map[string]chime.GroupRule{
		`{}`: {},
		`{"weight":5,"running":1,"starts":10,"ordered":"on","waiting":7,"per_ms":60000}`: {Weight: 5, Running: 1, Starts: 10, Per: time.Minute, Ordered: chime.On, Waiting: 7},
		`{"running":-1,"ordered":"off"}`:                                                 {Running: chime.NoLimit, Ordered: chime.Off},
	} {
		written, err := json.Marshal(rule)
		if err != nil || string(written) != text {
			t.Errorf("%+v is written as %s, %v; want %s", rule, written, err, text)
		}
		var read chime.GroupRule
		if err := json.Unmarshal([]byte(text), &read); err != nil || read != rule {
			t.Errorf("%s is read as %+v, %v", text, read, err)
		}
	}
	for _, text := range []string{`{"ordered":"yes"}`, `{"per_ms":-1}`, `{"per_ms":2592000001}`} {
		var read chime.GroupRule
		if err := json.Unmarshal([]byte(text), &read); !errors.Is(err, &chime.InvalidError{}) {
			t.Errorf("%s is read as %+v, %v; want an InvalidError", text, read, err)
		}
	}
}
