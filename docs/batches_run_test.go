package docs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

func TestThePageOnBatchesShowsCodeThatRuns(t *testing.T) {
	shows(t, "batches.md", "batches_test.go", "batches_run_test.go")
}

// importsWorker handles the jobs of the page's imports. A line "bad" fails until repaired is true; a line "slow" takes a second.
func importsWorker(c *chimetest.Chime, repaired *bool) *chime.Worker {
	worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"imports": 1, "default": 1, "cpu": 1, "crawler": 1}, Concurrency: 4})
	ImportLine.Handle(worker, func(ctx context.Context, _ *chime.Job, line Line) error {
		switch {
		case line.Fields[0] == "bad" && !*repaired:
			return chime.Discard(errors.New("bad line"))
		case line.Fields[0] == "slow":
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	ImportDone.Handle(worker, importDone)
	RemoveUpload.Handle(worker, func(ctx context.Context, _ *chime.Job, name string) error {
		return post(ctx, "uploads", "removed "+name)
	})
	return worker
}

func TestAnImportWithASummary(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, batches, jobs := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewBatches(c.Store()), chime.NewJobs(c.Store())
		repaired := false
		receipt, err := startImport(t.Context(), enqueuer, "may", strings.NewReader("a,1\nbad,2\nc,3\n"))
		check(t, err)
		if receipt.ID != "import/may" {
			t.Errorf("the receipt is %+v", receipt)
		}
		if text, err := howFarIs(t.Context(), batches, "import/may"); err != nil || text != "running: 3 of 3 left, 0 dead" {
			t.Errorf("before it runs: %q, %v", text, err)
		}
		c.Start(importsWorker(c, &repaired))
		c.Advance(time.Minute)
		if posts := w.posted(); !slices.Equal(posts, []string{"uploads: removed may"}) {
			t.Errorf("with a dead line: %q", posts)
		}
		if text, err := howFarIs(t.Context(), batches, "import/may"); err != nil || text != "ended: 0 of 3 left, 1 dead" {
			t.Errorf("with a dead line: %q, %v", text, err)
		}
		repaired = true
		if n, err := retryImport(t.Context(), jobs, "may"); err != nil || n != 1 {
			t.Errorf("%d were requeued, %v", n, err)
		}
		c.Advance(time.Minute)
		if posts := w.posted(); len(posts) != 2 || !strings.HasPrefix(posts[1], "imports: may: 3 lines in ") {
			t.Errorf("after the repair: %q", posts)
		}
		check(t, importAndWait(t.Context(), enqueuer, batches, "june", strings.NewReader("a,1\n")))
	})
}

func TestStagesFanOutAndIn(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		repaired, rendered := true, 0
		worker := importsWorker(c, &repaired)
		Render.Handle(worker, func(context.Context, *chime.Job, Stage) error {
			rendered++
			return nil
		})
		RenderAll.Handle(worker, renderAll(enqueuer, [][]int{{100, 200, 400}, {800}}))
		_, err := RenderAll.Enqueue(t.Context(), enqueuer, Stage{Album: "alps"})
		check(t, err)
		c.Start(worker)
		c.Advance(time.Minute)
		if posts := w.posted(); rendered != 4 || !slices.Equal(posts, []string{"albums: alps is ready"}) {
			t.Errorf("%d were rendered: %q", rendered, posts)
		}
	})
}

func TestABatchThatGrows(t *testing.T) {
	newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, batches := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewBatches(c.Store())
		pages := map[string][]string{"/": {"/a", "/b"}, "/a": {"/b", "/"}, "/b": {"/c"}}
		repaired, fetched := true, []string{}
		worker := importsWorker(c, &repaired)
		Crawl.Handle(worker, crawl(enqueuer, func(url string) ([]string, error) {
			fetched = append(fetched, url)
			return pages[url], nil
		}))
		_, err := enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "site", Items: func(yield func(chime.Item, error) bool) { yield(Crawl.Item(Link{"/"}), nil) }})
		check(t, err)
		c.Start(worker)
		c.Advance(time.Minute)
		slices.Sort(fetched)
		batch, err := batches.Get(t.Context(), "site")
		check(t, err)
		if fmt.Sprint(fetched) != "[/ /a /b /c]" || batch.State != chime.BatchDone || batch.Total != 4 {
			t.Errorf("fetched %v, the batch is %+v", fetched, batch)
		}
	})
}

func TestAMemberIsFollowedByAnother(t *testing.T) {
	newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, batches := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewBatches(c.Store())
		repaired, of := true, map[string]string{}
		worker := importsWorker(c, &repaired)
		for _, name := range []string{"scan", "store", "complain"} {
			worker.Handle(name, func(_ context.Context, job *chime.Job) error {
				var photo string
				if err := job.Decode(&photo); err != nil {
					return err
				}
				of[name+" "+photo] = job.Batch
				if name == "scan" && photo == "dark" {
					return chime.Discard(errors.New("too dark"))
				}
				return nil
			})
		}
		_, err := enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "photos", Items: func(yield func(chime.Item, error) bool) {
			_ = yield(scanPhoto("light"), nil) && yield(scanPhoto("dark"), nil)
		}})
		check(t, err)
		c.Start(worker)
		c.Advance(time.Minute)
		batch, err := batches.Get(t.Context(), "photos")
		check(t, err)
		if batch.Total != 3 || batch.Done != 2 || batch.Dead != 1 || batch.State != chime.BatchEnded {
			t.Errorf("the batch is %+v", batch)
		}
		if want := map[string]string{"scan light": "photos", "scan dark": "photos", "store light": "photos", "complain dark": ""}; fmt.Sprint(of) != fmt.Sprint(want) {
			t.Errorf("these have run: %v", of)
		}
	})
}

func TestABatchIsCancelled(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, batches := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewBatches(c.Store())
		repaired := true
		c.Start(importsWorker(c, &repaired))
		_, err := startImport(t.Context(), enqueuer, "may", strings.NewReader(strings.Repeat("slow,1\n", 12)))
		check(t, err)
		c.Advance(1500 * time.Millisecond) // four lines are done, and four are running
		check(t, stopImport(t.Context(), batches, "may"))
		c.Advance(time.Minute)
		posts := w.posted()
		slices.Sort(posts)
		if len(posts) != 2 || !strings.HasPrefix(posts[0], "imports: may: cancelled after ") || strings.HasSuffix(posts[0], " 12 lines") || posts[1] != "uploads: removed may" {
			t.Errorf("after the cancellation: %q", posts)
		}
	})
}

func TestAnOuterBatchWaitsForAnInnerOne(t *testing.T) {
	newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, batches := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewBatches(c.Store())
		repaired := false
		worker := importsWorker(c, &repaired)
		folder := chime.Define[string]("import-folder")
		folder.Handle(worker, importFolder(enqueuer, batches, func(folder string) string {
			if folder == "broken" {
				return "a,1\nbad,2\n"
			}
			return "a,1\nb,2\n"
		}))
		_, err := enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "all", Items: func(yield func(chime.Item, error) bool) {
			_ = yield(folder.Item("good"), nil) && yield(folder.Item("broken"), nil)
		}})
		check(t, err)
		c.Start(worker)
		c.Advance(time.Minute)
		batch, err := batches.Get(t.Context(), "all")
		check(t, err)
		if batch.State != chime.BatchEnded || batch.Done != 1 || batch.Dead != 1 {
			t.Errorf("the outer batch is %+v", batch)
		}
	})
}
