package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
)

// patience is how long an act waits for the store.
const patience = 30 * time.Second

// act carries out an act in the background. Nothing happens if its process is down.
func (w *World) act(i int) {
	act := w.plan.Acts[i]
	of := w.actors[act.By]
	if of == nil || of.live == nil {
		return
	}
	l := of.live
	w.acts.Add(1)
	w.tasks.Go(func() {
		defer w.acts.Done()
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		defer cancel()
		c := &call{life: l, world: w, number: i, done: &Done{Act: act, Begun: time.Now()}}
		w.history.note(func() { w.history.Acts = append(w.history.Acts, c.done) })
		err := c.run(ctx)
		w.history.note(func() { c.done.Ended, c.done.Err = time.Now(), err })
		if err != nil && c.unexpected(err) {
			w.history.problem(refused, "%s of %s: %v", act.Do, act.By, err)
		}
	})
}

// A call carries out one act.
type call struct {
	life   *life
	world  *World
	number int // of the act
	done   *Done
}

// unexpected reports whether an act may not fail in this way: no fault has concerned its process.
func (c *call) unexpected(err error) bool {
	conflict := &chime.ConflictError{}
	if errors.Is(err, chime.ErrNotFound) || errors.Is(err, chime.ErrConflict) || errors.As(err, &conflict) || errors.Is(err, chime.ErrGroupFull) || c.life.ctx.Err() != nil {
		return false
	}
	from, found := c.done.Begun.Add(-5*time.Second), false
	c.world.history.note(func() {
		for _, f := range c.world.history.Faults {
			found = found || f.concerns(c.done.By) && f.reaches(from, time.Now()) || f.Kind == GoBack
		}
	})
	return !found
}

// reaches reports whether the fault was active in a span.
func (f *Happened) reaches(from, to time.Time) bool {
	return !f.From.After(to) && (f.To.IsZero() || !f.To.Before(from))
}

func (c *call) run(ctx context.Context) error {
	store, name, n := c.life.store, c.done.Name, c.done.N
	jobs, queues, schedules := chime.NewJobs(store), chime.NewQueues(store), chime.NewSchedules(store)
	switch c.done.Do {
	case Enqueue, EnqueueLater, EnqueueGroup, Follow:
		return c.enqueue(ctx)
	case EnqueueOnce:
		return c.enqueueOnce(ctx)
	case AddBatch:
		return c.addBatch(ctx)
	case CancelBatch:
		return c.cancelBatch(ctx)
	case Cancel:
		return c.cancel(ctx, jobs)
	case DeleteJobs:
		return c.deleteJobs(ctx, jobs)
	case Requeue:
		result, err := jobs.Requeue(ctx, chime.JobFilter{Queue: name, State: chime.JobDead}, nil)
		c.result("%d changed", result.Changed)
		return err
	case Purge:
		result, err := queues.Purge(ctx, name, name, nil)
		c.result("%d changed", result.Changed)
		return err
	case Limit:
		return queues.Limit(ctx, name, chime.Limit{Running: n})
	case PauseQueue:
		return queues.Pause(ctx, name)
	case ResumeQueue:
		return queues.Resume(ctx, name)
	case RuleGroup:
		return queues.SetGroup(ctx, queueGroups, name, ruleOf(name, n))
	case PauseGroup:
		return queues.PauseGroup(ctx, queueGroups, name)
	case ResumeGroup:
		return queues.ResumeGroup(ctx, queueGroups, name)
	case Put:
		return c.put(ctx, schedules, n, "")
	case Move:
		return c.put(ctx, schedules, 20, []string{queueA, queueB}[n%2])
	case Pause:
		return schedules.Pause(ctx, name)
	case Resume:
		return schedules.Resume(ctx, name)
	case Delete:
		return schedules.Delete(ctx, name)
	case Trigger:
		receipt, err := schedules.Trigger(ctx, name, chime.ID(fmt.Sprintf("manual-%d", c.number)))
		c.done.Key, c.done.Queue = receipt.ID, receipt.Queue
		c.result("%s", receipt.ID)
		return err
	case Backfill:
		to := time.Now().UTC().Truncate(time.Second)
		c.done.From = to.Add(-time.Duration(n) * time.Second)
		filled, err := schedules.Backfill(ctx, name, c.done.From, to)
		c.result("%d placed", filled.Placed)
		return err
	case Repair:
		report, err := chime.Verify(ctx, store, chime.VerifyOptions{Repair: true})
		if report != nil {
			c.result("%d findings", report.Total)
		}
		return err
	case Read:
		c.read(ctx)
	}
	return nil
}

func (c *call) result(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.world.history.note(func() { c.done.Result = text })
}

// put puts a schedule, on a queue unless that is empty.
func (c *call) put(ctx context.Context, schedules *chime.Schedules, seconds int, queue string) error {
	overlap := chime.OverlapPolicy(strings.TrimPrefix(c.done.Name, "x-"))
	if overlap == "cancel" {
		overlap = chime.OverlapCancel
	}
	options := []chime.PutOption{chime.JobName(tickName), chime.Overlap(overlap), chime.MaxAttempts(maxAttempts), chime.Grace(5 * time.Second)}
	if queue == "" {
		queue = queueA
		if s, err := schedules.Get(ctx, c.done.Name); err == nil {
			queue = s.Queue
		}
	}
	c.done.Queue = queue
	_, err := schedules.Put(ctx, c.done.Name, c.world.every(seconds), append(options, chime.Queue(queue))...)
	return err
}

// ruleOf returns the rule of a group.
func ruleOf(name string, weight int) chime.GroupRule {
	for _, g := range groups {
		if g.name == name {
			rule := chime.GroupRule{Weight: max(weight, 1)}
			if g.ordered {
				rule.Ordered = chime.On
			} else {
				rule.Running = g.running
			}
			return rule
		}
	}
	return chime.GroupRule{}
}

