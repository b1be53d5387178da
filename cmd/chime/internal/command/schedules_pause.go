package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) schedulesPause() *cobra.Command {
	note, by := pauseFlags{}, ""
	c := &cobra.Command{
		Use: "pause NAME…", Short: "Pause schedules until they are resumed, or until an instant", Args: cobra.MinimumNArgs(1),
		Long:    "Pause schedules until they are resumed, or until an instant. Running jobs continue, and an occurrence that is already due still runs.",
		Example: "  chime schedules pause invoices --until '2026-11-30 08:00' --note 'the bank is closed'",
		RunE: func(c *cobra.Command, names []string) error {
			paused, err := s.note(note, s.Now())
			if err != nil {
				return err
			}
			paused.By = by
			return s.eachSchedule(c.Context(), names, "paused"+s.until(paused), func(ctx context.Context, all *chime.Schedules, name string) error {
				return all.Pause(ctx, name, paused)
			})
		},
		ValidArgsFunction: s.completeSchedules,
	}
	note.add(c)
	c.Flags().StringVar(&by, "by", s.Env("USER"), "`who` pauses them")
	return s.changes(c)
}

// pauseFlags are the flags of a pause.
type pauseFlags struct{ text, until string }

func (f *pauseFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.text, "note", "", "why, a `text` of up to 500 bytes, which is shown during the pause")
	c.Flags().StringVar(&f.until, "until", "", "the `instant` at which the pause ends by itself: "+times.Forms)
}

// note returns the note of a pause, by the name of the user. An end that is not after now is an error.
func (s *session) note(f pauseFlags, now time.Time) (chime.Note, error) {
	until, err := s.instant("--until", f.until, time.Time{})
	if err == nil && !until.IsZero() && !until.After(now) {
		err = usage("--until %q: want an instant in the future", f.until)
	}
	return chime.Note{Text: f.text, By: s.user(), Until: until}, err
}

// until formats the end of a pause: " until Mon 30 Nov 2026 08:00:00 CET"; "": it has none.
func (s *session) until(note chime.Note) string {
	if note.Until.IsZero() {
		return ""
	}
	return " until " + times.Full(note.Until, s.location)
}

func (s *session) schedulesResume() *cobra.Command {
	skip := false
	c := &cobra.Command{
		Use: "resume NAME…", Short: "Resume paused schedules", Args: cobra.MinimumNArgs(1),
		Long: "Resume paused schedules. The misfire policy of each schedule decides about the occurrences that it missed; with --skip-gap they do not run.",
		RunE: func(c *cobra.Command, names []string) error {
			var options []chime.ChangeOption
			if skip {
				options = append(options, chime.SkipGap())
			}
			return s.eachSchedule(c.Context(), names, "resumed", func(ctx context.Context, all *chime.Schedules, name string) error {
				return all.Resume(ctx, name, options...)
			})
		},
		ValidArgsFunction: s.completeSchedules,
	}
	c.Flags().BoolVar(&skip, "skip-gap", false, "do not run the occurrences that they missed")
	return s.changes(c)
}

func (s *session) schedulesDelete() *cobra.Command {
	waiting := false
	c := &cobra.Command{
		Use: "delete NAME…", Short: "Delete schedules, with their histories", Args: cobra.MinimumNArgs(1),
		Long: "Delete schedules, with their histories and their next occurrences. Running jobs may finish. A program that declares a schedule creates it again\n" +
			"when it starts.",
		RunE: func(c *cobra.Command, names []string) error {
			names = distinct(names)
			var options []chime.ChangeOption
			what := ""
			if waiting {
				options, what = append(options, chime.DeleteWaiting()), " and all of its jobs that do not run"
			}
			question := fmt.Sprintf("Delete schedule %s%s?", names[0], what)
			if len(names) > 1 {
				question = fmt.Sprintf("Delete %s%s?", format.Plural(len(names), "schedule", "schedules"), what)
			}
			if len(names) == 1 { // no question about a schedule that does not exist; an unreadable one can be deleted
				if _, err := s.getSchedule(c.Context(), names[0]); code(err) == exitNotFound || code(err) == exitUnreachable {
					return err
				}
			}
			if err := s.confirm(c.Context(), question); err != nil {
				return err
			}
			return s.eachSchedule(c.Context(), names, "deleted", func(ctx context.Context, all *chime.Schedules, name string) error {
				return all.Delete(ctx, name, options...)
			})
		},
		ValidArgsFunction: s.completeSchedules,
	}
	c.Flags().BoolVar(&waiting, "waiting", false, "also delete their jobs that wait, will be retried, are parked or dead")
	return s.changes(c)
}

// eachSchedule calls a function for each schedule, one after the other. After an error it continues with the next one. Then the command exits
// with 6, or with the code of the first error if all have failed.
func (s *session) eachSchedule(ctx context.Context, names []string, done string, act func(context.Context, *chime.Schedules, string) error) error {
	schedules, err := s.theSchedules()
	if err != nil {
		return err
	}
	var failed error
	list := output.List{Columns: make([]output.Column, 2)}
	for _, name := range distinct(names) {
		if ctx.Err() != nil {
			failed = errors.Join(failed, ctx.Err())
			break
		}
		if err := s.toSchedule(ctx, schedules, name, act); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		list.Items = append(list.Items, output.Item{Name: name, Cells: []string{name, done}, Value: map[string]string{"name": name, "result": done}})
	}
	if len(list.Items) > 0 || failed == nil {
		if err := s.printer().List(list); err != nil {
			return err
		}
		if failed != nil {
			return &exitError{exitPart, failed}
		}
	}
	return failed
}

func (s *session) toSchedule(ctx context.Context, schedules *chime.Schedules, name string, act func(context.Context, *chime.Schedules, string) error) error {
	limited, cancel := s.limited(ctx)
	defer cancel()
	if err := act(limited, schedules, name); err != nil {
		return s.noSchedule(limited, name, err)
	}
	return nil
}
