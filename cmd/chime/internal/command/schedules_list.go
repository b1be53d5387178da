package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/blocked"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
)

// A scheduleQuery selects the schedules to list, and their order.
type scheduleQuery struct {
	prefix, state, queue, owner, group, sort, after string
	limit                                           int
}

// The values of its flags.
var (
	scheduleStates = []string{"live", "paused", "completed", "failing", "late"}
	scheduleSorts  = []string{"name", "next", "late", "last"}
)

const (
	maxScheduleLimit = 500
	maxSorted        = 10_000 // maximum number of schedules that are sorted, except by name
	maxLate          = 1000   // maximum number of schedules whose histories are read for sorting
)

func (s *session) schedulesList() *cobra.Command {
	q := scheduleQuery{}
	c := &cobra.Command{
		Use: "list [TEXT]", Short: "List schedules", Args: cobra.MaximumNArgs(1),
		Long: "List schedules; with TEXT, those whose names begin with TEXT. Case matters, and TEXT never matches in the middle of a name.\n\n" +
			"LATE p99 and FAILED 24h count the runs that each schedule keeps, by default 20; a + means that there may be more. A live schedule is failing\n" +
			"if its last attempt failed, and late if an occurrence has been due for more than 5 seconds and no worker has taken it. STATE also shows\n" +
			"if the queue of a live schedule is paused, if no worker takes jobs from it, or if its jobs are parked.",
		Example: "  chime schedules list --state failing\n  chime schedules list acme/ --sort next --limit 10",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.prefix = args[0]
			}
			if err := q.check(); err != nil {
				return err
			}
			page, err := s.findSchedules(c.Context(), q)
			if err != nil {
				return err
			}
			if len(page.found) == 0 {
				s.noteNothing(c.Context(), q.none())
			}
			if output.Format(s.format) != output.Name {
				if err := s.addHistories(c.Context(), page.found, page.now); err != nil {
					return err
				}
				if err := s.addHindrances(c.Context(), page.found); err != nil {
					return err
				}
			}
			list := s.scheduleTable(page.found, page.now)
			list.Next = page.next
			return s.printer().List(list)
		},
		ValidArgsFunction: s.completeSchedule,
	}
	f := c.Flags()
	f.StringVar(&q.state, "state", "", "only schedules that are "+strings.Join(scheduleStates, ", "))
	f.StringVar(&q.queue, "queue", "", "only schedules whose jobs go to the queue of this `name`")
	f.StringVar(&q.owner, "owner", "", "only schedules that a scheduler of this owner `name` has declared")
	f.StringVar(&q.group, "group", "", "only schedules whose jobs belong to the group of this `name`")
	f.StringVar(&q.sort, "sort", "name", "order: name; next, the soonest first; late, those with the largest LATE p99 first; last, those that ended last first")
	f.IntVar(&q.limit, "limit", 50, "the maximum number of schedules, 1 to 500")
	f.StringVar(&q.after, "after", "", "continue after the schedule of this `name`")
	complete(c, "state", scheduleStates...)
	complete(c, "sort", scheduleSorts...)
	_ = c.RegisterFlagCompletionFunc("queue", s.completeQueue)
	return c
}

func (q *scheduleQuery) check() error {
	switch {
	case q.state != "" && !slices.Contains(scheduleStates, q.state):
		return usage("--state %q: want %s", q.state, strings.Join(scheduleStates, ", "))
	case !slices.Contains(scheduleSorts, q.sort):
		return usage("--sort %q: want %s", q.sort, strings.Join(scheduleSorts, ", "))
	case q.limit < 1 || q.limit > maxScheduleLimit:
		return usage("--limit %d: want 1 to %d", q.limit, maxScheduleLimit)
	}
	return nil
}

// none explains why the list is empty.
func (q *scheduleQuery) none() string {
	flags := q.state != "" || q.queue != "" || q.owner != "" || q.group != ""
	behind := ""
	if q.after != "" {
		behind = fmt.Sprintf(" behind %q", q.after)
	}
	switch {
	case q.prefix != "" && flags:
		return fmt.Sprintf("no schedule that matches the flags has a name%s that begins with %q", behind, q.prefix)
	case q.prefix != "":
		return fmt.Sprintf("no schedule's name%s begins with %q", behind, q.prefix)
	case flags || q.after != "":
		return "no schedule matches"
	}
	return "there is no schedule"
}

