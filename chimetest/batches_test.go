package chimetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// Members, what a batch grows by, and the jobs at its end run within one Advance, without waiting for a report.
func TestABatchEndsWithinOneAdvance(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, batches := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewBatches(c.Store())
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		var at *chime.BatchInfo
		worker.Handle("grow", func(ctx context.Context, job *chime.Job) error {
			_, err := enqueuer.Enqueue(ctx, "member", nil, chime.InBatch(job))
			return err
		})
		worker.Handle("member", func(context.Context, *chime.Job) error { return nil })
		worker.Handle("done", func(_ context.Context, job *chime.Job) error {
			at = job.BatchInfo
			return nil
		})
		if _, err := enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "x", Done: chime.Item{Name: "done"}, Items: func(yield func(chime.Item, error) bool) {
			_ = yield(chime.Item{Name: "grow"}, nil) && yield(chime.Item{Name: "member", Options: []chime.EnqueueOption{chime.In(time.Hour)}}, nil)
		}}); err != nil {
			t.Fatal(err)
		}
		c.Start(worker)
		c.Advance(time.Hour)
		if info, err := batches.Get(t.Context(), "x"); err != nil || info.State != chime.BatchDone || info.Total != 3 {
			t.Errorf("%+v, %v", info, err)
		}
		if at == nil || at.Done != 3 || at.EndedAt.Sub(at.CreatedAt) < time.Hour || at.EndedAt.Sub(at.CreatedAt) > time.Hour+time.Second {
			t.Errorf("Done had %+v", at)
		}
	})
}

// A handler of a member, or of Done, is tested alone.
func TestAHandlerOfABatchAlone(t *testing.T) {
	job := chimetest.NewJob(t, chime.Item{Name: "done"})
	job.BatchInfo = &chime.BatchInfo{ID: "x", State: chime.BatchDone, Done: 7}
	worked := chimetest.Work(t, func(_ context.Context, job *chime.Job) error { return job.Return(job.BatchInfo.Done) }, job)
	var n int64
	if err := chime.Decode(worked.Value, &n); err != nil || n != 7 {
		t.Errorf("returned %d, %v", n, err)
	}
	member := chimetest.NewJob(t, chime.Item{Name: "member"})
	member.Batch = "x"
	worked = chimetest.Work(t, func(_ context.Context, job *chime.Job) error {
		if grown := chimetest.NewJob(t, chime.Item{Name: "member", Options: []chime.EnqueueOption{chime.InBatch(job)}}); grown.Batch != "x" {
			return errors.New("it is in batch " + grown.Batch)
		}
		return nil
	}, member)
	if worked.Err != nil {
		t.Error(worked.Err)
	}
}

// While nothing happens, nothing is asked about a batch that has ended, until it is forgotten after a day.
func TestAnEndedBatchDoesNotEndTheQuiet(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle("member", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker, chime.NewScheduler(c.Store(), chime.SchedulerOptions{}))
		if _, err := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}).EnqueueBatch(t.Context(), chime.Batch{ID: "x", Items: func(yield func(chime.Item, error) bool) {
			yield(chime.Item{Name: "member"}, nil)
		}}); err != nil {
			t.Fatal(err)
		}
		c.Advance(48 * time.Hour)
		if _, err := chime.NewBatches(c.Store()).Get(t.Context(), "x"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("two days later: %v, want that it was forgotten after a day", err)
		}
	})
}
