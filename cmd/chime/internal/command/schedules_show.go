package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

// shownNext is how many next runs are shown with a schedule.
const shownNext = 5

func (s *session) schedulesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a schedule: its definition, its state, its next runs", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := s.getSchedule(c.Context(), args[0])
			if err != nil {
				return err
			}
			schedules, err := s.theSchedules()
			if err != nil {
				return err
			}
			now, err := s.storeNow(c.Context(), found.Queue)
			if err != nil {
				return err
			}
			one := &foundSchedule{Schedule: found}
			if err := s.addHistories(c.Context(), []*foundSchedule{one}, now); err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			upcoming, err := schedules.Upcoming(ctx, found.Name, shownNext)
			if err != nil {
				return s.noSchedule(ctx, found.Name, err)
			}
			for i := range upcoming {
				upcoming[i] = upcoming[i].UTC()
			}
			blockers, err := s.blockers(c.Context(), one)
			if err != nil {
				return err
			}
			value := joined{one.value(now), struct {
				Upcoming []time.Time `json:"upcoming"`
				Hindered []string    `json:"hindered"` // what blocks its jobs now
			}{append([]time.Time{}, upcoming...), append([]string{}, blockers...)}}
			return s.printer().Item(found.Name, value, s.scheduleText(one, upcoming, blockers, now))
		},
		ValidArgsFunction: s.completeSchedule,
	}
}

// scheduleText formats a schedule for people.
func (s *session) scheduleText(f *foundSchedule, upcoming []time.Time, blockers []string, now time.Time) string {
	var b strings.Builder
	state := f.status(now)
	fmt.Fprintf(&b, "%s  %s    %s\n%s\n%s\n\n", output.Printable(f.Name), state, s.timesHeader(), output.Printable(f.Schedule.String()), output.Printable(state.Sentence))
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-11s%s\n", title, output.Printable(text))
		}
	}
	for _, why := range blockers {
		row("⚠ Waits", why)
	}
	for i, run := range upcoming {
		due := run.Add(f.Offset)
		row(cmp.Or(map[int]string{0: "Next"}[i], " "), times.Full(due, s.location)+"  "+format.Away(due.Sub(now)))
	}
	if f.Last.Outcome != "" {
		row("Last", plain.Outcome(f.Last.Outcome).String()+"  "+times.Full(f.Last.Ended, s.location)+"  "+format.Away(f.Last.Ended.Sub(now)))
	}
	if f.Starts > 0 {
		row("Late", format.Span(f.LateP99)+" (p99 of the runs that are kept)")
	}
	if f.State == chime.StatePaused {
		row("Paused", notedOf(f.Note, now))
	}
	b.WriteString("\n")
	row("Job", f.JobName+" on queue "+f.Queue)
	row("Group", f.Group)
	row("Overlap", plain.Overlap(f.Overlap))
	row("Misfire", plain.Grace(f.Grace)+" "+plain.Misfire(f.Misfire))
	row("Due", plain.Spread(f.Spread, f.Offset))
	row("Attempts", plain.Retry(f.Retry, f.MaxAttempts))
	row("Failures", plain.PauseAfter(f.PauseAfter))
	if f.MaxUnfinished > 0 {
		row("Unfinished", plain.MaxUnfinished(f.MaxUnfinished))
	}
	if f.Timeout > 0 {
		row("Timeout", format.Exact(f.Timeout))
	}
	if f.Keep > 0 {
		row("Results", "are kept for "+format.Exact(f.Keep))
	}
	row("When done", f.OnDone)
	row("On death", f.OnDeath)
	for _, key := range slices.Sorted(maps.Keys(f.Header)) {
		row("Header", key+": "+f.Header[key])
	}
	if len(f.Payload) > 0 {
		row("Arguments", format.Plural(len(f.Payload), "byte", "bytes")+"; chime schedules export --payload has them")
	}
	row("Sealed", sealedWith(f.Sealed))
	row("Meta", string(f.Meta))
	b.WriteString("\n")
	rule, _ := json.Marshal(f.Recurrence) // its error is always nil
	row("Rule", string(rule))
	if !f.DatesUntil.IsZero() {
		row("Dates", "its list of dates ends on "+f.DatesUntil.Format("2 Jan 2006"))
	}
	row("Created", times.Full(f.Created, s.location)+"  "+format.Away(f.Created.Sub(now)))
	row("Revision", fmt.Sprint(f.Revision))
	if f.Owner != "" {
		row("Owner", fmt.Sprintf("%s, version %d", f.Owner, f.Version))
	}
	row("Counted", countersText(f.Schedule))
	return b.String()
}

// countersText formats the counters of a schedule since it was created.
func countersText(of *chime.Schedule) string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{
		{of.Counters.Placed, "placed"}, {of.Counters.Started, "started"}, {of.Counters.Done, "done"}, {of.Counters.Failed, "failed attempts"},
		{of.Counters.Dead, "dead"}, {of.Counters.Skipped, "skipped"}, {of.Counters.Full, "of these because too many runs were unfinished"}, {of.Counters.Missed, "missed"}, {of.Counters.CaughtUp, "caught up"},
		{of.Counters.Superseded, "superseded"}, {of.Counters.Cancelled, "cancelled"},
	} {
		if c.n > 0 {
			parts = append(parts, format.Count(c.n)+" "+c.what)
		}
	}
	if of.Recurrence.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s runs used up", format.Count(of.Used), format.Count(of.Recurrence.Count)))
	}
	return strings.Join(parts, ", ")
}
