package docs_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// docs/batches.md shows the code of this file piece by piece; batches_run_test.go runs all of it.

type Line struct {
	File   string
	Number int
	Fields []string
}

var (
	ImportLine   = chime.Define[Line]("import-line", chime.Queue("imports"), chime.MaxAttempts(5))
	ImportDone   = chime.Define[string]("import-done", chime.Queue("imports"))
	RemoveUpload = chime.Define[string]("remove-upload", chime.Queue("imports"))
)

func startImport(ctx context.Context, enqueuer *chime.Enqueuer, name string, file io.Reader) (chime.BatchReceipt, error) {
	return enqueuer.EnqueueBatch(ctx, chime.Batch{
		ID:    "import/" + name,
		Items: linesOf(name, file),
		Done:  ImportDone.Item(name),   // when all lines are imported
		Ended: RemoveUpload.Item(name), // when nothing is left to do, even if some lines are dead
		Note:  "uploaded by anna",
	})
}

// linesOf yields a job for each line of a file, and stops at the first line that cannot be read.
func linesOf(name string, file io.Reader) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		reader := csv.NewReader(file)
		for number := 1; ; number++ {
			fields, err := reader.Read()
			if err == io.EOF {
				return
			}
			if !yield(ImportLine.Item(Line{File: name, Number: number, Fields: fields}), err) || err != nil {
				return
			}
		}
	}
}

func importDone(ctx context.Context, job *chime.Job, name string) error {
	batch := job.BatchInfo
	return post(ctx, "imports", fmt.Sprintf("%s: %d lines in %v", name, batch.Done, batch.EndedAt.Sub(batch.CreatedAt).Round(time.Second)))
}

func howFarIs(ctx context.Context, batches *chime.Batches, id string) (string, error) {
	batch, err := batches.Get(ctx, id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %d of %d left, %d dead", batch.State, batch.Left, batch.Total, batch.Dead), nil
}

func importAndWait(ctx context.Context, enqueuer *chime.Enqueuer, batches *chime.Batches, name string, file io.Reader) error {
	receipt, err := startImport(ctx, enqueuer, name, file)
	if err != nil {
		return err
	}
	batch, err := batches.Wait(ctx, receipt.ID)
	if err != nil {
		return err
	}
	if batch.State != chime.BatchDone {
		return fmt.Errorf("%s: %d lines are dead", name, batch.Dead)
	}
	return nil
}

func retryImport(ctx context.Context, jobs *chime.Jobs, name string) (requeued int, err error) {
	result, err := jobs.Requeue(ctx, chime.JobFilter{Queue: "imports", State: chime.JobDead, Batch: "import/" + name}, nil)
	return result.Changed, err
}

type Stage struct {
	Album  string
	Number int
}

var (
	Render    = chime.Define[Stage]("render", chime.Queue("cpu"))
	RenderAll = chime.Define[Stage]("render-all")
)

// renderAll is the fan-in of one stage and the fan-out of the next one.
func renderAll(enqueuer *chime.Enqueuer, sizes [][]int) func(context.Context, *chime.Job, Stage) error {
	return func(ctx context.Context, _ *chime.Job, stage Stage) error {
		if stage.Number == len(sizes) {
			return post(ctx, "albums", stage.Album+" is ready")
		}
		_, err := enqueuer.EnqueueBatch(ctx, chime.Batch{
			ID: fmt.Sprintf("%s/stage-%d", stage.Album, stage.Number),
			Items: func(yield func(chime.Item, error) bool) {
				for _, size := range sizes[stage.Number] {
					if !yield(Render.Item(Stage{stage.Album, size}), nil) {
						return
					}
				}
			},
			Done: RenderAll.Item(Stage{stage.Album, stage.Number + 1}),
		})
		return err
	}
}

type Link struct{ URL string }

var Crawl = chime.Define[Link]("crawl", chime.Queue("crawler"), chime.ArgsID(), chime.Once(24*time.Hour))

func crawl(enqueuer *chime.Enqueuer, fetch func(url string) (links []string, err error)) func(context.Context, *chime.Job, Link) error {
	return func(ctx context.Context, job *chime.Job, link Link) error {
		links, err := fetch(link.URL)
		if err != nil {
			return err
		}
		var items []chime.Item
		for _, url := range links {
			items = append(items, Crawl.Item(Link{url}, chime.InBatch(job)))
		}
		_, err = enqueuer.EnqueueMany(ctx, items)
		return err
	}
}

func scanPhoto(photo string) chime.Item {
	return chime.Item{Name: "scan", Args: photo, Options: []chime.EnqueueOption{
		chime.OnDone(chime.Item{Name: "store", Args: photo, Options: []chime.EnqueueOption{chime.SameBatch()}}),
		chime.OnDeath(chime.Item{Name: "complain", Args: photo}), // no member: the batch does not wait for it
	}}
}

func stopImport(ctx context.Context, batches *chime.Batches, name string) error {
	if _, err := batches.Cancel(ctx, "import/"+name); err != nil {
		return err
	}
	batch, err := batches.Wait(ctx, "import/"+name)
	if err != nil {
		return err
	}
	return post(ctx, "imports", fmt.Sprintf("%s: cancelled after %d lines", name, batch.Done))
}

// importFolder is the handler of a member of an outer batch. It starts an inner one, and is done when that one is done.
func importFolder(enqueuer *chime.Enqueuer, batches *chime.Batches, open func(folder string) string) func(context.Context, *chime.Job, string) error {
	return func(ctx context.Context, job *chime.Job, folder string) error {
		inner := job.Batch + "/" + folder
		batch, err := batches.Get(ctx, inner)
		switch {
		case errors.Is(err, chime.ErrNotFound) || err == nil && batch.State == chime.BatchOpen:
			if _, err := enqueuer.EnqueueBatch(ctx, chime.Batch{ID: inner, Items: linesOf(folder, strings.NewReader(open(folder)))}); err != nil {
				return err
			}
			return chime.Snooze(10 * time.Second)
		case err != nil:
			return err
		case batch.EndedAt.IsZero():
			return chime.Snooze(10 * time.Second)
		case batch.State != chime.BatchDone:
			return chime.Discard(fmt.Errorf("%s: %d lines are dead, %d were cancelled", folder, batch.Dead, batch.Cancelled))
		}
		return nil
	}
}
