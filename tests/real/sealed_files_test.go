//go:build real && unix

package real_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// canaries are texts that a codec seals, by what they are.
var canaries = []string{"canary-arguments", "canary-result", "canary-error", "canary-panic", "canary-progress", "canary-note", "canary-schedule", "canary-follower", "canary-batch"}

// What a server writes to its disk, the append-only file and the dump, has nothing in clear that a codec seals, and neither has the log of the program. The
// same jobs without a codec leave all of it there, so they are suited to find a leak.
func TestFilesOfAServerHaveNothingThatIsSealed(t *testing.T) {
	ring, err := chimeseal.Parse("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)))
	if err != nil {
		t.Fatal(err)
	}
	for _, seals := range []bool{true, false} {
		server := redistest.Start(t, redistest.Options{AppendOnly: true, Config: []string{"aof-use-rdb-preamble no", "rdbcompression no"}})
		client := server.Client(nil)
		var store chime.Store = redisstore.New(client, redisstore.Options{Logger: errorsOnly})
		if seals {
			store = chime.WithCodec(store, ring, chime.CodecOptions{})
		}
		log := workWithCanaries(t, store)
		if err := client.Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		err := filepath.WalkDir(server.Dir(), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files[filepath.Base(path)], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var appended, dumped []string
		for name, data := range files {
			for _, canary := range canaries {
				found := holds(data, canary)
				if seals && found {
					t.Errorf("%s has %s", name, canary)
				}
				if found && strings.Contains(name, ".aof") {
					appended = append(appended, canary)
				}
				if found && name == "dump.rdb" {
					dumped = append(dumped, canary)
				}
			}
		}
		if !seals && (len(appended) < len(canaries) || len(dumped) < len(canaries)-1) { // the progress of a job is removed with it
			t.Errorf("without a codec the append-only file has %q and the dump %q, want all of %q", appended, dumped, canaries)
		}
		for _, canary := range canaries {
			if holds([]byte(log), canary) {
				t.Errorf("the log has %s:\n%s", canary, log)
			}
		}
		if !strings.Contains(log, "handler.panic") {
			t.Errorf("the log has no panic:\n%s", log)
		}
	}
}

// workWithCanaries runs jobs, a batch and a schedule with the canaries until they have ended, and returns the log.
func workWithCanaries(t *testing.T, store chime.Store) string {
	var log fixture.LogBuffer
	logger := log.Logger()
	enqueuer, jobs := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: logger}), chime.NewJobs(store)
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: logger, HideErrors: true, Defaults: []chime.HandlerOption{chime.MaxAttempts(2), chime.Retry(chime.Fixed(10 * time.Millisecond))}})
	worker.Handle("work", func(ctx context.Context, job *chime.Job) error {
		job.Note("canary-note")
		err := errors.Join(job.Progress("canary-progress"), job.Return("canary-result"))
		for job.ID == "done" && err == nil { // until the progress is stored
			var info *chime.JobInfo
			if info, err = jobs.Get(ctx, "default", job.ID); err == nil && len(info.Progress) > 0 {
				break
			}
		}
		return err
	})
	worker.Handle("fail", func(_ context.Context, job *chime.Job) error {
		if job.Attempt == 1 {
			return errors.New("canary-error")
		}
		panic("canary-panic")
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	after := chime.OnDone(chime.Item{Name: "work", Args: "canary-follower"})
	for id, name := range map[string]string{"done": "work", "dead": "fail"} {
		if _, err := enqueuer.Enqueue(ctx, name, "canary-arguments", chime.ID(id), chime.Keep(time.Hour), after, chime.OnDeath(chime.Item{Name: "work", Args: "canary-follower"})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := enqueuer.Enqueue(ctx, "work", "canary-arguments", chime.In(time.Hour), after); err != nil {
		t.Fatal(err)
	}
	var result string
	if err := jobs.Wait(ctx, "default", "done", &result); err != nil || result != "canary-result" {
		t.Errorf("the result is %q, %v", result, err)
	}
	var failed *chime.JobError
	if err := jobs.Wait(ctx, "default", "dead", nil); !errors.As(err, &failed) {
		t.Errorf("the dead job ended with %v", err)
	}
	if _, err := enqueuer.EnqueueBatch(ctx, chime.Batch{
		ID: "batch", Done: chime.Item{Name: "work", Args: "canary-batch", Options: []chime.EnqueueOption{chime.In(time.Hour)}},
		Items: func(yield func(chime.Item, error) bool) { yield(chime.Item{Name: "work", Args: "canary-batch"}, nil) },
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chime.NewBatches(store).Wait(ctx, "batch"); err != nil {
		t.Error(err)
	}
	schedules := chime.NewSchedules(store)
	if _, err := schedules.Put(ctx, "nightly", recurrence.Recurrence{Frequency: recurrence.Day, Interval: 1}, chime.JobName("work"), chime.Args("canary-schedule"), chime.Keep(time.Hour)); err != nil {
		t.Fatal(err)
	}
	receipt, err := schedules.Trigger(ctx, "nightly")
	if err != nil {
		t.Fatal(err)
	}
	if err := jobs.Wait(ctx, "default", receipt.ID, &result); err != nil || result != "canary-result" {
		t.Errorf("the schedule's result is %q, %v", result, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return log.String()
}

// holds reports whether data have a text, in clear, in hexadecimal digits, or in base64 at any position.
func holds(data []byte, text string) bool {
	forms := []string{text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text)))}
	for before := range 3 { // the characters at both ends depend on what is beside the text
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + text))
		forms = append(forms, encoded[2*before:len(encoded)-2])
	}
	for _, form := range forms {
		if bytes.Contains(data, []byte(form)) {
			return true
		}
	}
	return false
}
