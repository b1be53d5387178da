// Package commandtest runs the command inside a test's process.
package commandtest

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // as the command has it

	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

// A Terminal is where the command runs. The zero value is no terminal: the command asks nothing and cuts nothing, and the zone is UTC.
type Terminal struct {
	Now   time.Time         // zero: the real time
	Zone  string            // of the machine; empty: UTC
	Env   map[string]string // REDIS_URL and so on
	Typed string            // standard input
	Asks  bool              // standard input is a terminal
	Width int               // of the terminal of standard output; 0: it is not a terminal
}

// A Result is the output of a command and its exit code.
type Result struct {
	Out, Err string
	Code     int
}

// Run runs the command with arguments.
func (t Terminal) Run(test testing.TB, args ...string) Result {
	test.Helper()
	return t.RunContext(test, test.Context(), args...)
}

// RunContext is Run with a ctx. Its end has the effect of Ctrl-C.
func (t Terminal) RunContext(test testing.TB, ctx context.Context, args ...string) Result {
	test.Helper()
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		test.Fatal(err)
	}
	var out, stderr bytes.Buffer
	p := &process.Process{
		Args: args, Env: func(name string) string { return t.Env[name] }, In: strings.NewReader(t.Typed), Out: &out, Err: &stderr, Now: time.Now, Local: zone,
		AsksAt: t.Asks, ShowsOn: t.Width > 0, TellsOn: t.Width > 0, Width: func() int { return t.Width },
	}
	if !t.Now.IsZero() {
		p.Now = func() time.Time { return t.Now }
	}
	code := command.Run(ctx, p)
	return Result{out.String(), stderr.String(), code}
}
