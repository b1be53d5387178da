package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/jobfind"
)

// completeQueue completes the name of a queue.
func (s *session) completeQueue(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return s.queueNames(c, begun, ""), cobra.ShellCompDirectiveNoFileComp
}

// completeFirstQueue completes the name of a queue as the first argument.
func (s *session) completeFirstQueue(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeQueue(c, args, begun)
}

// completeFilter completes the keys of a filter and, after the keys state: and queue:, the names of states and queues.
func (s *session) completeFilter(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	if strings.HasPrefix(begun, "queue:") {
		return s.queueNames(c, begun, "queue:"), cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, state := range jobfind.States {
		all = append(all, "state:"+string(state))
	}
	if !strings.HasPrefix(begun, "state:") {
		all = nil
		for _, key := range jobfind.Keys {
			all = append(all, key+":")
		}
	}
	return beginning(all, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// queueNames returns the names of queues with the prefix that was typed; none if the store does not answer.
func (s *session) queueNames(c *cobra.Command, begun, before string) []string {
	store, err := s.store()
	if err != nil {
		return nil
	}
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(queues))
	for i, queue := range queues {
		names[i] = before + queue.Name
	}
	return beginning(names, begun)
}

func beginning(all []string, begun string) []string {
	var some []string
	for _, text := range all {
		if strings.HasPrefix(text, begun) {
			some = append(some, text)
		}
	}
	return some
}

// complete completes a flag with words.
func complete(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(words, begun), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeNoFiles prevents shells from offering files for arguments and flags that do not take a file and have no other completion. A flag that
// takes a file names its value `file`.
func completeNoFiles(c *cobra.Command) {
	if c.ValidArgsFunction == nil && c.Name() != "man" {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if what, _ := pflag.UnquoteUsage(flag); what == "file" {
			return
		}
		if _, is := c.GetFlagCompletionFunc(flag.Name); !is {
			_ = c.RegisterFlagCompletionFunc(flag.Name, cobra.NoFileCompletions)
		}
	})
	for _, below := range c.Commands() {
		completeNoFiles(below)
	}
}
