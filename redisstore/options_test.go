package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

func TestAStoreSaysItsNamespace(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for option, want := range map[string]string{"": "chime", "billing": "billing"} {
		if got := New(client, Options{Namespace: option}).Namespace(); got != want {
			t.Errorf("of the option %q: got %q, want %q", option, got, want)
		}
	}
}

// A Ring would put the keys of one queue on several servers.
func TestARingIsRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1", "b": "127.0.0.1:2"}})
	defer ring.Close()
	store := New(ring, Options{})
	_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "work", nil)
	for what, err := range map[string]error{"enqueue": err, "run": chime.Run(t.Context(), chime.NewScheduler(store, chime.SchedulerOptions{}))} {
		if !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), "*redis.Ring") || !strings.Contains(err.Error(), "redis.NewClusterClient") {
			t.Errorf("%s: %v, want ErrUnfit with the clients to use", what, err)
		}
	}
}

func TestARefusedOptionIsNamedWithItsValueAndLimit(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for _, test := range []struct {
		options Options
		want    chime.InvalidError
	}{
		{Options{Namespace: "a b"}, chime.InvalidError{Field: "Options.Namespace", Value: "a b", Limit: "1 to 100 of A-Z a-z 0-9 _ . -"}},
		{Options{Namespace: strings.Repeat("n", 101)}, chime.InvalidError{Field: "Options.Namespace", Value: strings.Repeat("n", 64) + "…", Limit: "1 to 100 of A-Z a-z 0-9 _ . -"}},
		{Options{Partitions: map[string]int{"mail": 1025}}, chime.InvalidError{Field: `Options.Partitions["mail"]`, Value: "1025", Limit: "1 to 1024"}},
		{Options{DeadRetention: -time.Hour}, chime.InvalidError{Field: "Options.DeadRetention", Value: "-1h0m0s", Limit: "0, which is the default, or more"}},
		{Options{MaxDead: -1}, chime.InvalidError{Field: "Options.MaxDead", Value: "-1", Limit: "0, which is the default, or more"}},
		{Options{ParkedRetention: -1}, chime.InvalidError{Field: "Options.ParkedRetention", Value: "-1ns", Limit: "0, which is the default, or more"}},
	} {
		_, err := chime.NewQueues(New(client, test.options)).List(t.Context())
		var invalid *chime.InvalidError
		if !errors.Is(err, chime.ErrUnfit) || !errors.As(err, &invalid) {
			t.Errorf("%+v: %v, want ErrUnfit and an InvalidError", test.options, err)
			continue
		}
		if invalid.Field != test.want.Field || invalid.Value != test.want.Value || invalid.Limit != test.want.Limit {
			t.Errorf("refused %q, %q, %q; want %q, %q, %q", invalid.Field, invalid.Value, invalid.Limit, test.want.Field, test.want.Value, test.want.Limit)
		}
	}
}
