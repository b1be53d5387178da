package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

// A batch is tasks that belong together. As of a task, the API keeps nothing of it: its ID contains the collection and the collection's creation.

// AddBatch adds a batch with its tasks: all of them, or after a problem none. After an error of the store it may be open, with some of its tasks: the same call
// with its ID adds the others.
func (s *Service) AddBatch(ctx context.Context, name string, b *resource.Batch) (*resource.BatchView, error) {
	c, limits, err := s.taskCollection(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case c.State == collection.Deleted:
		return nil, deleting(name)
	case c.State == collection.Disabled:
		return nil, problem.New(problem.CollectionDisabled, "collection %s is disabled and takes no tasks: enable the collection first", name)
	}
	id := taskid.BatchID{Collection: name, Creation: c.Creation, Batch: cmp.Or(b.ID, strings.ToLower(rand.Text()))}
	adding := taskAddition{service: s, collection: c, limits: limits, queue: s.queueOf(limits), batch: id.Batch, alone: len(b.Tasks) == 1,
		permitted: map[[2]string]bool{}, grouped: map[string]bool{}, held: map[heldTask]int64{}}
	batch := chime.Batch{ID: id.String(), Note: b.Note, Keep: b.Keep, DoneWithoutCancelled: b.DoneWithoutCancelled}
	items, err := adding.items(ctx, b.Tasks)
	if err == nil {
		batch.Done, err = adding.follower(ctx, b.Done)
	}
	if err == nil {
		batch.Ended, err = adding.follower(ctx, b.Ended)
	}
	if err == nil {
		err = s.makeUse(ctx, c, 0, adding.held)
	}
	if err != nil {
		return nil, err
	}
	batch.Items = func(yield func(chime.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
	receipt, err := s.enqueuer.EnqueueBatch(ctx, batch)
	switch {
	case errors.Is(err, chime.ErrConflict):
		return nil, problem.New(problem.BatchState, "batch %s of collection %s exists with other tasks or fields, or was cancelled", id.Batch, name)
	case err != nil:
		return nil, tasksRefused(err)
	}
	v, err := s.GetBatch(ctx, resource.BatchName{Collection: name, Batch: id.Batch})
	if err == nil {
		v.Repeated = receipt.Repeated
	}
	return v, err
}

// follower is the item of a job that follows a batch; the zero Item: no job follows it.
func (t *taskAddition) follower(ctx context.Context, task *resource.Task) (chime.Item, error) {
	if task == nil {
		return chime.Item{}, nil
	}
	if mistakes := t.prepare(ctx, task); len(mistakes) > 0 {
		return chime.Item{}, problem.Invalid(mistakes)
	}
	if err := t.check(ctx, task); err != nil {
		return chime.Item{}, at(task.Prefix, err)
	}
	item, err := task.Action.Item()
	if err != nil {
		return chime.Item{}, err
	}
	item.Options = []chime.EnqueueOption{chime.Queue(cmp.Or(targetQueue(task.Action), t.queue))}
	for _, option := range inGroup(t.group(task)) {
		item.Options = append(item.Options, option)
	}
	return item, nil
}

// batchID is the ID of a batch, which need not exist.
func (s *Service) batchID(ctx context.Context, n resource.BatchName) (string, error) {
	c, err := s.collection(ctx, n.Collection)
	if err != nil {
		return "", err
	}
	return taskid.BatchID{Collection: c.Name, Creation: c.Creation, Batch: n.Batch}.String(), nil
}

// onBatch calls act with the ID of a batch. A batch that does not exist is a problem.
func (s *Service) onBatch(ctx context.Context, n resource.BatchName, act func(id string) (*chime.BatchInfo, error)) (*resource.BatchView, error) {
	id, err := s.batchID(ctx, n)
	if err != nil {
		return nil, err
	}
	info, err := act(id)
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return nil, problem.New(problem.NotFound, "there is no batch %s of collection %s: it ended longer ago than it is kept, or it was never added", n.Batch, n.Collection)
	case err != nil:
		return nil, err
	}
	return batchView(n.Batch, info), nil
}

// GetBatch returns a batch.
func (s *Service) GetBatch(ctx context.Context, n resource.BatchName) (*resource.BatchView, error) {
	return s.onBatch(ctx, n, func(id string) (*chime.BatchInfo, error) { return s.batches.Get(ctx, id) })
}

// CancelBatch cancels a batch that has not ended. What an error of the store leaves undone, workers and schedulers do.
func (s *Service) CancelBatch(ctx context.Context, n resource.BatchName) (*resource.BatchView, error) {
	v, err := s.onBatch(ctx, n, func(id string) (*chime.BatchInfo, error) { return s.batches.Cancel(ctx, id) })
	if errors.Is(err, chime.ErrConflict) {
		return nil, problem.New(problem.BatchState, "batch %s of collection %s has ended", n.Batch, n.Collection)
	}
	return v, err
}

// DeleteBatch removes the record of a batch that has ended, and reports whether there was one.
func (s *Service) DeleteBatch(ctx context.Context, n resource.BatchName) (existed bool, err error) {
	id, err := s.batchID(ctx, n)
	if p := (*problem.Problem)(nil); errors.As(err, &p) && p.Code == problem.NotFound {
		return false, nil
	}
	if err == nil {
		err = s.batches.Delete(ctx, id)
	}
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return false, nil
	case errors.Is(err, chime.ErrConflict):
		return false, problem.New(problem.BatchState, "batch %s of collection %s has not ended: cancel it first, or wait", n.Batch, n.Collection)
	}
	return err == nil, err
}

// ListBatches returns batches of a collection, the newest first, in a state; "": in any. It looks at 5,000 batches of all collections at most, and reads the records
// of its own ones, so a page may be short. next continues after it; empty: it is the last page.
func (s *Service) ListBatches(ctx context.Context, name, state string, skip, top int, after string) (found []*resource.BatchView, next string, err error) {
	c, err := s.collection(ctx, name)
	if err != nil {
		return nil, "", err
	}
	prefix := taskid.BatchID{Collection: c.Name, Creation: c.Creation}.String()
	page, err := s.batches.Page(ctx, chime.BatchFilter{Prefix: prefix, State: chime.BatchState(state), After: after, Limit: skip + top})
	if err != nil {
		return nil, "", err
	}
	for _, info := range page.Batches[min(skip, len(page.Batches)):] {
		if id, ok := taskid.ParseBatch(info.ID); ok {
			found = append(found, batchView(id.Batch, info))
		}
	}
	return found, page.Next, nil
}

func batchView(id string, b *chime.BatchInfo) *resource.BatchView {
	v := &resource.BatchView{
		ID: id, State: string(b.State), Note: b.Note, Total: b.Total, Existing: b.Existing, Left: b.Left, Done: b.Done, Dead: b.Dead, Cancelled: b.Cancelled,
		Created: b.CreatedAt, Sealed: b.SealedAt, Ended: b.EndedAt, DoneAdded: b.DoneAdded, DoneJob: b.DoneJob, EndedJob: b.EndedJob,
	}
	for _, q := range b.Queues {
		v.Queues = append(v.Queues, resource.BatchQueueView(q))
	}
	return v
}
