package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/cmd/chime/internal/ask"
)

// changes marks a command that changes something. --read-only refuses it before it begins.
func (s *session) changes(c *cobra.Command) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if s.readOnly {
			return exit(exitRefused, "--read-only: %s changes something; nothing was done", c.CommandPath())
		}
		return run(c, args)
	}
	return c
}

// confirm asks a question that is answered by y or N. With -y it does not ask.
func (s *session) confirm(ctx context.Context, question string) error {
	return ask.Confirm(ctx, s.Process, s.yes, question)
}

// confirmName asks the user to type the name, or the number, of what will be deleted. With -y it does not ask.
func (s *session) confirmName(ctx context.Context, question, name string) error {
	return ask.ConfirmName(ctx, s.Process, s.yes, question, name)
}
