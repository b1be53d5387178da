// Command bench measures chime beside other job libraries, alternately in one run, on servers that it starts itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if text := os.Getenv(roleVariable); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, "bench: a child:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := program(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func program(ctx context.Context) error {
	var (
		only     = flag.String("peers", "", "measure these libraries only, comma-separated; empty: all")
		groups   = flag.String("measures", "", "run these groups of measures, or these measures, only, comma-separated; empty: all")
		short    = flag.Bool("short", false, "the short form: smaller counts, three rounds")
		rounds   = flag.Int("rounds", 0, "rounds; 0: 5, in the short form 3")
		within   = flag.Duration("within", 0, "begin no round that would not end within this time; 0: no limit")
		shuffle  = flag.Bool("shuffle", false, "draw the order of the peers anew for every round")
		aof      = flag.Bool("aof", false, "run Redis with appendonly yes, appendfsync everysec")
		asJSON   = flag.Bool("json", false, "print one JSON line a sample instead of the table")
		out      = flag.String("out", "", "append the JSON lines to this file too")
		markdown = flag.Bool("markdown", false, "print Markdown")
		targets  = flag.Bool("targets", false, "print the targets and whether they are met instead of the table")
		document = flag.String("fill", "", "measure nothing, fill in the blocks of this document from what was recorded")
		from     files
	)
	flag.Var(&from, "from", "measure nothing, print what this file recorded; may be repeated, and further files may follow the flags")
	flag.Parse()
	if len(from) == 0 && flag.NArg() > 0 {
		return fmt.Errorf("arguments that mean nothing: %q", flag.Args())
	}

	if *document != "" {
		return fill(*document)
	}
	var rec recording
	var failed error
	if len(from) > 0 {
		if rec, failed = readRecording(append(from, flag.Args()...)...); failed != nil {
			return failed
		}
	} else {
		form := longForm
		if *short {
			form = shortForm
		}
		if *rounds > 0 {
			form.rounds = *rounds
		}
		var lines []io.Writer
		if *asJSON {
			lines = append(lines, os.Stdout)
		}
		if *out != "" {
			file, err := os.OpenFile(*out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			defer file.Close()
			lines = append(lines, file)
		}
		u := run{measures: chosenMeasures(*groups), only: *only, peers: chosenPeers(*only), within: *within, shuffle: *shuffle, progress: os.Stderr}
		if len(u.measures) == 0 {
			return fmt.Errorf("no measure or peer is called that; measures %q, peers %q", measureNames(), peerNames())
		}
		rec, failed = measureAll(ctx, u, form, *aof, io.MultiWriter(lines...))
	}

	var err error
	switch {
	case *targets:
		err = writeTable(os.Stdout, targetTable(rec.samples), *markdown)
	case *asJSON && len(from) == 0: // printed already
	case *asJSON:
		err = rec.write(os.Stdout)
	default:
		err = writeReport(os.Stdout, rec, *markdown)
	}
	if failed != nil {
		return failed
	}
	return err
}

// measureAll starts the servers, runs and records to w as it goes.
func measureAll(ctx context.Context, u run, form sizes, aof bool, w io.Writer) (recording, error) {
	server, err := startRedis(ctx, aof)
	if err != nil {
		return recording{}, err
	}
	defer server.stop()
	u.rig = &rig{redis: server, sizes: form, aof: aof}
	if slices.ContainsFunc(u.peers, func(p peer) bool { return p.library == riverDefaults.library }) {
		if u.rig.postgres, err = startPostgres(ctx); err != nil {
			return recording{}, err
		}
		if u.rig.postgres != nil {
			defer u.rig.postgres.stop()
		}
	}
	now, err := conditionsNow(ctx, u.rig, u.peers)
	if err != nil {
		return recording{}, err
	}
	rec := recording{conditions: []conditions{now}}
	if err := writeLine(w, header{now}); err != nil {
		return recording{}, err
	}
	u.record = func(s sample) error {
		rec.samples = append(rec.samples, s)
		return writeLine(w, s)
	}
	err = u.do(ctx)
	return rec, err
}

// files are the values of a flag that may be repeated.
type files []string

func (f *files) String() string { return strings.Join(*f, " ") }
func (f *files) Set(name string) error {
	*f = append(*f, name)
	return nil
}

// chosen reports whether a comma-separated list names one of the words; an empty list names all.
func chosen(list string, words ...string) bool {
	return list == "" || slices.ContainsFunc(strings.Split(list, ","), func(w string) bool { return slices.Contains(words, strings.TrimSpace(w)) })
}

func chosenMeasures(list string) []measure {
	return slices.DeleteFunc(slices.Clone(measures), func(m measure) bool { return !chosen(list, m.group, m.name) })
}

func chosenPeers(list string) []peer {
	return slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return !chosen(list, p.library, p.name()) })
}

func measureNames() (names []string) {
	for _, m := range measures {
		names = append(names, m.name)
	}
	return names
}

func peerNames() (names []string) {
	for _, p := range peers {
		names = append(names, p.name())
	}
	return names
}
