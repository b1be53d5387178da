//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A rewound is a service whose server returns to an earlier state of its data. It has a scheduler with a schedule of every second, a worker that
// records its runs, and an enqueuer, all in this process, so they outlive the server.
type rewound struct {
	*testing.T
	enqueuer *chime.Enqueuer
	store    *redisstore.Store
	client   *redis.Client

	mu      sync.Mutex
	address string         // of the current server
	runs    map[string]int // by job ID
}

func startRewound(t *testing.T, address string) *rewound {
	r := &rewound{T: t, address: address, runs: map[string]int{}}
	r.client = redis.NewClient(&redis.Options{
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			r.mu.Lock()
			address := r.address
			r.mu.Unlock()
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	})
	r.store = redisstore.New(r.client, redisstore.Options{Logger: errorsOnly})
	r.enqueuer = chime.NewEnqueuer(r.store, chime.EnqueuerOptions{Logger: errorsOnly})
	worker := chime.NewWorker(r.store, chime.WorkerOptions{SessionTTL: quickTTL, Logger: errorsOnly})
	worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.runs[job.ID]++
		return nil
	})
	scheduler := chime.NewScheduler(r.store, chime.SchedulerOptions{LeaderTTL: quickTTL, SafetyTick: quickTTL, Logger: errorsOnly})
	if err := scheduler.Schedule("beat", everySecond, chime.Overlap(chime.OverlapAllow), chime.Misfire(chime.MisfireCatchUp)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, scheduler, worker) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		r.client.Close()
	})
	return r
}

// moveTo makes the clients dial another server from now on.
func (r *rewound) moveTo(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.address = address
}

// ran returns how often a job has run.
func (r *rewound) ran(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

// enqueue enqueues jobs with the IDs "<prefix>0" and so on.
func (r *rewound) enqueue(prefix string, n int) {
	r.Helper()
	items := make([]chime.Item, n)
	for i := range items {
		items[i] = chime.Item{Name: "beat", Options: []chime.EnqueueOption{chime.ID(fmt.Sprint(prefix, i))}}
	}
	if _, err := r.enqueuer.EnqueueMany(r.Context(), items); err != nil {
		r.Fatal(err)
	}
}

// gone reports whether the jobs "<prefix>0" and so on are done: the queue has none of them any more.
func (r *rewound) gone(prefix string, n int) bool {
	r.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(prefix, i)
	}
	left, err := r.client.HMGet(r.Context(), "chime:{default}:jobs", ids...).Result()
	if err != nil {
		r.Fatal(err)
	}
	return !slices.ContainsFunc(left, func(body any) bool { return body != nil })
}

// awaitSecond waits until the occurrence of an instant has run.
func (r *rewound) awaitSecond(at time.Time) {
	r.Helper()
	until(r.T, "the occurrence of "+at.UTC().Format(time.RFC3339)+" has run", func() bool { return r.ran(occurrenceOf(at)) > 0 })
}

func occurrenceOf(at time.Time) string { return "beat@" + at.UTC().Format(time.RFC3339) }

