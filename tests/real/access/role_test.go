//go:build real

package access_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// runOnce enqueues a job and two batches through one store, declares a schedule through another, and returns when a worker on a third has run everything
// but what follows the batch without members, which takes longer.
func runOnce(t *testing.T, producer, scheduler, worker *redisstore.Store) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	ran := make(chan string, 10)
	w := chime.NewWorker(worker, chime.WorkerOptions{Logger: quiet})
	names := []string{"plain", "scheduled", "member", "ended"}
	for _, name := range names {
		w.Handle(name, func(_ context.Context, job *chime.Job) error {
			ran <- job.Name
			return nil
		})
	}
	s := chime.NewScheduler(scheduler, chime.SchedulerOptions{Logger: quiet})
	if err := s.Schedule("scheduled", recurrence.Recurrence{Frequency: recurrence.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	enqueuer := chime.NewEnqueuer(producer, chime.EnqueuerOptions{Logger: quiet})
	if _, err := enqueuer.Enqueue(ctx, "plain", nil); err != nil {
		t.Fatal(err)
	}
	for i, batch := range []chime.Batch{
		{ID: "b", Items: func(yield func(chime.Item, error) bool) { yield(chime.Item{Name: "member"}, nil) }, Ended: chime.Item{Name: "ended"}},
		{ID: "nothing", Ended: chime.Item{Name: "ended"}}, // it has ended when it is sealed, and a producer may not end it
	} {
		if receipt, err := enqueuer.EnqueueBatch(ctx, batch); err != nil || receipt.Items != int64(1-i) {
			t.Fatalf("batch %s: %+v, %v", batch.ID, receipt, err)
		}
		if receipt, err := enqueuer.EnqueueBatch(ctx, batch); err != nil || !receipt.Repeated {
			t.Fatalf("batch %s again: %+v, %v", batch.ID, receipt, err)
		}
	}
	running, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- chime.Run(running, w, s) }()
	for range names {
		select {
		case <-ran:
		case err := <-done:
			t.Fatalf("Run ended: %v", err)
		case <-ctx.Done():
			t.Fatal("the jobs did not run")
		}
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Every role works from its start as its user of docs/access.md, on one server and on a cluster.
func TestEveryRoleWorksAsItsUser(t *testing.T) {
	lines := redistest.DocumentedUsers(t)
	var users, cluster []string
	for _, line := range lines {
		users = append(users, line)
		cluster = append(cluster, line+" +cluster|slots +command")
	}
	login := func(use string) (string, string) { return "chime-" + use, "SECRET" }
	server := redistest.Start(t, redistest.Options{Users: users})
	three := redistest.StartCluster(t, 3, redistest.Options{Users: cluster})
	for on, store := range map[string]func(use string) *redisstore.Store{
		"one server": func(use string) *redisstore.Store {
			user, password := login(use)
			return redisstore.New(server.Client(&redis.Options{Username: user, Password: password}), redisstore.Options{})
		},
		"a cluster": func(use string) *redisstore.Store {
			var addresses []string
			for _, node := range three.Nodes {
				addresses = append(addresses, node.Addr())
			}
			user, password := login(use)
			client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, Username: user, Password: password})
			t.Cleanup(func() { client.Close() })
			return redisstore.New(client, redisstore.Options{})
		},
	} {
		t.Run(on, func(t *testing.T) {
			runOnce(t, store("producer"), store("scheduler"), store("worker"))
			viewer := store("viewer")
			found, err := chime.NewSchedules(viewer).Get(t.Context(), "scheduled")
			if err != nil || found.Name != "scheduled" {
				t.Errorf("a viewer gets %+v, %v", found, err)
			}
			queues, err := chime.NewQueues(viewer).List(t.Context())
			if err != nil || len(queues) != 1 || queues[0].Done < 1 {
				t.Errorf("a viewer lists %+v, %v; want the queue with its done jobs", queues, err)
			}
			if err := chime.NewQueues(viewer).Pause(t.Context(), "default"); err == nil || !strings.Contains(err.Error(), "lacks a permission") {
				t.Errorf("a viewer paused a queue: %v", err)
			}
		})
	}
}

// A role whose user lacks a right does not start.
func TestARoleWithoutARightDoesNotStart(t *testing.T) {
	line := strings.Replace(redistest.DocumentedUsers(t)["worker"], " +lpush", "", 1)
	client := redistest.Start(t, redistest.Options{Users: []string{line}}).Client(&redis.Options{Username: "chime-worker", Password: "SECRET"})
	worker := chime.NewWorker(redisstore.New(client, redisstore.Options{}), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("j", func(context.Context, *chime.Job) error { return nil })
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	err := chime.Run(ctx, worker)
	if !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), "run ACL SETUSER chime-worker +lpush") {
		t.Errorf("Run returned %v, want ErrUnfit that explains how to grant LPUSH", err)
	}
}

// The error of a denied call names the missing permission and the page with the rules, for every error text of the server.
func TestTheErrorOfADeniedCallNamesThePageWithTheRules(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{redistest.DocumentedUsers(t)["producer"]}})
	store := redisstore.New(server.Client(&redis.Options{Username: "chime-producer", Password: "SECRET"}), redisstore.Options{})
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "j", nil); err != nil {
		t.Fatal(err)
	}
	for action, err := range map[string]error{
		"pause a queue":   chime.NewQueues(store).Pause(t.Context(), "default"),
		"pause":           chime.NewSchedules(store).Pause(t.Context(), "report"),
		"delete":          chime.NewSchedules(store).Delete(t.Context(), "report"),
		"look at a queue": func() error { _, err := chime.NewQueues(store).Get(t.Context(), "default"); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "lacks a permission, docs/access.md") {
			t.Errorf("%s: %v, want an error that names docs/access.md", action, err)
		}
	}
}
