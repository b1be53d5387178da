// Package process has what a command gets from outside: arguments, environment, input and output, clock and terminal. Tests make one of their own.
package process

import (
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// A Process is what a command gets from outside.
type Process struct {
	Args     []string // without the program's name
	Env      func(name string) string
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Local    *time.Location // the zone of this machine

	AsksAt  bool // In is a terminal: somebody can answer a question
	ShowsOn bool // Out is a terminal: colours, columns that give way, full screen
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

// width is how many columns the terminal has: what it says, else COLUMNS, else 80.
func width() int {
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && columns > 0 {
		return columns
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 80
}