// The server's data return to an earlier state: the end of its append-only file is lost in a power failure, an older file is restored, or a lagging
// replica takes over. The cursor and the jobs return together. So lost occurrences are placed again under the same IDs, no instant is left out,
// nothing is stuck, and jobs from before run once. Jobs enqueued after that state may be lost.
func TestNoInstantIsLeftOutWhenTheServersDataGoBack(t *testing.T) {
	for name, damage := range map[string]struct {
		options redistest.Options
		goBack  func(t *testing.T, server *redistest.Server, r *rewound) // r has run for a while
	}{
		"the end of the append-only file is lost": {
			redistest.Options{AppendOnly: true},
			func(t *testing.T, server *redistest.Server, r *rewound) {
				files, err := filepath.Glob(filepath.Join(server.Dir(), "appendonlydir", "*.incr.aof"))
				if err != nil || len(files) != 1 {
					t.Fatalf("append-only files %q, %v; want one", files, err)
				}
				size := func() int64 {
					info, err := os.Stat(files[0])
					if err != nil {
						t.Fatal(err)
					}
					return info.Size()
				}
				until(t, "the file contains what has run: a server with a busy disk writes later", func() bool {
					info, err := r.client.InfoMap(t.Context(), "persistence").Result()
					return err == nil && info["Persistence"]["aof_buffer_length"] == "0"
				})
				before := size()
				r.enqueue("after", 500)
				until(t, "the file contains enqueued jobs", func() bool { return size() > before+20_000 })
				server.Kill()
				if err := os.Truncate(files[0], size()-20_000); err != nil {
					t.Fatal(err)
				}
				server.Up()
			},
		},
		"an older file is restored": {
			redistest.Options{},
			func(t *testing.T, server *redistest.Server, r *rewound) {
				if err := r.client.Save(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				r.enqueue("after", 50)
				r.awaitSecond(time.Now().Add(3 * time.Second))
				server.Kill()
				server.Up()
			},
		},
		"a replica that lags takes over": {
			redistest.Options{Config: []string{"repl-diskless-sync-delay 0"}},
			func(t *testing.T, server *redistest.Server, r *rewound) {
				replica := redistest.Start(t, redistest.Options{})
				client := replica.Client(nil)
				follow(t, client, server.Addr())
				detach(t, client)
				r.enqueue("after", 50)
				r.awaitSecond(time.Now().Add(3 * time.Second))
				server.Kill()
				promote(t, client)
				r.moveTo(replica.Addr())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, damage.options)
			r := startRewound(t, server.Addr())
			r.enqueue("before", 50)
			until(t, "the schedule is there", func() bool { _, err := chime.NewSchedules(r.store).Get(t.Context(), "beat"); return err == nil })
			created, err := chime.NewSchedules(r.store).Get(t.Context(), "beat")
			if err != nil {
				t.Fatal(err)
			}
			r.awaitSecond(created.Created.Add(2 * time.Second))
			until(t, "the jobs from before are done", func() bool { return r.gone("before", 50) })
			damage.goBack(t, server, r)
			last := time.Now().Add(3 * time.Second).Truncate(time.Second)
			r.awaitSecond(last)
			for at := created.Created.Truncate(time.Second); !at.After(last); at = at.Add(time.Second) {
				if n := r.ran(occurrenceOf(at)); n < 1 || n > 2 {
					t.Errorf("the occurrence of %v ran %d times, want once, or twice if the server forgot it", at, n)
				}
			}
			for i := range 50 {
				if n := r.ran(fmt.Sprint("before", i)); n != 1 {
					t.Errorf("before%d ran %d times, want once: it was done before the restored state", i, n)
				}
			}
			if err := chime.NewSchedules(r.store).Pause(t.Context(), "beat"); err != nil {
				t.Fatal(err)
			}
			until(t, "nothing is left", func() bool {
				q, err := chime.NewQueues(r.store).Get(t.Context(), "default")
				return err == nil && q.Waiting+q.InFlight()+q.Delayed+q.Parked+q.Dead == 0
			})
			stored, err := chime.NewSchedules(r.store).Get(t.Context(), "beat")
			if err != nil || !stored.Created.Equal(created.Created) {
				t.Errorf("the schedule was created %v, %v; want the old one, of %v", stored.Created, err, created.Created)
			}
		})
	}
}

// A schedule was declared after the restored file was written. The program that declared it still runs, and declares it again.
func TestAScheduleDeclaredAfterARestoredFileIsDeclaredAgain(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	r := startRewound(t, server.Addr())
	schedules := chime.NewSchedules(r.store)
	exists := func(name string) bool { _, err := schedules.Get(t.Context(), name); return err == nil }
	until(t, "the first schedule is there", func() bool { return exists("beat") })
	if err := r.client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	scheduler := chime.NewScheduler(r.store, chime.SchedulerOptions{LeaderTTL: quickTTL, SafetyTick: quickTTL, Logger: errorsOnly})
	if err := scheduler.Schedule("late", everySecond, chime.JobName("beat")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, scheduler) }()
	until(t, "the second schedule is there", func() bool { return exists("late") })
	before, err := schedules.Get(t.Context(), "late")
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Up()
	until(t, "it is there again, under a new revision", func() bool {
		after, err := schedules.Get(t.Context(), "late")
		return err == nil && after.Revision > before.Revision
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// follow makes a server a replica of another, and waits until it has its data.
func follow(t *testing.T, replica *redis.Client, master string) {
	t.Helper()
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		t.Fatal(err)
	}
	if err := replica.Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "the replica has its master's data", func() bool {
		info, err := replica.InfoMap(t.Context(), "replication").Result()
		return err == nil && info["Replication"]["master_link_status"] == "up"
	})
}

// detach cuts a replica off: it follows a port on which no server listens.
func detach(t *testing.T, replica *redis.Client) {
	t.Helper()
	if err := replica.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
}

// promote makes a replica a master.
func promote(t *testing.T, replica *redis.Client) {
	t.Helper()
	if err := replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
}
