package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// concurrently takes the measures that mostly wait: all rounds of all peers run at the same time, each on its own servers, and so do the measures
// of a group; in the short form, of all groups. Measures that are taken round by round run alone.
func (u *run) concurrently(ctx context.Context, peers []peer) []error {
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed []error
		group  string
	)
	for _, m := range u.measures {
		if !m.concurrent || ctx.Err() != nil {
			continue
		}
		if m.roundByRound || m.group != group && !u.testbed.sizes.short {
			wait.Wait()
		}
		group = m.group
		for round := 1; round <= m.rounds(u.testbed.sizes); round++ {
			for _, p := range u.peersOf(m, peers) {
				wait.Go(func() {
					began := time.Now()
					figures, err := u.alone(ctx, m, p)
					mu.Lock()
					defer mu.Unlock()
					if err := u.report(m, p, round, figures, err, time.Since(began)); err != nil {
						fmt.Fprintln(u.progress, "failed:", err)
						failed = append(failed, err)
					}
				})
			}
			if m.roundByRound {
				wait.Wait()
			}
		}
	}
	wait.Wait()
	return failed
}

// alone measures one peer once, on its own servers.
func (u *run) alone(ctx context.Context, m measure, p peer) ([]figure, error) {
	r, err := startTestbed(ctx, u.testbed.sizes, u.testbed.aof, p.library == riverDefaults.library)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return m.run(ctx, r, p)
}
