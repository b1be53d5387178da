// Command bench measures chime beside other job libraries, alternately in one run, on servers that it starts itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var (
		only   = flag.String("peers", "", "measure these libraries only, comma-separated; empty: all")
		groups = flag.String("measures", "", "run these groups of measures only, comma-separated; empty: all")
		short  = flag.Bool("short", false, "the short form: smaller counts")
		rounds = flag.Int("rounds", 0, "rounds; 0: 5")
		aof    = flag.Bool("aof", false, "run Redis with appendonly yes, appendfsync everysec")
	)
	flag.Parse()
	form := longForm
	if *short {
		form = shortForm
	}
	if *rounds > 0 {
		form.rounds = *rounds
	}
	server, err := startRedis(ctx, *aof)
	if err != nil {
		return err
	}
	defer server.stop()
	r := &rig{redis: server, sizes: form}
	if chosen(*only, riverDefaults.library) {
		if r.postgres, err = startPostgres(ctx); err != nil {
			return err
		}
		if r.postgres == nil {
			fmt.Fprintln(os.Stderr, "bench: PostgreSQL is not installed: River is left out")
			peers = slices.DeleteFunc(peers, func(p peer) bool { return p.library == riverDefaults.library })
		} else {
			defer r.postgres.stop()
		}
	}

	var all samples
	for _, m := range measures {
		if !chosen(*groups, m.group) {
			continue
		}
		for round := 1; round <= form.rounds; round++ {
			for _, p := range peers {
				if !chosen(*only, p.library) || len(m.only) > 0 && !slices.Contains(m.only, p.library) {
					continue
				}
				if err := r.server(p).empty(ctx); err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
				figures, err := m.run(ctx, r, p)
				cancel()
				if errors.Is(err, errors.ErrUnsupported) {
					continue
				}
				if err != nil {
					return fmt.Errorf("%s, %s, round %d: %w", m.name, p.name(), round, err)
				}
				for _, f := range figures {
					all = append(all, sample{m.name, f.name, f.unit, f.less, p.name(), round, f.value})
					fmt.Printf("%-14s %-14s %d %-30s %12.2f %s\n", m.name, p.name(), round, f.name, f.value, f.unit)
				}
			}
		}
	}
	return nil
}

// chosen reports whether a comma-separated list names a word; an empty list names all.
func chosen(list, word string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), word)
}
