// Command bench measures chime beside other job libraries, alternately in one run, on servers that it starts itself.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if text := os.Getenv(roleVariable); text != "" {
		if err := runChild(text); err != nil {
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

// A commandLine has the flags of this run.
type commandLine struct {
	peers, measures string
	short           bool
	rounds          int
	within          time.Duration
	shuffle, aof    bool
	asJSON          bool
	out             string
	markdown        bool
	targets         bool
	document        string
	against         string
	from            files
}

// readCommandLine reads the command line and refuses invalid combinations.
func readCommandLine(flags *flag.FlagSet, arguments []string) (commandLine, error) {
	o := commandLine{shuffle: true}
	flags.StringVar(&o.peers, "peers", "", "measure these libraries, or these of their settings, only: `names`, comma-separated; empty: all")
	flags.StringVar(&o.measures, "measures", "", "take these measures, or these groups of measures, only: `names`, comma-separated; empty: all")
	flags.BoolVar(&o.short, "short", false, "the short form: smaller counts, three rounds, what takes long left out")
	flags.IntVar(&o.rounds, "rounds", 0, "`n` rounds, 1 at least; not given: 5, in the short form 3")
	flags.DurationVar(&o.within, "within", 0, "begin no round that would not end within this `time`; 0: no limit")
	flags.BoolVar(&o.shuffle, "shuffle", o.shuffle, "draw a new order of the peers for every round")
	flags.BoolVar(&o.aof, "aof", false, "run Redis with appendonly yes, appendfsync everysec")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON line a sample instead of the tables")
	flags.StringVar(&o.out, "out", "", "append the JSON lines to this `file` too")
	flags.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	flags.BoolVar(&o.targets, "targets", false, "print the targets and whether they are met instead of the tables")
	flags.StringVar(&o.document, "fill", "", "measure nothing, fill in the blocks of this `document` from what was recorded")
	flags.StringVar(&o.against, "against", "", "compare chime here with chime in another build, in turns: `path` of that bench program, or of a checkout to build it from")
	flags.Var(&o.from, "from", "measure nothing, print what this `file` recorded; may be repeated, and further files may follow the flags")
	flags.Usage = func() { usageText(flags) }
	if err := flags.Parse(arguments); err != nil {
		return commandLine{}, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if len(o.from) > 0 {
		o.from = append(o.from, flags.Args()...)
	} else if flags.NArg() > 0 {
		return commandLine{}, fmt.Errorf("unexpected arguments: %q", flags.Args())
	}
	if given["rounds"] && o.rounds < 1 {
		return commandLine{}, fmt.Errorf("-rounds %d: want 1 or more", o.rounds)
	}
	for _, other := range []string{"peers", "within", "shuffle", "json", "out", "targets", "from", "fill"} {
		if given["against"] && given[other] {
			return commandLine{}, fmt.Errorf("-%s has no meaning with -against, which compares two builds of chime", other)
		}
	}
	for _, printing := range []string{"from", "fill"} {
		for _, measuring := range []string{"short", "rounds", "within", "peers", "measures", "shuffle", "aof", "out"} {
			if given[printing] && given[measuring] {
				return commandLine{}, fmt.Errorf("-%s has no meaning with -%s, which measures nothing", measuring, printing)
			}
		}
	}
	if err := known("-peers", o.peers, peerNames(), libraryNames()); err != nil {
		return commandLine{}, err
	}
	return o, known("-measures", o.measures, measureNames(), groupNames())
}

// known refuses a list with an unknown name.
func known(what, list string, names, groups []string) error {
	if list == "" {
		return nil
	}
	for _, word := range strings.Split(list, ",") {
		if word = strings.TrimSpace(word); !slices.Contains(names, word) && !slices.Contains(groups, word) {
			return fmt.Errorf("%s: unknown name %q; known are %s; and of these %s",
				what, word, strings.Join(groups, ", "), strings.Join(names, ", "))
		}
	}
	return nil
}

// usageText is the output of -h.
func usageText(flags *flag.FlagSet) {
	fmt.Fprintf(flags.Output(), `bench measures chime beside other job libraries for Go, alternately in one run, on a redis-server of its own (and a
PostgreSQL of its own for River, where it is installed), and prints medians, extremes and how many times better chime is.

  go run . -short -peers chime,asynq -measures process   # a minute of it
  go run . -out results/mine.jsonl                       # all of it, five rounds, more than an hour; recorded as it goes
  go run . -from results/mine.jsonl -targets             # what was recorded, compared with the targets
  go run . -against ../../chime-before                   # chime here and in another checkout, in turns: what a change has changed

Groups of measures: %s.
Measures: %s.
Peers: %s.

`, strings.Join(groupNames(), ", "), strings.Join(measureNames(), ", "), strings.Join(peerNames(), ", "))
	flags.PrintDefaults()
}

func program(ctx context.Context) error {
	o, err := readCommandLine(flag.CommandLine, os.Args[1:])
	switch {
	case err != nil:
		return err
	case o.against != "":
		return o.pair(ctx)
	case o.document != "":
		return fill(o.document)
	case len(o.from) > 0:
		rec, err := readRecording(o.from...)
		if err != nil {
			return err
		}
		return o.print(rec)
	}
	return o.measure(ctx)
}

// print prints a recording in the form of the flags.
func (o commandLine) print(rec recording) error {
	switch {
	case o.targets:
		return writeTable(os.Stdout, targetTable(rec.samples), o.markdown)
	case o.asJSON:
		return rec.write(os.Stdout)
	}
	return writeReport(os.Stdout, rec, o.markdown)
}

// measure runs and records continuously. It prints all figures, even if some measures failed.
func (o commandLine) measure(ctx context.Context) error {
	form := longForm
	if o.short {
		form = shortForm
	}
	form.rounds = cmp.Or(o.rounds, form.rounds)
	var lines []io.Writer
	if o.asJSON {
		lines = append(lines, os.Stdout)
	}
	if o.out != "" {
		file, err := os.OpenFile(o.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		lines = append(lines, file)
	}
	u := run{
		measures: chosenMeasures(o.measures), only: o.peers, peers: chosenPeers(o.peers), within: o.within, progress: os.Stderr,
	}
	if o.shuffle {
		u.seed = rand.Uint64()
		fmt.Fprintf(u.progress, "the peers' order in each round is drawn with seed %d\n", u.seed)
		u.random = rand.New(rand.NewPCG(u.seed, 0))
	}
	rec, failed := measureAll(ctx, u, form, o.aof, io.MultiWriter(lines...))
	if len(rec.samples) == 0 || o.asJSON && !o.targets { // the lines are printed already
		return failed
	}
	if err := o.print(rec); err != nil {
		return err
	}
	if !o.asJSON {
		fmt.Printf("\n%s\n", o.next())
	}
	return failed
}

// next suggests the next step.
func (o commandLine) next() string {
	if o.out == "" {
		return "Next: -out FILE keeps the figures of a run; -from FILE prints them again, with -targets compared with the targets."
	}
	return fmt.Sprintf("Recorded in %[1]s. Next: -from %[1]s -targets compares it with the targets; -from %[1]s prints it again.", o.out)
}

// measureAll starts the servers, runs, and records to w continuously.
func measureAll(ctx context.Context, u run, form sizes, aof bool, w io.Writer) (recording, error) {
	postgres := slices.ContainsFunc(u.peers, func(p peer) bool { return p.library == riverDefaults.library })
	var err error
	if u.testbed, err = startTestbed(ctx, form, aof, postgres); err != nil {
		return recording{}, err
	}
	defer u.testbed.stop()
	now, err := conditionsNow(ctx, u.testbed, u.peers)
	if err != nil {
		return recording{}, err
	}
	now.Seed = u.seed
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

func groupNames() (names []string) {
	for _, m := range measures {
		if !slices.Contains(names, m.group) {
			names = append(names, m.group)
		}
	}
	return names
}

// libraryNames include the peers that compute instants and run no jobs.
func libraryNames() (names []string) {
	for _, p := range slices.Concat(peers, calendars) {
		if !slices.Contains(names, p.library) {
			names = append(names, p.library)
		}
	}
	return names
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
