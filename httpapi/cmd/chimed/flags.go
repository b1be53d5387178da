package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flags are the flags of one command. Some are environment variables too; a flag overrides its variable.
type flags struct {
	*flag.FlagSet
	environment map[string]bool // the flags that were set by their variable
}

func newFlags(command string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError), environment: map[string]bool{}}
	f.SetOutput(io.Discard) // run prints the error
	return f
}

// variable is the name of a flag's environment variable.
func variable(name string) string {
	return "CHIMED_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// parse reads the arguments, then the variables of the named flags. It returns the arguments that are not flags; they may come before,
// between and after the flags.
func (f *flags) parse(p process, usage string, fromEnvironment ...string) (rest []string, err error) {
	for args := p.args; ; args = f.Args()[1:] {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(p.out, usage)
			return nil, err
		} else if err != nil {
			return nil, badUsage("%w; chimed %s -h lists the flags", err, f.Name())
		}
		if f.NArg() == 0 {
			break
		}
		rest = append(rest, f.Arg(0))
	}
	given := map[string]bool{}
	f.Visit(func(one *flag.Flag) { given[one.Name] = true })
	for _, name := range fromEnvironment {
		value := p.env(variable(name))
		if value == "" || given[name] {
			continue
		}
		if err := f.Set(name, value); err != nil {
			return nil, badUsage("%s: %w", variable(name), err)
		}
		f.environment[name] = true
	}
	return rest, nil
}

// names is a flag with the value old=new, which may be repeated.
type names map[string]string

func (n names) String() string { return "" }

func (n names) Set(text string) error {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" || to == "" {
		return fmt.Errorf("want old=new")
	}
	if _, twice := n[from]; twice {
		return fmt.Errorf("%s already has a new name", from)
	}
	n[from] = to
	return nil
}

// A listValue is a flag with a list. If it is given several times, the lists add up.
type listValue struct {
	text  *string // the default until the flag is set
	given bool
}

func (f *flags) listVar(text *string, name, standard string) {
	*text = standard
	f.Var(&listValue{text: text}, name, "")
}

func (l *listValue) String() string { return "" }

func (l *listValue) Set(text string) error {
	if l.given {
		text = *l.text + "," + text
	}
	*l.text, l.given = text, true
	return nil
}
