package crawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"
	"unicode"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A world is the contents of a store. It has something for every page, with a text of the test in each field that users may choose.
type world struct {
	free   string // the text in arguments, results, progress, headers, errors and notes
	name   string // the text in names and IDs: it has no invisible characters
	hidden string // the text that only viewers who reveal a job may see; a word for its place follows
}

// secret returns the hidden text of a place, or "" if nothing is hidden.
func (w world) secret(place string) string {
	if w.hidden == "" {
		return ""
	}
	return w.hidden + place
}

// nameable returns a text without the characters that are not allowed in names.
func nameable(text string) string {
	var runes []rune
	for _, r := range text {
		if !unicode.In(r, unicode.Cc, unicode.Cf) {
			runes = append(runes, r)
		}
	}
	return string(runes)
}

// fill creates the world in a store, in an hour in which a worker runs. One job is still running when do is called. The worker has ended when fill
// returns.
func (w world) fill(t *testing.T, store chime.Store, do func()) {
	t.Helper()
	ctx := t.Context()
	schedules, enqueuer := chime.NewSchedules(store), chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
	held := map[string]string{"token": w.secret("arguments"), "text": w.free}
	put := func(name string, cron string, options ...chime.PutOption) {
		t.Helper()
		must(schedules.Put(ctx, name, must(recurrence.Cron(cron)), options...))
	}
	meta := chime.Meta([]byte(`{"team":` + string(must(json.Marshal(w.free))) + `}`))
	put("report"+w.name, "*/5 * * * *", chime.JobName("report"), chime.Queue("mail"), chime.Args(map[string]string{"token": w.secret("schedule"), "text": w.free}), chime.Header("tenant", w.free), meta)
	put("invoices"+w.name, "*/20 * * * *", chime.JobName("broken"), chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Second)), chime.Queue("mail"))
	put("cleanup"+w.name, "30 2 * * *", chime.JobName("report"), chime.Paused(chime.Note{Text: "until the move is over" + w.free, By: "anna" + w.free}))
	enqueue := func(name, id string, options ...chime.EnqueueOption) {
		t.Helper()
		must(enqueuer.Enqueue(ctx, name, held, append(options, chime.ID(id+w.name), chime.Header("tenant", w.free))...))
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 1, "mail": 2}, Concurrency: 4, DrainTimeout: time.Millisecond, Logger: quiet})
	running := make(chan struct{})
	worker.Handle("report", func(_ context.Context, job *chime.Job) error {
		job.Note("42 orders" + w.free)
		return job.Return("sent" + w.secret("result"))
	})
	worker.Handle("broken", func(context.Context, *chime.Job) error {
		return errors.New("dial tcp 10.0.0.7:631: refused" + w.free + w.secret("error") + "\n\tat main.go:7 " + w.free + w.secret("error"))
	})
	worker.Handle("slow", func(ctx context.Context, job *chime.Job) error {
		err := job.Progress(map[string]any{"percent": 40, "step": w.free + w.secret("progress")})
		close(running)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- chime.Run(working, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet}))
	}()
	enqueue("broken", "dead", chime.MaxAttempts(1), chime.OnDone(chime.Item{Name: "fax"}), chime.OnDeath(chime.Item{Name: "fax"}))
	enqueue("broken", "again", chime.Retry(chime.Fixed(24*time.Hour)))
	enqueue("report", "done", chime.Keep(24*time.Hour))
	enqueue("report", "tomorrow", chime.In(24*time.Hour))
	enqueue("fax", "parked")
	enqueue("report", "waits", chime.Queue("archive"))
	enqueue("report", "x-waits", chime.Queue("archive")) // with their queues, this ID and the next are the same text
	enqueue("report", "waits", chime.Queue("archive-x"))
	members := func(yield func(chime.Item, error) bool) {
		for _, name := range []string{"report", "broken"} {
			if !yield(chime.Item{Name: name, Args: held, Options: []chime.EnqueueOption{chime.MaxAttempts(1)}}, nil) {
				return
			}
		}
		yield(chime.Item{Name: "report", Args: held, Options: []chime.EnqueueOption{chime.ID("member" + w.name), chime.Queue("archive")}}, nil)
	}
	must(enqueuer.EnqueueBatch(ctx, chime.Batch{ID: "import" + w.name, Items: members, Done: chime.Item{Name: "fax"}, Note: "by anna" + w.free + w.secret("error")}))
	must(enqueuer.EnqueueBatch(ctx, chime.Batch{ID: "empty" + w.name, Done: chime.Item{Name: "fax"}, Ended: chime.Item{Name: "fax"}, Keep: 365 * 24 * time.Hour}))
	must(schedules.Trigger(ctx, "report"+w.name))
	time.Sleep(61 * time.Minute) // fake time passes
	// These runs end at the same instant.
	for range 2 {
		must(schedules.Trigger(ctx, "report"+w.name))
	}
	enqueue("slow", "slow")
	<-running
	time.Sleep(time.Second) // fake time passes until they have ended
	for queue, note := range map[string]string{"archive": "the printer is being repaired" + w.free} {
		if err := chime.NewQueues(store).Pause(ctx, queue, chime.Note{Text: note, By: "anna" + w.free}); err != nil {
			t.Fatal(err)
		}
	}
	do()
	stop()
	if err := <-ended; err != nil && !errors.As(err, new(*chime.DrainTimeoutError)) {
		t.Error(err)
	}
}
