// Command chimed serves chime's HTTP API: job collections and jobs in the JSON of Azure Scheduler, with a scheduler and a worker that sends their
// requests.
//
//	chimed                              a first try: everything in this process, on http://127.0.0.1:8080
//	chimed -redis redis://host:6379     the same on a Redis, with any number of processes
//	chimed import export.json           imports an export of Azure Scheduler's resources
//
// Each flag of serve is an environment variable too: -public-url is CHIMED_PUBLIC_URL. chimed -h lists all flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // the program also runs without a zone database
)

// The exit codes of a command other than 0.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(context.Background(), process{args: os.Args[1:], env: os.Getenv, in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stdout)}))
}

// A process is the environment of a command.
type process struct {
	args     []string
	env      func(name string) string
	in       io.Reader
	out, err io.Writer
	terminal bool // people see out
}

// A usageError is an error in flags or arguments.
type usageError struct{ error }

func badUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errRefused means that a command has already printed the refusals.
var errRefused = errors.New("refused")

// run runs the command in the arguments, and returns the exit code.
func run(ctx context.Context, p process) int {
	name := "serve"
	if len(p.args) > 0 && !strings.HasPrefix(p.args[0], "-") {
		name, p.args = p.args[0], p.args[1:]
	}
	err := p.command(ctx, name)
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errRefused):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(p.err, "chimed: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(p.err, "chimed: %v\n", err)
	return exitFailed
}

func (p process) command(ctx context.Context, name string) error {
	switch name {
	case "serve":
		return p.serve(ctx)
	case "import":
		return p.importFiles(ctx)
	case "token":
		return p.token()
	case "rekey":
		return p.rekey(ctx)
	case "health":
		return p.health(ctx)
	case "version":
		fmt.Fprintf(p.out, "chimed %s\n", version())
		return nil
	case "help":
		fmt.Fprint(p.out, serveUsage)
		return nil
	case pfxCommand:
		return p.openPFX(ctx)
	}
	return badUsage("there is no command %.40q: want serve, import, token, rekey, health, version or help", name)
}

// version is the version of the module from the build information.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