// enqueue adds jobs. If the outcome is unknown, it repeats the call with the IDs of the receipts, as the documentation says.
func (c *call) enqueue(ctx context.Context) error {
	queue, group := c.done.Name, ""
	if c.done.Do == EnqueueGroup {
		queue, group = queueGroups, c.done.Name
	}
	items := make([]chime.Item, c.done.N)
	keys := make([]string, len(items))
	for i := range items {
		keys[i] = fmt.Sprintf("e%d/%d", c.number, i)
		options := []chime.EnqueueOption{chime.Queue(queue), chime.MaxAttempts(maxAttempts)}
		if group != "" {
			options = append(options, chime.Group(group))
		}
		if c.number%2 == 0 {
			options = append(options, chime.ID(keys[i]))
		}
		if c.done.Do == EnqueueLater {
			options = append(options, chime.In(time.Duration(c.number%20)*time.Second))
		}
		if c.done.Do == Follow {
			target := queueA
			if i%2 == 0 {
				target = queueB
			}
			options = append(options, chime.OnDone(chime.Item{Name: nextName, Args: keys[i], Options: []chime.EnqueueOption{chime.Queue(target), chime.MaxAttempts(maxAttempts)}}))
		}
		items[i] = chime.Item{Name: jobName, Args: keys[i], Options: options}
	}
	c.done.Queue, c.done.Keys = queue, fmt.Sprintf("e%d/", c.number)
	c.world.history.note(func() {
		for _, key := range keys {
			j := c.world.history.job(key)
			j.Queue, j.Group, j.Offered, j.Asked = queue, group, time.Now(), 1
		}
	})
	var receipts []chime.Receipt
	var err error
	for try := range 3 {
		receipts, err = c.life.enqueuer.EnqueueMany(ctx, items)
		if err == nil || ctx.Err() != nil || errors.Is(err, chime.ErrGroupFull) {
			break
		}
		for i, r := range receipts {
			items[i].Options = append(slices.Clone(items[i].Options), chime.ID(r.ID)) // the last ID counts
		}
		c.result("repeated %d times", try+1)
		c.world.history.note(func() {
			for _, key := range keys {
				c.world.history.job(key).Asked++
			}
		})
	}
	c.world.history.note(func() {
		for i, r := range receipts {
			j := c.world.history.job(keys[i])
			if j.ID = r.ID; err == nil {
				j.Accepted, j.Times = time.Now(), 1
			}
		}
	})
	return err
}

// enqueueOnce adds a job with an ID of few.
func (c *call) enqueueOnce(ctx context.Context) error {
	key := fmt.Sprintf("once-%d-%s-%d", c.done.At/day, c.done.Name, c.done.N) // the ID is free again an hour later
	c.done.Key, c.done.Queue = key, c.done.Name
	c.world.history.note(func() {
		j := c.world.history.job(key)
		j.Asked++
		if j.Queue, j.ID = c.done.Name, key; j.Offered.IsZero() {
			j.Offered = time.Now()
		}
	})
	receipt, err := c.life.enqueuer.Enqueue(ctx, jobName, key, chime.Queue(c.done.Name), chime.MaxAttempts(maxAttempts), chime.ID(key), chime.Once(time.Hour))
	if err == nil {
		c.result("existing %v", receipt.Existing)
		c.world.history.note(func() {
			j := c.world.history.job(key)
			if j.Accepted.IsZero() {
				j.Accepted = time.Now()
			}
			if !receipt.Existing {
				j.Times++
			}
		})
	}
	return err
}

// recent returns the n-th job before the last one that an act has enqueued and whose ID is known.
func (c *call) recent(n int) (found *Job, copied Job) {
	c.world.history.note(func() {
		var all []*Job
		for _, j := range c.world.history.Jobs {
			if !j.Offered.IsZero() && j.ID != "" && j.Times == 1 && j.Asked == 1 {
				all = append(all, j)
			}
		}
		slices.SortFunc(all, func(a, b *Job) int {
			if order := b.Offered.Compare(a.Offered); order != 0 {
				return order
			}
			return strings.Compare(a.Key, b.Key)
		})
		if n < len(all) {
			found, copied = all[n], *all[n]
		}
	})
	return found, copied
}

func (c *call) cancel(ctx context.Context, jobs *chime.Jobs) error {
	found, j := c.recent(c.done.N)
	if found == nil {
		return nil
	}
	c.done.Key, c.done.ID, c.done.Queue = j.Key, j.ID, j.Queue
	result, err := jobs.Cancel(ctx, j.Queue, j.ID)
	c.result("%s", result)
	return err
}

func (c *call) deleteJobs(ctx context.Context, jobs *chime.Jobs) error {
	found, j := c.recent(c.done.N)
	if found == nil {
		return nil
	}
	c.done.Key, c.done.ID, c.done.Queue = j.Key, j.ID, j.Queue
	result, err := jobs.Delete(ctx, chime.JobFilter{Queue: j.Queue, IDs: []string{j.ID}}, nil)
	c.result("%d changed", result.Changed)
	return err
}

// read reads the pages of the dashboard.
func (c *call) read(ctx context.Context) {
	d := dashboard.New(c.life.store, dashboard.Options{Logger: c.world.discard()})
	defer d.Close()
	for _, path := range []string{"/", "/queues", "/queues/" + queueA, "/queues/" + queueGroups, "/schedules", "/jobs?queue=" + queueB + "&state=dead", "/failures", "/workers"} {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
		request.RemoteAddr = "127.0.0.1:1"
		response := httptest.NewRecorder()
		d.ServeHTTP(response, request)
		c.result("%s: %d", path, response.Code)
	}
}
