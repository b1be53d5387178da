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

var update = flag.Bool("update", false, "store the played story")

// The company moved its schedules to chime in the middle of October. Until the last day the player skips the hours in which nothing is due. On the last
// day one of its programs runs without a gap, and in the last hours all three run.
var (
	begins    = time.Date(2026, 10, 15, 8, 0, 0, 0, time.UTC)
	crmBegins = time.Date(2026, 11, 5, 14, 30, 0, 0, time.UTC)
	lastDay   = At.Add(-26 * time.Hour)
	lastHours = At.Add(-2 * time.Hour)
)

var quiet = slog.New(slog.DiscardHandler)

// A player plays the story.
type player struct {
	t         *testing.T
	client    *redis.Client
	store     chime.Store
	schedules *chime.Schedules
	queues    *chime.Queues
	enqueuer  *chime.Enqueuer
}

func newPlayer(t *testing.T) *player {
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	store := redisstore.New(server.Client(), redisstore.Options{Namespace: Namespace, Logger: quiet})
	return &player{
		t: t, client: server.Client(), store: store, schedules: chime.NewSchedules(store), queues: chime.NewQueues(store),
		enqueuer: chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}),
	}
}

func (s *player) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%v: %v", time.Now().UTC(), err)
	}
}

// until waits until an instant of fake time.
func until(instant time.Time) { time.Sleep(time.Until(instant)) } // fake time

// play plays the story up to At, and returns the contents of the store.
func (s *player) play() []byte {
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

// disguise replaces this process by the right program in the sessions, because a client of the store cannot claim to be another process.
func (s *player) disguise() {
	host, err := os.Hostname()
	s.check(err)
	sessions, err := s.client.Keys(s.t.Context(), "*:inflight:*").Result()
	s.check(err)
	for _, session := range sessions {
		fields, err := s.client.HGetAll(s.t.Context(), session).Result()
		s.check(err)
		for field, value := range fields {
			played := strings.ReplaceAll(value, fmt.Sprintf(" %s %d ", host, os.Getpid()), fmt.Sprintf(" %s %d ", programs[0].host, programs[0].pid))
			s.check(s.client.HSet(s.t.Context(), session, field, played).Err())
		}
	}
}

// pass waits until an instant of fake time, with a worker only while something is due.
func (s *player) pass(end time.Time) {
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

// open starts programs that run until stop is called. One of them has a scheduler.
func (s *player) open(programs []program) (stop func()) {
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
			<-ended // including the handlers that were cut off
		}
	}
}

// The stored story equals the played one, so pages show data that real roles have written. Identifiers differ each time, so only facts are compared.
func TestTheStoredStoryIsTheOneThatIsPlayed(t *testing.T) {
	var played []byte
	synctest.Test(t, func(t *testing.T) { played = newPlayer(t).play() })
	if *update {
		if err := os.WriteFile("testdata/story.json.gz", played, 0o644); err != nil {
			t.Fatal(err)
		}
		kept = played
	}
	want := open(t)
	got, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(got.Close)
	if err := load(t.Context(), got.client, bytes.NewReader(played)); err != nil {
		t.Fatal(err)
	}
	said, meant := facts(t, got), facts(t, want)
	for fact := range meant {
		if said[fact] != meant[fact] {
			t.Errorf("%s: now %q, stored %q. If the change is intended, run go generate ./story in internal/browser", fact, said[fact], meant[fact])
		}
	}
	if len(said) != len(meant) {
		t.Errorf("%d facts now, %d are stored", len(said), len(meant))
	}
}
