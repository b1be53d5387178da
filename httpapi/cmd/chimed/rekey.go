package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore"
)

const rekeyUsage = `chimed rekey seals the secrets of all jobs with the first key. To change keys: put a new key in front, restart every
chimed, and run rekey. Remove the old key when no job waits for a retry any more: such jobs keep their sealed secrets.

  -redis URL            see chimed -h
  -namespace NAME       see chimed -h
  -secret-keys FILE     see chimed -h
  -log FORM             text or json, to standard error; default text
`

func (p process) rekey(ctx context.Context) error {
	var s settings
	f := newFlags("rekey")
	s.declareStore(f)
	rest, err := f.parse(p, rekeyUsage, "redis", "namespace", "secret-keys", "log")
	if err != nil {
		return err
	}
	for _, err := range []error{s.readRedis(f), s.checkNamespace(), s.readRing(f), s.checkLog()} {
		if err != nil {
			return usageError{err}
		}
	}
	switch {
	case len(rest) > 0:
		return badUsage("rekey accepts flags only, got %.40q", rest[0])
	case s.client == nil:
		return badUsage("rekey needs -redis: a store in memory has its own key")
	case s.ring == nil:
		return badUsage("rekey needs -secret-keys")
	}
	log := s.logger(p)
	slog.SetDefault(log)
	redis.SetLogger(redisstore.ClientLogger(log))
	store, closeStore, err := s.open(log)
	if err != nil {
		return err
	}
	defer closeStore()
	changed, err := httpapi.New(store, httpapi.Options{Authenticate: httpapi.Loopback(), Secrets: s.ring, Logger: log}).Rekey(ctx)
	fmt.Fprintf(p.out, "sealed again: %d jobs\n", changed)
	if err != nil {
		return fmt.Errorf("rekey has stopped; it can be run again: %w", err)
	}
	return nil
}
