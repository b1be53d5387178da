package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// pairedMeasures are the default measures of -against: the ones that a change of chime affects first.
const pairedMeasures = "process 1,process 10,process 100,enqueue 1,enqueue 16,enqueue 1000"

// beforePeer is the peer of the other build's figures. The figures of this build belong to chime.
const beforePeer = "before"

// A build is this program, made of one revision of chime.
type build struct {
	program string
	folder  string // its working directory, in which git reports the revision; empty: the source is not known
}

// A pairing measures chime in two builds of this program, which take turns: in every pair each build takes each measure once, and the first
// one alternates. Each build is a process of its own, so any two revisions that know the flags can be compared.
type pairing struct {
	before, after build
	measures      []measure
	flags         []string // of both: -short, -aof
	pairs         int
	progress      io.Writer // gets a line a measurement
	// run returns the output of a build for these arguments; tests replace it.
	run func(ctx context.Context, b build, arguments ...string) ([]byte, error)
}

// do runs all pairs. It reports and skips failed measures, and returns their errors at the end.
func (p pairing) do(ctx context.Context) (all samples, revisions map[string]string, failed error) {
	revisions = map[string]string{}
	sides := []struct {
		peer string
		build
	}{{beforePeer, p.before}, {chimePeer.name(), p.after}}
	for pair := 1; pair <= p.pairs; pair++ {
		for _, m := range p.measures {
			for _, side := range sides {
				if ctx.Err() != nil {
					return all, revisions, errors.Join(failed, context.Cause(ctx))
				}
				arguments := append([]string{"-json", "-peers", chimePeer.name(), "-measures", m.name, "-rounds", "1", "-shuffle=false"}, p.flags...)
				text, err := p.run(ctx, side.build, arguments...)
				taken, revision := samplesIn(text)
				if err == nil && len(taken) == 0 {
					err = errors.New("it printed no figures")
				}
				if err != nil {
					err = fmt.Errorf("%s, pair %d, %s: %w", m.name, pair, side.program, err)
					fmt.Fprintln(p.progress, "failed:", err)
					failed = errors.Join(failed, err)
					continue
				}
				for _, s := range taken {
					s.Peer, s.Round = side.peer, pair
					all = append(all, s)
				}
				revisions[side.peer] = revision
				fmt.Fprintf(p.progress, "pair %d  %-16s  %-6s  %s %s\n", pair, m.name, sideOf(side.peer), quantity(taken[0].Value), taken[0].Figure)
			}
		}
		slices.Reverse(sides)
	}
	return all, revisions, failed
}

// sideOf returns the reader's name for the side whose figures have this peer.
func sideOf(peer string) string {
	if peer == beforePeer {
		return "before"
	}
	return "after"
}

// samplesIn reads the lines that a build prints with -json; fields that another revision added or left out do not matter.
func samplesIn(text []byte) (all samples, revision string) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var line struct {
			sample
			Conditions struct {
				Revision string `json:"revision"`
				Changed  bool   `json:"changed"`
			} `json:"conditions"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		if line.Measure != "" && line.Figure != "" {
			all = append(all, line.sample)
		}
		if c := line.Conditions; c.Revision != "" {
			if revision = c.Revision; c.Changed {
				revision += ", changed since"
			}
		}
	}
	return all, revision
}

// pairedTable has a row for every figure: its medians before and after, and their ratio.
func pairedTable(all samples) table {
	t := table{
		heading: []string{"measure", "figure", "before", "after", "after is", "least", "most", "pair by pair"},
		numbers: []bool{false, false, true, true, true, true, true, false},
	}
	type head struct {
		measure, figure, unit string
		less                  bool
	}
	for _, h := range distinct(all, func(s sample) head { return head{s.Measure, s.Figure, s.Unit, s.Less} }) {
		before, _ := all.spreadOf(h.measure, h.figure, beforePeer)
		after, _ := all.spreadOf(h.measure, h.figure, chimePeer.name())
		row := []string{h.measure, labelOf(h.figure, h.unit), before.middle(), after.middle()}
		c, ok := all.compare(h.measure, h.figure, beforePeer, h.less)
		if !ok {
			t.rows = append(t.rows, append(row, "", "", "", ""))
			continue
		}
		var each []string
		ratios, _ := all.ratios(h.measure, h.figure, beforePeer, h.less)
		for _, ratio := range ratios {
			each = append(each, strings.TrimSuffix(times(ratio), " ×"))
		}
		t.rows = append(t.rows, append(row, c.String(), times(c.least), times(c.most), strings.Join(each, " ")))
	}
	return t
}

// pairedMeans is the text below the table of a pairing.
const pairedMeans = "after is: how many times better it is than before, pair by pair: above 1 it is better, whether more or less is better. " +
	"The median of all pairs, the least and the most."

// writePaired writes the two builds and their comparison.
func writePaired(w io.Writer, p pairing, all samples, revisions map[string]string, markdown bool) error {
	for _, side := range []struct {
		peer string
		build
	}{{beforePeer, p.before}, {chimePeer.name(), p.after}} {
		what := side.program
		if side.folder != "" {
			what = "chime at " + cmp.Or(revisions[side.peer], "unknown")
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", sideOf(side.peer), what); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := writeTable(w, pairedTable(all), markdown); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", pairedMeans)
	return err
}

// pair runs this program against another build of it.
func (o commandLine) pair(ctx context.Context) error {
	before, remove, err := openBuild(ctx, o.against)
	if err != nil {
		return err
	}
	defer remove()
	after := build{folder: "."}
	if after.program, err = os.Executable(); err != nil {
		return err
	}
	form := longForm
	p := pairing{before: before, after: after, progress: os.Stderr, run: runBuild}
	if o.short {
		form, p.flags = shortForm, append(p.flags, "-short")
	}
	if o.aof {
		p.flags = append(p.flags, "-aof")
	}
	p.measures, p.pairs = chosenMeasures(cmp.Or(o.measures, pairedMeasures)), cmp.Or(o.rounds, form.rounds)
	all, revisions, failed := p.do(ctx)
	if len(all) == 0 {
		return failed
	}
	return errors.Join(writePaired(os.Stdout, p, all, revisions, o.markdown), failed)
}

// openBuild returns the build at a path: a program, or a checkout of another revision, which it builds into a folder that remove deletes.
func openBuild(ctx context.Context, path string) (b build, remove func(), err error) {
	remove = func() {}
	info, err := os.Stat(path)
	if err != nil {
		return build{}, remove, fmt.Errorf("-against: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return build{}, remove, err
	}
	if !info.IsDir() {
		return build{program: path}, remove, nil
	}
	temporary, err := os.MkdirTemp("", "chime-bench-")
	if err != nil {
		return build{}, remove, err
	}
	remove = func() { _ = os.RemoveAll(temporary) }
	b = build{program: filepath.Join(temporary, "bench"), folder: filepath.Join(path, "bench")}
	command := exec.CommandContext(ctx, "go", "build", "-o", b.program, ".")
	command.Dir = b.folder
	if text, err := command.CombinedOutput(); err != nil {
		remove()
		return build{}, func() {}, fmt.Errorf("-against: build %s: %w: %s", b.folder, err, bytes.TrimSpace(text))
	}
	return b, remove, nil
}

// runBuild runs a build and returns its output; an error contains the last line of its standard error.
func runBuild(ctx context.Context, b build, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, b.program, arguments...)
	endWithParent(command)
	command.Dir, command.WaitDelay = b.folder, 10*time.Second
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // it stops its server
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		err = fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return text, err
}