// filter returns the filter for the library, which cannot filter by late.
func (q *scheduleQuery) filter() chime.ScheduleFilter {
	f := chime.ScheduleFilter{Prefix: q.prefix, Queue: q.queue, Owner: q.owner, Group: q.group, State: chime.ScheduleState(q.state)}
	switch q.state {
	case "failing":
		f.State, f.Failing = chime.StateLive, true
	case "late":
		f.State = chime.StateLive
	}
	return f
}

// A foundSchedule is a schedule of the list.
type foundSchedule struct {
	*chime.Schedule
	unread error        // why it cannot be read; then only name, queue, owner and revision are known
	waits  blocked.Kind // what blocks its jobs
	history.History
}

// status returns its state at an instant of the store's clock.
func (f *foundSchedule) status(now time.Time) plain.State {
	return plain.Blocked(plain.Schedule(f.Schedule, now), f.waits.String())
}

// A schedulePage is a part of the list.
type schedulePage struct {
	found []*foundSchedule
	next  string    // the next page begins after this name; empty: this is the last page
	now   time.Time // by the store's clock
}

// findSchedules finds a page of schedules. In the order of names it reads only this page; for another order it reads all matching schedules.
func (s *session) findSchedules(ctx context.Context, q scheduleQuery) (page schedulePage, err error) {
	schedules, err := s.theSchedules()
	if err != nil {
		return page, err
	}
	filter, most := q.filter(), q.most()
	if q.sort == "name" {
		if filter.After = q.after; q.state == "" && q.owner == "" && q.group == "" && q.limit < maxScheduleLimit {
			filter.Limit = q.limit + 1
		}
	}
	for schedule, unread := range schedules.List(ctx, filter) {
		if schedule == nil {
			return page, unread
		}
		if page.now.IsZero() {
			if page.now, err = s.storeNow(ctx, schedule.Queue); err != nil {
				return page, err
			}
		}
		if q.state == "late" && unread == nil && !plain.Late(schedule, page.now) {
			continue
		}
		if len(page.found) == most {
			if q.sort == "name" {
				page.next = page.found[most-1].Name
				return page, nil
			}
			return page, usage("--sort %s: more than %d schedules match; give the beginning of their names as TEXT, --queue, --owner or --group", q.sort, most)
		}
		page.found = append(page.found, &foundSchedule{Schedule: schedule, unread: unread})
	}
	if q.sort == "name" {
		return page, nil
	}
	if q.sort == "late" {
		if err := s.addHistories(ctx, page.found, page.now); err != nil {
			return page, err
		}
	}
	return page, page.sort(q)
}

// most returns how many schedules can be sorted.
func (q *scheduleQuery) most() int {
	switch q.sort {
	case "name":
		return q.limit
	case "late":
		return maxLate
	}
	return maxSorted
}

// order returns the sort key of a schedule, except by name; the smallest comes first. A schedule without a key comes last.
func (f *foundSchedule) order(by string) int64 {
	switch {
	case by == "next" && !f.Next.IsZero():
		return f.Next.Add(f.Offset).UnixMilli()
	case by == "last" && !f.Last.Ended.IsZero():
		return -f.Last.Ended.UnixMilli()
	case by == "late" && f.Starts > 0:
		return -f.LateP99.Milliseconds()
	}
	return math.MaxInt64
}

// sort sorts the schedules that were found, and keeps one page of them.
func (p *schedulePage) sort(q scheduleQuery) error {
	slices.SortStableFunc(p.found, func(a, b *foundSchedule) int { return cmp.Compare(a.order(q.sort), b.order(q.sort)) })
	if q.after != "" {
		at := slices.IndexFunc(p.found, func(f *foundSchedule) bool { return f.Name == q.after })
		if at < 0 {
			return usage("--after %q: this schedule is no longer in the list; start again without --after", q.after)
		}
		p.found = p.found[at+1:]
	}
	if len(p.found) > q.limit {
		p.found = p.found[:q.limit]
		p.next = p.found[q.limit-1].Name
	}
	return nil
}

// storeNow returns the store's clock, which decides what is due. It reads the clock with a queue; a queue that was deleted meanwhile has none.
func (s *session) storeNow(ctx context.Context, queue string) (time.Time, error) {
	store, err := s.store()
	if err != nil {
		return time.Time{}, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	found, err := chime.NewQueues(store).Get(ctx, queue)
	if errors.Is(err, chime.ErrNotFound) {
		return s.Now(), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return found.Now, nil
}
