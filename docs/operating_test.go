package docs_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// docs/operating.md shows the code of this file piece by piece; operating_run_test.go and operating_server_test.go run all of it.

func connect() redis.UniversalClient {
	redis.SetLogger(redisstore.ClientLogger(slog.Default())) // go-redis's own lines at level Debug
	return redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                 strings.Split(os.Getenv("REDIS_ADDRS"), ","), // one address: a server; several: a cluster
		MasterName:            os.Getenv("REDIS_MASTER"),                    // if set, the addresses are Sentinels
		Username:              os.Getenv("REDIS_USER"),
		Password:              os.Getenv("REDIS_PASSWORD"),
		ReadTimeout:           2 * time.Second,
		ContextTimeoutEnabled: true,
	})
}

func serve(ctx context.Context, client redis.UniversalClient, deployed int64) error {
	store := redisstore.New(client, redisstore.Options{Namespace: "shop"})
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 3, "default": 1}, Concurrency: 20})
	SendMail.Handle(worker, sendMail)
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Owner: "shop", Version: deployed, Prune: true})
	every := recurrence.Recurrence{Cron: "0 7 * * 1", TimeZone: "Europe/Berlin"}
	if err := SendMail.Schedule(scheduler, "weekly", every, Mail{To: "all", Template: "weekly"}); err != nil {
		return err
	}
	return chime.Run(ctx, scheduler, worker)
}

// A web is the HTTP server as a role, which chime.Run starts and stops with the others.
type web struct{ server *http.Server }

func (w *web) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- w.server.ListenAndServe() }()
	select {
	case err := <-ended:
		return err // the port is in use: Run stops the worker too, and returns this
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return w.server.Shutdown(grace) // waits for the requests that it is answering
}

func serveBoth(ctx context.Context, store chime.Store, address string) error {
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /welcome", func(w http.ResponseWriter, r *http.Request) {
		if _, err := SendMail.Enqueue(r.Context(), enqueuer, Mail{To: r.FormValue("to"), Template: "welcome"}); err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}})
	SendMail.Handle(worker, sendMail)
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return chime.Run(ctx, &web{server}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
}

func watch(ctx context.Context, store chime.Store, out io.Writer) error {
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		fmt.Fprintf(out, "queue %s: %d wait, %d run, %d are delayed, %d parked, %d dead; in total %d done, %d failed, %d died\n",
			q.Name, q.Waiting, q.Running, q.Delayed, q.Parked, q.Dead, q.Done, q.Failed, q.Died)
	}
	workers, err := chime.NewWorkers(store).List(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		fmt.Fprintf(out, "worker %s on %s: %d of %d slots are busy\n", w.Name, w.Host, w.Busy, w.Slots)
	}
	for s, err := range chime.NewSchedules(store).List(ctx, chime.ScheduleFilter{Failing: true}) {
		if s == nil {
			return err
		}
		fmt.Fprintf(out, "schedule %s: %d failures in a row\n", s.Name, s.Last.Failures)
	}
	return nil
}
