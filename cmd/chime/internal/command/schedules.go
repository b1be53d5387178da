package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
)

func (s *session) schedules() *cobra.Command {
	c := &cobra.Command{
		Use: "schedules", Short: "Show, put, pause, run and delete schedules", GroupID: groupStore,
		Long: "Show, put, pause, run and delete schedules. Commands that delete, or that run hundreds of occurrences, ask first: -y answers yes.\n" +
			"Without a terminal and without -y they do nothing.",
	}
	c.AddCommand(
		s.schedulesList(), s.schedulesShow(), s.schedulesHistory(), s.schedulesExport(),
		s.schedulesPut(), s.schedulesPause(), s.schedulesResume(), s.schedulesTrigger(), s.schedulesBackfill(), s.schedulesDelete(), s.schedulesAcknowledge(),
	)
	return c
}

// theSchedules returns the schedules of the store.
func (s *session) theSchedules() (*chime.Schedules, error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	return chime.NewSchedules(store), nil
}

// getSchedule reads a schedule. If it does not exist, the error suggests a similar name.
func (s *session) getSchedule(ctx context.Context, name string) (*chime.Schedule, error) {
	schedules, err := s.theSchedules()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	found, err := schedules.Get(ctx, name)
	if err != nil {
		return nil, s.noSchedule(ctx, name, err)
	}
	return found, nil
}

// noSchedule adds a suggested name to an error that a schedule does not exist.
func (s *session) noSchedule(ctx context.Context, name string, err error) error {
	if !errors.Is(err, chime.ErrNotFound) {
		return err
	}
	meant := didYouMean(name, s.scheduleNames(ctx, firstLetter(name)))
	if meant == "" {
		meant = didYouMean(name, s.scheduleNames(ctx, ""))
	}
	return exit(exitNotFound, "schedule %q: not found%s", name, meant)
}

// maxNames is how many names are compared for a suggestion, and offered to a shell.
const maxNames = 500

// scheduleNames returns the first names of schedules with a prefix; none if the store does not answer.
func (s *session) scheduleNames(ctx context.Context, prefix string) []string {
	schedules, err := s.theSchedules()
	if err != nil {
		return nil
	}
	var names []string
	for schedule := range schedules.List(ctx, chime.ScheduleFilter{Prefix: prefix, Limit: maxNames}) {
		if schedule != nil {
			names = append(names, schedule.Name)
		}
	}
	return names
}

// completeSchedule completes the name of a schedule as the first argument.
func (s *session) completeSchedule(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeSchedules(c, args, begun)
}

// completeSchedules completes names of schedules, and offers each name once.
func (s *session) completeSchedules(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	given := map[string]bool{}
	for _, name := range args {
		given[name] = true
	}
	var names []string
	for _, name := range s.scheduleNames(ctx, begun) {
		if !given[name] {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
