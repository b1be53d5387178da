// Package story has a store at one instant of a company's Friday, for pictures and tests of the dashboard: five weeks of schedules, an hour of traffic,
// and the failures in both. It is the same each time, and its clock is stopped.
//
// Its contents were not written manually: play_test.go plays those weeks under fake time with real roles, and stores the result.
package story

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/redisstore"
)

// At is the instant of the store's clock: Friday, 14:26:48 in Berlin.
var At = time.Date(2026, 11, 20, 13, 26, 48, 0, time.UTC)

// Namespace is the namespace of the company.
const Namespace = "billing"

//go:generate go test -run TestTheStoredStoryIsTheOneThatIsPlayed -count=1 . -update
//go:embed testdata/story.json.gz
var kept []byte

// A Store is the story in the memory of this process. Close ends it.
type Store struct {
	chime.Store
	mini   *simredis.Server
	client *redis.Client
}

// Open opens a separate copy. Changes in it do not affect other copies.
func Open() (*Store, error) {
	s, err := start()
	if err != nil {
		return nil, err
	}
	if err := load(context.Background(), s.client, bytes.NewReader(kept)); err != nil {
		s.Close()
		return nil, fmt.Errorf("story: %w", err)
	}
	return s, nil
}

// Empty opens an empty store with the same namespace and clock.
func Empty() (*Store, error) { return start() }

func start() (*Store, error) {
	mini := simredis.New()
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("story: %w", err)
	}
	mini.SetTime(At)
	client := redis.NewClient(&redis.Options{
		Addr: mini.Addr(), Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return &Store{redisstore.New(client, redisstore.Options{Namespace: Namespace}), mini, client}, nil
}

// Now returns the time of the store's clock, which is stopped.
func (s *Store) Now() time.Time { return At }

// Close ends the server. All users of the store must have ended before.
func (s *Store) Close() {
	_ = s.client.Close()
	s.mini.Close()
}

// Stop makes the server refuse every connection and command, like a server that is down.
func (s *Store) Stop() { s.mini.Close() }
