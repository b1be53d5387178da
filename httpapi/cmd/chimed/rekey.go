package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore"
)

const rekeyUsage = `chimed rekey seals the secrets of all jobs with the first key, and in form 2. It runs beside working processes.

To change keys: put a new key in front, restart every chimed, and run rekey.
After an update from a release without form 2: replace every chimed, and run rekey. From then on secrets are
sealed in form 2 only, see -sealed of chimed -h.

Runs that have begun keep their sealed secrets. While there are any with an old key or form, rekey prints their
number and exits with 1. Keep the old key, run rekey again later, and remove the key when it exits with 0.

  -redis URL            see chimed -h
  -namespace NAME       see chimed -h
  -secret-keys FILE     see chimed -h
  -sealed N             see chimed -h; with 2, secrets in form 1 are refused here too
  -log FORM             text or json, to standard error; default text
`

func (p process) rekey(ctx context.Context) error {
	var s settings
	f := newFlags("rekey")
	s.declareStore(f)
	rest, err := f.parse(p, rekeyUsage, "redis", "namespace", "secret-keys", "sealed", "log")
	if err != nil {
		return err
	}
	for _, err := range []error{s.readRedis(f), s.checkNamespace(), s.readRing(f), s.checkSealed(), s.checkLog()} {
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
	done, err := httpapi.New(store, httpapi.Options{Authenticate: httpapi.Loopback(), Secrets: s.ring, Sealed: s.sealed, Logger: log}).Rekey(ctx)
	fmt.Fprintf(p.out, "sealed again: %d jobs\n", done.Changed)
	if err != nil {
		return fmt.Errorf("rekey has stopped; it can be run again: %w", err)
	}
	if done.Dead > 0 {
		fmt.Fprintf(p.out, "dead jobs with an old seal: %d; they cannot be requeued without the old key\n", done.Dead)
	}
	if done.Waiting > 0 {
		return fmt.Errorf("jobs that wait with an old seal: %d; keep the old key, and run rekey again when they have ended", done.Waiting)
	}
	return nil
}
