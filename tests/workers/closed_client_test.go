package workers_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/redis/go-redis/v9"
)

// If the client is closed before Run has returned, Run reports the outcomes that were not stored, and their jobs run again.
func TestAClientThatIsClosedTooEarlyLosesNoJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		client := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) { return f.Server.Dial() }})
		var runs fixture.Runs
		handle := func(_ context.Context, job *chime.Job) error {
			time.Sleep(2 * time.Second) // fake time
			runs.Add(job.ID)
			return nil
		}
		early := chime.NewWorker(redisstore.New(client, redisstore.Options{Logger: fixture.Quiet()}), chime.WorkerOptions{Logger: fixture.Quiet()})
		early.Handle("work", handle)
		stop := f.Start(early)
		f.Add("work", 0, "a")
		fixture.Pass(time.Second)
		_ = client.Close()
		if err := stop(); err == nil || !strings.Contains(err.Error(), "the outcomes of 1 jobs") {
			t.Errorf("Run returns %v, want the number of outcomes that were not stored", err)
		}
		later := f.Worker(chime.WorkerOptions{})
		later.Handle("work", handle)
		stop = f.Start(later)
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := runs.Of("a"); n != 2 {
			t.Errorf("the job ran %d times, want once more after its outcome was lost", n)
		}
	})
}
