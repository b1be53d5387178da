package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// A Batch is what is known of a batch. Its members are the jobs that name it, and the jobs that follow these.
type Batch struct {
	ID       string
	Offered  time.Time
	Grows    bool      // members add members
	Complete time.Time // when a call returned that the batch is complete; zero: unknown
}

// The keys and the IDs of the jobs at the end of a batch.
func (b *Batch) ended() string { return protocol.BatchEndedID(b.ID) }
func (b *Batch) done() string  { return protocol.BatchDoneID(b.ID) }

// atEnd reports whether a key is that of a job at the end of a batch. If the home of the batch loses the end, it ends once more.
func atEnd(key string) bool {
	return strings.HasSuffix(key, protocol.BatchEndedID("")) || strings.HasSuffix(key, protocol.BatchDoneID(""))
}

// The queues of members, in turn, and of the jobs at the end.
var memberQueues = []string{queueA, queueB, queueLimited, queueGroups}

const (
	queueOfEnded = queueA
	queueOfDone  = queueB
)

// shapeChains is the shape of batches whose items are in one queue, and each of them is followed by a member in another queue. Nothing else brings members to that
// queue. The other batches have items in all queues, some of which are followed or add members.
const shapeChains = "chains"

// addBatch adds a batch: some members are followed by another member, and some add members while they run. If the call fails, it repeats it.
func (c *call) addBatch(ctx context.Context) error {
	b := &Batch{ID: fmt.Sprintf("b%d", c.number), Offered: time.Now()}
	items := make([]chime.Item, c.done.N)
	offered := make([]*Job, len(items))
	for i := range items {
		queue := memberQueues[(c.number+i)%len(memberQueues)]
		if c.done.Name == shapeChains {
			queue = queueA
		}
		options := []chime.EnqueueOption{chime.Queue(queue), chime.MaxAttempts(maxAttempts)}
		offered[i] = &Job{Key: fmt.Sprintf("%s/%d", b.ID, i), Queue: queue, Batch: b.ID, Offered: b.Offered, Asked: 1}
		if queue == queueGroups {
			offered[i].Group = groups[i%len(groups)].name
			options = append(options, chime.Group(offered[i].Group))
		}
		if i%3 == 1 || c.done.Name == shapeChains {
			follower := chime.Item{Name: nextName, Args: offered[i].Key, Options: []chime.EnqueueOption{chime.Queue(queueB), chime.MaxAttempts(maxAttempts), chime.SameBatch()}}
			options = append(options, chime.OnDone(follower))
		}
		items[i] = chime.Item{Name: jobName, Args: offered[i].Key, Options: options}
	}
	atEnd := func(key, queue string) chime.Item {
		offered = append(offered, &Job{Key: key, ID: key, Queue: queue, Offered: b.Offered, Asked: 1})
		return chime.Item{Name: jobName, Args: key, Options: []chime.EnqueueOption{chime.Queue(queue), chime.MaxAttempts(maxAttempts)}}
	}
	batch := chime.Batch{ID: b.ID, Ended: atEnd(b.ended(), queueOfEnded), Done: atEnd(b.done(), queueOfDone), Items: func(yield func(chime.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}}
	c.done.ID, c.done.Keys = b.ID, b.ID+"/"
	c.world.history.note(func() {
		b.Grows = c.done.Name != shapeChains
		c.world.history.Batches = append(c.world.history.Batches, b)
		for _, j := range offered {
			c.world.history.Jobs[j.Key] = j
		}
	})
	var err error
	for try := range 3 {
		if _, err = c.life.enqueuer.EnqueueBatch(ctx, batch); err == nil || ctx.Err() != nil {
			break
		}
		c.result("repeated %d times", try+1)
	}
	if err == nil {
		c.world.history.note(func() {
			b.complete(c.world.history)
			for _, j := range offered[:len(items)] {
				j.Accepted = time.Now()
			}
		})
	}
	return err
}

// complete records that the batch is complete. The lock is held.
func (b *Batch) complete(h *History) {
	b.Complete = time.Now()
	h.job(b.ended()).Accepted = b.Complete
}

// cancelBatch cancels one of the last batches.
func (c *call) cancelBatch(ctx context.Context) error {
	c.world.history.note(func() {
		if at := len(c.world.history.Batches) - 1 - c.done.N; at >= 0 {
			c.done.ID = c.world.history.Batches[at].ID
		}
	})
	if c.done.ID == "" {
		return nil
	}
	info, err := chime.NewBatches(c.life.store).Cancel(ctx, c.done.ID)
	if err == nil {
		c.result("%d left", info.Left)
	}
	return err
}

// grow adds two members to the batch of every fourth of its items. Each has an ID. A second attempt adds the members of every eighth item again, which have the same
// IDs; for other items each attempt adds members of its own.
func (l *life) grow(ctx context.Context, job *chime.Job, key string) error {
	var item int
	if n, _ := fmt.Sscanf(key, job.Batch+"/%d", &item); job.Batch == "" || n == 0 || item%4 != 0 || key != fmt.Sprintf("%s/%d", job.Batch, item) || !l.grows(job.Batch) {
		return nil
	}
	var items []chime.Item
	children := make([]string, 2)
	for i, queue := range []string{queueA, queueB} {
		child := fmt.Sprintf("%s/%d", key, i)
		if item%8 != 0 {
			child = fmt.Sprintf("%s/%d/%d", key, job.Fence, i)
		}
		children[i] = child
		items = append(items, chime.Item{Name: jobName, Args: child, Options: []chime.EnqueueOption{
			chime.InBatch(job), chime.ID(child), chime.Once(time.Hour), chime.Queue(queue), chime.MaxAttempts(maxAttempts),
		}})
		l.actor.world.history.note(func() {
			if j := l.actor.world.history.job(child); j.Offered.IsZero() {
				j.ID, j.Queue, j.Batch, j.Offered = child, queue, job.Batch, time.Now()
			}
		})
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := l.enqueuer.EnqueueMany(ctx, items); err != nil {
		return err
	}
	l.actor.world.history.note(func() {
		for _, child := range children {
			if j := l.actor.world.history.job(child); j.Accepted.IsZero() {
				j.Accepted = time.Now()
			}
		}
	})
	return nil
}

// grows reports whether the members of a batch may add members.
func (l *life) grows(batch string) (grows bool) {
	l.actor.world.history.note(func() {
		grows = slices.ContainsFunc(l.actor.world.history.Batches, func(b *Batch) bool { return b.ID == batch && b.Grows })
	})
	return grows
}

// seal completes the batches whose creator has not finished.
func (w *World) seal() {
	batches := chime.NewBatches(w.store)
	for info, err := range batches.List(context.Background(), chime.BatchFilter{InProgress: true}) {
		if err == nil && info.State == chime.BatchOpen {
			_, err = batches.Seal(context.Background(), info.ID)
		}
		if err != nil {
			w.history.problem(refused, "seal batches: %v", err)
			return
		}
		w.history.note(func() {
			for _, b := range w.history.Batches {
				if b.ID == info.ID {
					b.complete(w.history)
				}
			}
		})
	}
}

// openBatches describes the batches that have not ended.
func (w *World) openBatches() (left []string, err error) {
	for info, err := range chime.NewBatches(w.store).List(context.Background(), chime.BatchFilter{InProgress: true}) {
		if err != nil {
			return nil, err
		}
		left = append(left, fmt.Sprintf("batch %s (%s, %d of %d left)", info.ID, info.State, info.Left, info.Total))
	}
	return left, nil
}

// cancelledBatch reports whether an act may have cancelled a batch.
func (h *History) cancelledBatch(id string) bool {
	return id != "" && h.acted(time.Time{}, forever, func(d *Done) bool { return d.ID == id }, CancelBatch)
}

// checkBatches finds batches that ended before their last member, and those that are done although a member is not, or not done although all members are.
// That a batch never ended, or ended twice, is found as with every other job.
func (j *judgement) checkBatches() {
	if j.everBack() {
		return
	}
	for _, b := range j.Batches {
		members := j.members(b)
		if end := j.Jobs[b.ended()]; len(end.Begins) > 0 {
			at := slices.MinFunc(end.Begins, func(a, b Run) int { return a.Begun.Compare(b.Begun) }).Begun
			for _, m := range members {
				if !j.overBy(m, at) {
					j.found.add(early, "batch %s ended at %s before its member %s, which %s", b.ID, j.stamp(at), m.Key, j.ran(m))
				}
			}
		}
		dead := slices.ContainsFunc(members, func(m *Job) bool { return j.snapshot.dead[m.Queue+" "+m.ID] })
		done := !slices.ContainsFunc(members, func(m *Job) bool { return m.done() == 0 && (len(m.Begins) > 0 || !m.Accepted.IsZero()) })
		end := j.Jobs[b.done()]
		purged := j.acted(b.Offered, forever, func(*Done) bool { return true }, Purge)
		switch began := len(end.Begins) > 0 || j.snapshot.dead[end.Queue+" "+end.ID]; {
		case began && dead:
			j.found.add(early, "batch %s is done, and some of its members are dead", b.ID)
		case !began && done && !dead && !purged && !b.Complete.IsZero() && !j.cancelledBatch(b.ID):
			j.found.add(lost, "all members of batch %s are done, and its job Done never began", b.ID)
		}
	}
}

// members returns the members of a batch that are known, with the jobs that follow them.
func (j *judgement) members(b *Batch) (members []*Job) {
	for _, key := range slices.Sorted(maps.Keys(j.Jobs)) {
		if job := j.Jobs[key]; job.Batch == b.ID || strings.HasPrefix(key, b.ID+"/") {
			members = append(members, job)
		}
	}
	return members
}

// overBy reports whether a member had ended when the job at the end of its batch began: it was done, or no run of it was under way or began later. Runs that
// do not count are those of processes that have lost the job, those of a cancelled batch that were handed back, and those after the dead member was requeued.
func (j *judgement) overBy(m *Job, at time.Time) bool {
	for _, r := range m.Begins {
		if r.Outcome == OK && !r.Ended.After(at) {
			return true
		}
	}
	for _, r := range m.Begins {
		switch {
		case !r.Ended.IsZero() && !r.Ended.After(at):
		case r.Begun.After(at) && !j.requeued(m, at, r):
			return false
		case !r.Begun.After(at) && !j.troubled(r.Process, r.Begun, at) && !(j.cancelledBatch(m.Batch) && handedBack(r, at)):
			return false
		}
	}
	return true
}

// requeued reports whether a member may run although its batch has ended: it had run before, so that it may have been dead, and was requeued since. Or this is
// true of the item that the member follows, or that has added it.
func (j *judgement) requeued(m *Job, ended time.Time, next Run) bool {
	again := slices.ContainsFunc(m.Begins, func(r Run) bool {
		return !r.Begun.After(ended) && j.acted(r.Begun, next.Begun, func(d *Done) bool { return d.Name == r.Queue }, Requeue)
	})
	if item := j.Jobs[itemOf(m.Key)]; !again && item != nil && item != m {
		for _, r := range item.Begins {
			again = again || r.Begun.After(ended) && !r.Begun.After(next.Begun) && j.requeued(item, ended, r)
		}
	}
	return again
}

// itemOf returns the key of the item of a batch to which a member goes back: b1/2 of b1/2/0 and b1/2+x.
func itemOf(key string) string {
	batch, rest, _ := strings.Cut(key, "/")
	if at := strings.IndexAny(rest, "/+"); at >= 0 {
		rest = rest[:at]
	}
	return batch + "/" + rest
}
