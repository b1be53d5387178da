package story

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

var update = flag.Bool("update", false, "keep the story as it is told now")

// The company moved its schedules to chime in the middle of October. Until the last day the teller passes over the hours in which nothing is due;
// then one of its programs runs without a gap, and in the last hours all three.
var (
	begins    = time.Date(2026, 10, 15, 8, 0, 0, 0, time.UTC)
	crmBegins = time.Date(2026, 11, 5, 14, 30, 0, 0, time.UTC)
	lastDay   = At.Add(-26 * time.Hour)
	lastHours = At.Add(-2 * time.Hour)
)

var quiet = slog.New(slog.DiscardHandler)

// A teller plays the story.
type teller struct {
	t         *testing.T
	client    *redis.Client
	store     chime.Store
	schedules *chime.Schedules
	queues    *chime.Queues
	enqueuer  *chime.Enqueuer
}

func newTeller(t *testing.T) *teller {
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	store := redisstore.New(server.Client(), redisstore.Options{Namespace: Namespace, Logger: quiet})
	return &teller{
		t: t, client: server.Client(), store: store, schedules: chime.NewSchedules(store), queues: chime.NewQueues(store),
		enqueuer: chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}),
	}
}

func (s *teller) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%v: %v", time.Now().UTC(), err)
	}
}

// until lets time pass up to an instant.
func until(instant time.Time) { time.Sleep(time.Until(instant)) } // fake time

// tell plays the story up to At, and returns what the store holds then.
func (s *teller) tell() []byte {
	until(begins)
	s.found()
	s.pass(crmBegins)
	s.connect()
	s.pass(lastDay)
	stop := s.open(programs[:1])
	s.deploy()
	until(lastHours)
	stop()
	defer s.open(programs)()
	s.traffic()
	until(At)
	synctest.Wait()
	s.disguise()
	var held bytes.Buffer
	s.check(save(s.t.Context(), s.client, &held))
	return held.Bytes()
}

// disguise writes into the sessions which program holds them, where they have this process: a client of the store cannot say it is another.
func (s *teller) disguise() {
	host, err := os.Hostname()
	s.check(err)
	sessions, err := s.client.Keys(s.t.Context(), "*:inflight:*").Result()
	s.check(err)
	for _, session := range sessions {
		fields, err := s.client.HGetAll(s.t.Context(), session).Result()
		s.check(err)
		for field, value := range fields {
			told := strings.ReplaceAll(value, fmt.Sprintf(" %s %d ", host, os.Getpid()), fmt.Sprintf(" %s %d ", programs[0].host, programs[0].pid))
			s.check(s.client.HSet(s.t.Context(), session, field, told).Err())
		}
	}
}

// pass lets time pass up to an instant, with a worker only where something is due.
func (s *teller) pass(end time.Time) {
	for {
		next := end
		soonest, err := s.schedules.Soonest(s.t.Context(), 1)
		s.check(err)
		if len(soonest) > 0 && soonest[0].Next.Before(end) {
			next = soonest[0].Next
		}
		s.events(next)
		until(next.Add(-time.Second))
		if next == end {
			return
		}
		worker := s.worker(programs[0])
		ctx, stop := context.WithCancel(s.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx) }()
		until(next.Add(8 * time.Second))
		if mailIsDown(next) { // five attempts
			until(next.Add(10 * time.Minute))
		}
		stop()
		s.check(<-ended)
	}
}

// open starts programs, which run until stop is called. One of them has a scheduler.
func (s *teller) open(programs []program) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, len(programs))
	for i, program := range programs {
		roles := []chime.Role{s.worker(program)}
		if i == 0 {
			roles = append(roles, s.scheduler(program))
		}
		go func() { ended <- chime.Run(ctx, roles...) }()
	}
	return func() {
		cancel()
		for range programs {
			<-ended // with what was cut off
		}
	}
}

// The story is kept as it is told: what the pages show of it is true of a store that real roles have filled. Identifiers differ each time,
// so it is its facts that are compared.
func TestTheStoryIsToldAsItWasKept(t *testing.T) {
	var told []byte
	synctest.Test(t, func(t *testing.T) { told = newTeller(t).tell() })
	if *update {
		if err := os.WriteFile("testdata/story.json.gz", told, 0o644); err != nil {
			t.Fatal(err)
		}
		kept = told
	}
	want := open(t)
	got, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(got.Close)
	if err := load(t.Context(), got.client, bytes.NewReader(told)); err != nil {
		t.Fatal(err)
	}
	said, meant := facts(t, got), facts(t, want)
	for fact := range meant {
		if said[fact] != meant[fact] {
			t.Errorf("%s: now %q, kept was %q: if that is meant, go generate ./story in internal/browser", fact, said[fact], meant[fact])
		}
	}
	if len(said) != len(meant) {
		t.Errorf("%d facts now, %d were kept", len(said), len(meant))
	}
}
