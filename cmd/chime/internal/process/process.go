// Package process has the inputs and outputs of a command: arguments, environment, streams, clock and terminal. Tests create their own.
package process

import (
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// A Process has the inputs and outputs of a command.
type Process struct {
	Args     []string // without the program's name
	Env      func(name string) string
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Local    *time.Location // the zone of this machine

	AsksAt  bool // In is a terminal: somebody can answer a question
	ShowsOn bool // Out is a terminal: colours, tables that adapt to it, full screen
	TellsOn bool // Err is a terminal: progress
	Width   func() int
	Open    func(url string) error // in a browser
}

// Current is the process that runs.
func Current() *Process {
	return &Process{
		Args: os.Args[1:], Env: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now, Local: local(),
		AsksAt: isTerminal(os.Stdin), ShowsOn: isTerminal(os.Stdout), TellsOn: isTerminal(os.Stderr), Width: width, Open: openBrowser,
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// width returns how many columns the terminal has: its own size, else COLUMNS, else 80.
func width() int {
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && columns > 0 {
		return columns
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 80
}
