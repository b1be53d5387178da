package main

import (
	"crypto/rand"
	"encoding/base64"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// open opens the store: on the Redis of -redis, or in this process. A store in this process gets a random key for secrets if none is given.
func (s *settings) open(log *slog.Logger) (store *redisstore.Store, closeStore func() error, err error) {
	options := redisstore.Options{Namespace: s.namespace, Logger: log}
	if s.client != nil {
		client := redis.NewClient(s.client)
		return redisstore.New(client, options), client.Close, nil
	}
	log.Warn("chimed: the store is in this process, and forgets all jobs and schedules when the process ends", "event", "store.unfit")
	server := embedded.StartInMemory() // without a port: every user of this machine could connect to it
	s.sealed = 2                       // nothing is stored in an older form
	if s.ring == nil {
		if s.ring, err = throwAwayRing(); err != nil {
			return nil, nil, err
		}
	}
	return redisstore.New(server.Client(), options), server.Close, nil
}

func throwAwayRing() (*action.Ring, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return action.ParseRing("this-process:" + base64.StdEncoding.EncodeToString(key))
}
