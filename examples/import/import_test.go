package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The import under fake time, without processes. A test in tests/real runs the whole program, with the kill.
func TestTheSummaryFollowsWhenAllLinesAreBooked(t *testing.T) {
	path, sum, err := newFile(1200)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(path) }()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer func() { _ = server.Close() }()
		store, out := server.Store(), new(bytes.Buffer)
		batch, err := importFile(t.Context(), chime.NewEnqueuer(store, chime.EnqueuerOptions{}), path)
		if err != nil || batch.Items != 1200 {
			t.Fatalf("%+v, %v", batch, err)
		}
		again, err := importFile(t.Context(), chime.NewEnqueuer(store, chime.EnqueuerOptions{}), path)
		if err != nil || !again.Repeated {
			t.Errorf("the second call: %+v, %v", again, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- newWorker(store, payments{server.Client()}, out, slog.New(slog.DiscardHandler)).Run(ctx)
		}()
		info, err := chime.NewBatches(store).Wait(t.Context(), batch.ID)
		if err != nil || info.State != chime.BatchDone || info.Done != 1200 {
			t.Errorf("the batch is %+v, %v", info, err)
		}
		var total summary
		if err := chime.NewJobs(store).Wait(t.Context(), queue, batch.ID+"#done", &total); err != nil || total != (summary{1200, sum}) {
			t.Errorf("the summary is %+v, %v; want the sum %d", total, err, sum)
		}
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "summary:"); n != 1 {
			t.Errorf("%d summaries:\n%s", n, out)
		}
	})
}

// A line that cannot be read stops the import there. After the repair the same call enqueues the rest.
func TestABrokenLineStopsTheImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer func() { _ = server.Close() }()
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		enqueue := func(text string) (chime.BatchReceipt, error) {
			return enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "may", Items: linesOf(strings.NewReader(text)), Done: summarize.Item("may")})
		}
		receipt, err := enqueue("1,a,100\n2,b,many\n3,c,300\n")
		if err == nil || !strings.Contains(err.Error(), "line 2") || receipt.Items != 1 {
			t.Errorf("%+v, %v; want an error at line 2", receipt, err)
		}
		if receipt, err = enqueue("1,a,100\n2,b,200\n3,c,300\n"); err != nil || receipt.Items != 3 {
			t.Errorf("after the repair: %+v, %v", receipt, err)
		}
		queues, err := chime.NewQueues(server.Store()).Get(t.Context(), queue)
		if err != nil || queues.Waiting != 3 {
			t.Errorf("%+v, %v; want three jobs", queues, err)
		}
	})
}
