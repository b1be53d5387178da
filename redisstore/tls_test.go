package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
)

// runOnce enqueues a job by one store, declares a schedule by another, and returns when a worker on a third has run both.
func runOnce(t *testing.T, producer, scheduler, worker *Store) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	ran := make(chan string, 10)
	w := chime.NewWorker(worker, chime.WorkerOptions{Logger: quiet})
	for _, name := range []string{"plain", "scheduled"} {
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
	if _, err := chime.NewEnqueuer(producer, chime.EnqueuerOptions{Logger: quiet}).Enqueue(ctx, "plain", nil); err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- chime.Run(running, w, s) }()
	for range 2 {
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

// Both ends show a certificate of an authority of one's own. Whoever has another one, or none, or speaks no TLS, gets nowhere.
func TestTLSIsChecked(t *testing.T) {
	server := redistest.Start(t, redistest.Options{TLS: true, TLSClients: true, Config: []string{`tls-protocols "TLSv1.2 TLSv1.3"`}})
	other := redistest.Start(t, redistest.Options{TLS: true, TLSClients: true})
	store := New(server.Client(nil), Options{})
	runOnce(t, store, store, store)

	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	for what, c := range map[string]struct {
		change func(*tls.Config)
		as     any
		text   string
	}{
		"another authority":                  {func(c *tls.Config) { c.RootCAs = other.TLSConfig().RootCAs }, &authority, ""},
		"another name":                       {func(c *tls.Config) { c.ServerName = "redis.example.com" }, &name, ""},
		"no certificate":                     {func(c *tls.Config) { c.Certificates = nil }, nil, ""},
		"a certificate of another authority": {func(c *tls.Config) { c.Certificates = other.TLSConfig().Certificates }, nil, ""},
		"a protocol before TLS 1.2":          {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, nil, "protocol version"},
	} {
		config := server.TLSConfig()
		c.change(config)
		err := newStore(server.Client(&redis.Options{TLSConfig: config, MaxRetries: -1, DialerRetries: 1}), Options{}).Check(t.Context())
		if err == nil || c.as != nil && !errors.As(err, c.as) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want that it is refused", what, err)
		}
	}
	plain := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: time.Second})
	defer plain.Close()
	if err := newStore(plain, Options{}).Check(t.Context()); err == nil {
		t.Error("a client without TLS was answered")
	}
}

// Every role works as the user of docs/access.md that is made for it, from its start on, on one server and on a cluster.
func TestEveryRoleWorksAsItsUser(t *testing.T) {
	lines := userLines(t)
	var users, cluster []string
	for _, line := range lines {
		users = append(users, line)
		cluster = append(cluster, line+" +cluster|slots +command")
	}
	login := func(use string) (string, string) { return "chime-" + use, "SECRET" }
	server := redistest.Start(t, redistest.Options{Users: users})
	three := redistest.StartCluster(t, 3, redistest.Options{Users: cluster})
	for on, store := range map[string]func(use string) *Store{
		"one server": func(use string) *Store {
			user, password := login(use)
			return New(server.Client(&redis.Options{Username: user, Password: password}), Options{})
		},
		"a cluster": func(use string) *Store {
			var addresses []string
			for _, node := range three.Nodes {
				addresses = append(addresses, node.Addr())
			}
			user, password := login(use)
			client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, Username: user, Password: password})
			t.Cleanup(func() { client.Close() })
			return New(client, Options{})
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
				t.Errorf("a viewer lists %+v, %v; want the queue with what was done", queues, err)
			}
			if err := chime.NewQueues(viewer).Pause(t.Context(), "default"); !denied(err) {
				t.Errorf("a viewer paused a queue: %v", err)
			}
		})
	}
}

// A role whose user lacks a right does not start.
func TestARoleWithoutARightDoesNotStart(t *testing.T) {
	line := strings.Replace(userLines(t)["worker"], " +lpush", "", 1)
	client := redistest.Start(t, redistest.Options{Users: []string{line}}).Client(&redis.Options{Username: "chime-worker", Password: "SECRET"})
	worker := chime.NewWorker(New(client, Options{}), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("j", func(context.Context, *chime.Job) error { return nil })
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	err := chime.Run(ctx, worker)
	if !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), "run ACL SETUSER chime-worker +lpush") {
		t.Errorf("Run returned %v, want ErrUnfit that says how to grant LPUSH", err)
	}
}

// What a user may not do says so, in whatever words the server does, and where the rules are.
func TestADeniedCallSaysWhereTheRulesAre(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{userLines(t)["producer"]}})
	store := New(server.Client(&redis.Options{Username: "chime-producer", Password: "SECRET"}), Options{})
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "j", nil); err != nil {
		t.Fatal(err)
	}
	for act, err := range map[string]error{
		"pause a queue":   chime.NewQueues(store).Pause(t.Context(), "default"),
		"pause":           chime.NewSchedules(store).Pause(t.Context(), "report"),
		"delete":          chime.NewSchedules(store).Delete(t.Context(), "report"),
		"look at a queue": func() error { _, err := chime.NewQueues(store).Get(t.Context(), "default"); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "lacks a permission, docs/access.md") {
			t.Errorf("%s: %v, want an error that names docs/access.md", act, err)
		}
	}
}

// A password is in no log, no error and no formatted value, whatever goes wrong with it.
func TestNoPasswordLeaks(t *testing.T) {
	const canary = "pa55-canary-word"
	server := redistest.Start(t, redistest.Options{Users: []string{"good on >" + canary + " ~* &* +@all", "poor on >" + canary + " ~* +@read +ping"}})
	down := redistest.Start(t, redistest.Options{})
	down.Kill()
	var all safeText
	log := slog.New(slog.NewTextHandler(&all, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, url := range []string{
		"redis://good:" + canary + "@" + server.Addr(), "redis://bad:" + canary + "@" + server.Addr(), "redis://poor:" + canary + "@" + server.Addr(),
		"redis://good:" + canary + "@" + down.Addr(), "rediss://good:" + canary + "@" + server.Addr(),
	} {
		options, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		options.DialTimeout, options.DialerRetries = 200*time.Millisecond, 1
		client := redis.NewClient(options)
		store := New(client, Options{Logger: log})
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log})
		worker.Handle("j", func(context.Context, *chime.Job) error { return nil })
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: log, SendTimeout: 300 * time.Millisecond})
		ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, enqueued := enqueuer.Enqueue(ctx, "j", nil)
		_, listed := chime.NewSchedules(store).Get(ctx, "s")
		ran := chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: log}))
		stop()
		for _, value := range []any{enqueued, listed, ran, store, store.store.Server(), worker, enqueuer, store.store.Check(t.Context())} {
			fmt.Fprintf(&all, "%v\n%+v\n%#v\n", value, value, value)
		}
		client.Close()
	}
	text := all.String()
	if strings.Contains(text, canary) {
		t.Errorf("the password is in what was logged or formatted:\n%s", text)
	}
	for _, want := range []string{"event=store.trouble", "WRONGPASS", "connection refused", "ACL SETUSER poor"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is nowhere in it, so this test shows little:\n%s", want, text)
		}
	}
}

// A safeText is a text that several goroutines write to.
type safeText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *safeText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *safeText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
