// Package story is a store as it stood at one instant of a company's Friday, for pictures of the dashboard and for tests that look at it: five weeks of
// schedules, an hour of traffic, and what goes wrong in both. It is the same each time, and its clock stands still.
//
// What it holds was not written by hand: tell_test.go plays those weeks under fake time, with real roles, and keeps what is then in the store.
package story

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// At is the instant at which the store's clock stands: Friday, 14:26:48 in Berlin.
var At = time.Date(2026, 11, 20, 13, 26, 48, 0, time.UTC)

// Namespace is the company's.
const Namespace = "billing"

//go:generate go test -run TestTheStoryIsToldAsItWasKept -count=1 . -update
//go:embed testdata/story.json.gz
var kept []byte

// A Store is the story in the memory of this process. Close ends it.
type Store struct {
	chime.Store
	mini   *miniredis.Miniredis
	client *redis.Client
}

// Open opens a copy of its own: what changes in it changes in no other.
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

// Empty opens a store of the same namespace and clock that holds nothing.
func Empty() (*Store, error) { return start() }

func start() (*Store, error) {
	mini := miniredis.NewMiniRedis()
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("story: %w", err)
	}
	mini.SetTime(At)
	client := redis.NewClient(&redis.Options{
		Addr: mini.Addr(), Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return &Store{redisstore.New(client, redisstore.Options{Namespace: Namespace}), mini, client}, nil
}

// Now is the store's clock, which stands still.
func (s *Store) Now() time.Time { return At }

// Close ends the server. Who looks at the store must have ended before.
func (s *Store) Close() {
	_ = s.client.Close()
	s.mini.Close()
}

// Stop has the server refuse every connection and command, as one that is gone.
func (s *Store) Stop() { s.mini.Close() }
