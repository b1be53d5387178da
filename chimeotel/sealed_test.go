package chimeotel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/chimetest"
)

// With a codec, traces and metrics have nothing of arguments, results, progress and notes, neither in clear nor sealed: not of a chain, and not of a batch. Errors are in
// clear in a trace, because it belongs to the program.
func TestNoSealedDataGetOut(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		ring, err := chimeseal.Parse("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)))
		if err != nil {
			t.Fatal(err)
		}
		store, r := chime.WithCodec(c.Store(), ring, chime.CodecOptions{}), record(t, chimeotel.Options{})
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
		enqueuer.Use(r.Enqueue())
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet, Observers: []*chime.Observer{r.Observer()}})
		worker.Use(r.Handle())
		ran := 0
		worker.Handle("job", func(_ context.Context, job *chime.Job) error {
			ran++
			job.Note("CANARY-OF-NOTE")
			if job.ID == "fails" {
				return errors.New("CANARY-OF-ERROR")
			}
			return errors.Join(job.Progress("CANARY-OF-PROGRESS"), job.Return("CANARY-OF-RESULT"))
		}, chime.MaxAttempts(2))
		c.Start(worker)
		next := chime.Item{Name: "job", Args: "CANARY-OF-ARGUMENTS"}
		for _, id := range []string{"succeeds", "fails"} {
			if _, err := enqueuer.Enqueue(t.Context(), "job", "CANARY-OF-ARGUMENTS", chime.ID(id), chime.Keep(time.Hour), chime.OnDone(next), chime.OnDeath(next)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "b", Done: next, Ended: next, Items: func(yield func(chime.Item, error) bool) { yield(next, nil) }}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		if ran != 8 {
			t.Errorf("the handler ran %d times, want 8: one of two attempts, two followers, a member and what follows the batch", ran)
		}
		drawn, errs := sketch(r.spans)+fmt.Sprint(r.metrics()), 0
		for line := range strings.Lines(drawn) {
			switch {
			case strings.Contains(line, "CANARY-OF-ERROR") && strings.HasPrefix(line, "    exception.message="):
				errs++
			case strings.Contains(line, "CANARY"), strings.Contains(line, "Q0FOQVJZ"), strings.Contains(line, "\x01\x02k1"):
				t.Errorf("a trace or a metric has %q", line)
			}
		}
		if errs != 2 {
			t.Errorf("the errors of %d attempts are recorded, want 2", errs)
		}
	})
}
