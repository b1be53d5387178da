//go:build real

package access_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
	"github.com/redis/go-redis/v9"
)

// If a password is rotated while a worker runs, the worker logs the server's error, waits, and continues with the new password.
func TestAPasswordThatIsRotatedIsWaitedOut(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	direct := server.Client(nil)
	password := make(chan string, 1)
	password <- ""
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), CredentialsProvider: func() (string, string) {
		now := <-password
		password <- now
		return "", now
	}})
	defer client.Close()
	log := newLogLines()
	store := redisstore.New(client, redisstore.Options{})
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log.logger()})
	ran := make(chan string, 10)
	worker.Handle("report", func(_ context.Context, job *chime.Job) error { ran <- job.ID; return nil })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, worker) }()
	enqueue := func(id string, client *redis.Client) {
		if _, err := chime.NewEnqueuer(redisstore.New(client, redisstore.Options{}), chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil, chime.ID(id)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(id string) {
		t.Helper()
		select {
		case got := <-ran:
			if got != id {
				t.Errorf("job %s ran, want %s", got, id)
			}
		case err := <-ended:
			t.Fatalf("Run ended: %v", err)
		case <-time.After(20 * time.Second): // real time: a worker that never continues fails the test
			t.Fatalf("job %s did not run; logged:\n%s", id, log)
		}
	}
	enqueue("before", direct)
	want("before")

	for _, err := range []error{
		direct.ConfigSet(t.Context(), "requirepass", "rotated").Err(),
		direct.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(),
		direct.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	log.await(t, "the server wants a password")
	<-password
	password <- "rotated"
	enqueue("after", server.Client(&redis.Options{Password: "rotated"}))
	want("after")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
