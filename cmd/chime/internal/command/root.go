// Package command is the tree of chime's commands: each reads its flags and arguments, calls the library, and prints.
package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/connect"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
)

// A session is one run of the command: its process, the flags that all commands have, and the store once a command needs it.
type session struct {
	*process.Process
	connect  connect.Flags
	format   string
	json     bool
	zone     string
	utc      bool
	plain    bool // without colours
	yes      bool
	readOnly bool
	verbose  bool

	location *time.Location // zone of the times that are shown
	begun    bool           // flags and arguments were valid, and the command has begun
	opened   *connect.Connection
}

// Run runs the command that p's arguments name, and returns the exit code.
func Run(ctx context.Context, p *process.Process) int {
	s := &session{Process: p}
	root := s.root()
	root.SetArgs(p.Args)
	began := p.Now()
	ran, err := root.ExecuteContextC(ctx)
	if s.opened != nil {
		s.say("%s took %s", strings.TrimPrefix(ran.CommandPath(), root.Name()+" "), format.Span(p.Now().Sub(began)))
	}
	if err != nil && !s.begun && ctx.Err() == nil {
		err = &exitError{exitUsage, err}
	}
	if s.opened != nil {
		err = errors.Join(err, s.opened.Close())
	}
	if err != nil {
		var said *exitError
		if ctx.Err() != nil && code(err) != exitPart && !(errors.As(err, &said) && said.code == exitInterrupted) {
			err = &exitError{exitInterrupted, errors.New("interrupted")}
		}
		if advice := s.connect.Advice(s.Env, err); advice != "" && code(err) == exitUnreachable {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		report(p, err)
	}
	return code(err)
}

// root is the tree of commands.
func (s *session) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "chime",
		Short: "See and repair schedules, jobs, queues and workers of chime",
		Long: "chime shows what chime keeps in Redis, and repairs what failed.\n\n" +
			"--redis or REDIS_URL names the store. chime next and chime explain need no store.\n" +
			"Times may be given as 2026-11-21T09:00:00Z, 2026-11-21 09:00, now, -2h or +3d.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage or a wrong rule, 3 not found, 4 refused, 5 no store, 6 done in part,\n" +
			"7 verify found something, 124 wait ran out, 130 interrupted.",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return s.check() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w; %s -h lists its flags", err, c.CommandPath())
	})
	flags := root.PersistentFlags()
	s.connect.Declare(flags, s.Env)
	flags.StringVarP(&s.format, "output", "o", string(output.Table), "`form`: table, json, jsonl or name")
	flags.BoolVar(&s.json, "json", false, "as -o json")
	flags.StringVar(&s.zone, "zone", "", "IANA `name` of the zone that times are shown and read in (default this machine's)")
	flags.BoolVar(&s.utc, "utc", false, "as --zone UTC")
	flags.BoolVar(&s.plain, "no-color", s.Env("NO_COLOR") != "", "without colours; $NO_COLOR")
	flags.BoolVarP(&s.yes, "yes", "y", false, "do not ask before changes")
	flags.BoolVar(&s.readOnly, "read-only", false, "refuse all changes")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "print on standard error which store is used, and how long the command took")
	root.AddGroup(&cobra.Group{ID: groupRules, Title: "Rules, without a store:"}, &cobra.Group{ID: groupStore, Title: "What is in the store:"},
		&cobra.Group{ID: groupTools, Title: "Tools:"})
	root.AddCommand(s.next(), s.explain(), s.schedules(), s.jobs(), s.queues(), s.batches(), s.workers(), s.acknowledged(), s.top(), s.dashboard(), s.verify(), s.keys(), s.man(), s.version())
	for _, c := range append(root.Commands(), root) {
		if c.HasSubCommands() && c.RunE == nil {
			s.group(c)
		}
	}
	complete(root, "output", string(output.Table), string(output.JSON), string(output.JSONL), string(output.Name))
	completeNoFiles(root)
	root.SetHelpCommandGroupID(groupTools)
	root.SetCompletionCommandGroupID(groupTools)
	return root
}

// The groups of commands in the help.
const (
	groupRules = "rules"
	groupStore = "store"
	groupTools = "tools"
)

// check checks the flags that all commands have.
func (s *session) check() error {
	s.begun = true
	if s.json {
		s.format = string(output.JSON)
	}
	if !output.Format(s.format).Valid() {
		return usage("--output %q: want table, json, jsonl or name", s.format)
	}
	s.location = s.Local
	switch {
	case s.utc && s.zone != "" && s.zone != "UTC":
		return usage("--utc and --zone %q: want one of them", s.zone)
	case s.utc:
		s.location = time.UTC
	case s.zone != "":
		location, err := time.LoadLocation(s.zone)
		if err != nil {
			return usage("--zone %q: want an IANA name as Europe/Berlin, or UTC", s.zone)
		}
		s.location = location
	}
	return nil
}

// group lets a command run that has commands below it. Alone it is its command list, if it has one, and else its help.
func (s *session) group(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		var names []string
		for _, below := range c.Commands() {
			if len(args) == 0 && below.Name() == "list" {
				return s.listOf(c, below)
			}
			if !below.Hidden {
				names = append(names, below.Name())
			}
		}
		if len(args) == 0 {
			return c.Help()
		}
		return usage("unknown command %q for %q%s; %s -h lists them", args[0], c.CommandPath(), didYouMean(args[0], names), c.CommandPath())
	}
}

// listOf runs the command list of a group, and notes where the group's other commands are found.
func (s *session) listOf(c, list *cobra.Command) error {
	list.SetContext(c.Context())
	if err := list.RunE(list, nil); err != nil {
		return err
	}
	s.noteEmpty(c.CommandPath() + " -h lists the other commands")
	return nil
}

// store opens the store, once.
func (s *session) store() (chime.Store, error) {
	if s.opened == nil {
		opened, err := s.connect.Open(s.Env)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		s.opened = opened
		s.say("asks %s", output.Printable(opened.Address))
	}
	return s.opened.Store, nil
}

// limited limits the time of one call to the store.
func (s *session) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.connect.Timeout)
}

// printer returns a printer for the format of the flags.
func (s *session) printer() output.Printer {
	p := output.Printer{Out: s.Out, Err: s.Err, Format: output.Format(s.format)}
	if s.ShowsOn {
		p.Width = s.Width()
	}
	return p
}

// instant reads the time of a flag; if the flag is empty it returns otherwise.
func (s *session) instant(flag, text string, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	t, err := times.Parse(text, s.Now(), s.location)
	if err != nil {
		return time.Time{}, usage("%s %.40q: %w", flag, text, err)
	}
	return t, nil
}

// timesHeader is the line above a table that names the zone of its times.
func (s *session) timesHeader() string { return times.Header(s.location, s.Now()) }

// say prints a message if --verbose is given.
func (s *session) say(format string, values ...any) {
	if s.verbose {
		_, _ = fmt.Fprintf(s.Err, "chime: "+format+"\n", values...)
	}
}

// message returns the text of an error, without the prefix that the command prints itself.
func message(err error) string {
	text := err.Error()
	const name = "chime: "
	if len(text) > len(name) && text[:len(name)] == name {
		return text[len(name):]
	}
	return text
}
