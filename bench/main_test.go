package main

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"
)

// ordered reads a command line. It also returns the output.
func ordered(arguments ...string) (commandLine, string, error) {
	var printed bytes.Buffer
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(&printed)
	o, err := readCommandLine(flags, arguments)
	return o, printed.String(), err
}

func TestWhatHasNoMeaningOnTheCommandLineIsRefused(t *testing.T) {
	for _, c := range []struct {
		arguments string
		want      string // part of the error
	}{
		{"-peers chime,asink", `unknown name "asink"; known are chime, asynq`},
		{"-measures process,proces", `unknown name "proces"; known are process`},
		{"-measures chime", "-measures"},
		{"-rounds 0", "want 1 or more"},
		{"-rounds -1", "want 1 or more"},
		{"-from a -short", "-short has no meaning"},
		{"-from a -rounds 3", "-rounds has no meaning"},
		{"-from a -peers chime", "-peers has no meaning"},
		{"-from a -measures process", "-measures has no meaning"},
		{"-from a -out b", "-out has no meaning"},
		{"-fill a -short", "-short has no meaning"},
		{"a", "unexpected arguments"},
		{"-against a -peers chime", "-peers has no meaning"},
		{"-against a -out b", "-out has no meaning"},
		{"-against a -fill b", "-fill has no meaning"},
	} {
		if _, _, err := ordered(strings.Fields(c.arguments)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.arguments, err, c.want)
		}
	}
}

func TestACommandLineSaysWhatToMeasure(t *testing.T) {
	o, _, err := ordered("-peers", "chime, asynq tuned", "-measures", "process 1,idle", "-rounds", "2")
	if err != nil || !o.shuffle || o.rounds != 2 {
		t.Fatalf("got %+v, %v, want two shuffled rounds", o, err)
	}
	var names []string
	for _, p := range chosenPeers(o.peers) {
		names = append(names, p.name())
	}
	if got := strings.Join(names, ","); got != "chime,asynq tuned" {
		t.Errorf("peers %s, want chime and the one setting of asynq", got)
	}
	for _, m := range chosenMeasures(o.measures) {
		if m.name != "process 1" && m.group != "idle" {
			t.Errorf("%s is measured too", m.name)
		}
	}
	if o, _, err := ordered("-from", "a", "-from", "b", "c"); err != nil || o.from.String() != "a b c" {
		t.Errorf("recordings %q, %v, want all three", o.from, err)
	}
}

func TestHelpNamesEveryMeasureAndPeer(t *testing.T) {
	_, printed, err := ordered("-h")
	if err != flag.ErrHelp {
		t.Fatalf("got %v, want %v", err, flag.ErrHelp)
	}
	for _, name := range append(append(measureNames(), peerNames()...), "go run . -short", "-out", "-from") {
		if !strings.Contains(printed, name) {
			t.Errorf("-h does not name %q", name)
		}
	}
}

func TestThatNothingWasMeasuredIsAnError(t *testing.T) {
	u := run{
		testbed: testbedOf(t, tiny), measures: chosenMeasures("limits"), only: "asynq", peers: chosenPeers("asynq"), progress: io.Discard,
		record: func(sample) error { return nil },
	}
	if err := u.do(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing was measured") {
		t.Errorf("limits of asynq: %v, want an error: they are chime's alone", err)
	}
}
