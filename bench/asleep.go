package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// asleep measures what waits and does not work: all rounds of all peers at the same time, each on servers of its own. In the
// short form all such measures share that time.
func (u *run) asleep(ctx context.Context, peers []peer) []error {
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed []error
	)
	for _, m := range u.measures {
		if !m.asleep || m.long && u.rig.sizes.short || ctx.Err() != nil {
			continue
		}
		for round := 1; round <= u.rig.sizes.rounds; round++ {
			for _, p := range u.peersOf(m, peers) {
				wait.Go(func() {
					began := time.Now()
					figures, err := u.alone(ctx, m, p)
					mu.Lock()
					defer mu.Unlock()
					if err := u.tell(m, p, round, figures, err, time.Since(began)); err != nil {
						fmt.Fprintln(u.progress, "failed:", err)
						failed = append(failed, err)
					}
				})
			}
		}
		if !u.rig.sizes.short {
			wait.Wait()
		}
	}
	wait.Wait()
	return failed
}

// alone measures one peer once, on servers of its own.
func (u *run) alone(ctx context.Context, m measure, p peer) ([]figure, error) {
	r, err := startRig(ctx, u.rig.sizes, u.rig.aof, p.library == riverDefaults.library)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return m.run(ctx, r, p)
}

// startRig starts the servers of a rig; PostgreSQL where it is wanted and installed.
func startRig(ctx context.Context, form sizes, aof, postgres bool) (*rig, error) {
	r := &rig{sizes: form, aof: aof}
	var err error
	if r.redis, err = startRedis(ctx, aof); err != nil {
		return nil, err
	}
	if postgres {
		if r.postgres, err = startPostgres(ctx); err != nil {
			r.redis.stop()
			return nil, fmt.Errorf("PostgreSQL: %w", err)
		}
	}
	return r, nil
}

func (r *rig) stop() {
	if r.postgres != nil {
		r.postgres.stop()
	}
	r.redis.stop()
}
