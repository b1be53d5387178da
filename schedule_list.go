package chime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/chimejobs/chime/internal/protocol"
)

// A ScheduleFilter says which schedules to list: those that fit all of its fields. The zero value: all.
type ScheduleFilter struct {
	Prefix  string        // their names begin so; at most 200 bytes of UTF-8 without control or format characters
	Queue   string        // their jobs go there
	Owner   string        // they were declared by a scheduler with this SchedulerOptions.Owner
	State   ScheduleState // live, paused or completed
	Failing bool          // their last attempt failed, or was the job's last
	After   string        // their names come behind this one, which need not be there: the Name of the last schedule of a page goes on
	Limit   int           // at most so many: 1 to 500, which are read in one page unless other fields leave some out; 0: all
}

// validate returns what is wrong with the filter.
func (f ScheduleFilter) validate() error {
	var bad []error
	if f.Prefix != "" {
		bad = append(bad, protocol.CheckPrefix("ScheduleFilter.Prefix", f.Prefix))
	}
	if f.Queue != "" {
		bad = append(bad, protocol.CheckName("ScheduleFilter.Queue", f.Queue))
	}
	if f.Owner != "" {
		bad = append(bad, protocol.CheckName("ScheduleFilter.Owner", f.Owner))
	}
	switch f.State {
	case "", StateLive, StatePaused, StateCompleted:
	default:
		bad = append(bad, protocol.Invalid("ScheduleFilter.State", string(f.State), "live, paused or completed"))
	}
	if f.After != "" {
		bad = append(bad, protocol.CheckID("ScheduleFilter.After", f.After))
	}
	if f.Limit < 0 || f.Limit > maxSchedulesPerPage {
		bad = append(bad, protocol.Invalid("ScheduleFilter.Limit", strconv.Itoa(f.Limit), "1 to 500, or 0 for all"))
	}
	return errors.Join(bad...)
}

// fits reports whether a schedule is one of those to list. Of one that cannot be read nobody knows how it stands: it is one of them.
func (f ScheduleFilter) fits(s *Schedule, unreadable error) bool {
	if f.Owner != "" && s.Owner != f.Owner {
		return false
	}
	return unreadable != nil || (f.State == "" || s.State == f.State) && (!f.Failing || s.Last.failing())
}

const (
	schedulesPerPage    = 100 // without a Limit
	maxSchedulesPerPage = 500
)

// page is how many names to read next for a caller who had so many schedules.
func (f ScheduleFilter) page(had int) int {
	if f.Limit == 0 || f.Owner != "" || f.State != "" || f.Failing {
		return schedulesPerPage
	}
	return f.Limit - had
}

// A schedulePage is some schedules in the order of their names, or why they could not be read.
type schedulePage struct {
	found []protocol.Stored
	last  string // behind this name the next page goes on; empty: there is none
	err   error
}

// List goes through the schedules that fit a filter, in the order of their names. Without a Limit it reads a page of a hundred ahead of the caller.
// A schedule that is created, deleted or changed meanwhile may be in the list or not; every other one is in it once. Prefix, Queue and
// After cost nothing for what they leave out of a long list, or little; the other fields read what they leave out.
//
// The list ends after an error of the store, or of the filter, which comes with a nil schedule. A schedule that this program cannot read,
// because a newer version wrote it or because it was changed by hand, comes with its name, queue, owner and revision and an error of its own, and
// the list goes on.
func (s *Schedules) List(ctx context.Context, filter ScheduleFilter) iter.Seq2[*Schedule, error] {
	return func(yield func(*Schedule, error) bool) {
		err := s.usable(ctx)
		if err == nil {
			err = filter.validate()
		}
		if err != nil {
			yield(nil, fmt.Errorf("chime: list schedules: %w", err))
			return
		}
		ctx, stop := context.WithCancel(ctx)
		had := 0 // by the caller
		next := s.readAhead(ctx, filter, filter.After, filter.page(had))
		defer func() { // the page that is under way is not wanted any more
			stop()
			if next != nil {
				<-next
			}
		}()
		for next != nil {
			page := <-next
			if next = nil; page.err != nil {
				yield(nil, fmt.Errorf("chime: list schedules: %w", page.err))
				return
			}
			if page.last != "" && filter.Limit == 0 {
				next = s.readAhead(ctx, filter, page.last, schedulesPerPage)
			}
			for _, found := range page.found {
				if found.Name == "" { // deleted meanwhile
					continue
				}
				s, err := stored(found)
				if err != nil {
					s = unread(found)
				}
				if !filter.fits(s, err) {
					continue
				}
				if had++; !yield(s, err) || had == filter.Limit {
					return
				}
			}
			if page.last != "" && filter.Limit > 0 {
				next = s.readAhead(ctx, filter, page.last, filter.page(had))
			}
		}
	}
}

// readAhead begins to read a page. It arrives in every case.
func (s *Schedules) readAhead(ctx context.Context, filter ScheduleFilter, after string, most int) <-chan schedulePage {
	pages := make(chan schedulePage, 1)
	go func() {
		var page schedulePage
		var names []string
		names, page.last, page.err = s.store.Names(ctx, protocol.NameRange{After: after, Prefix: filter.Prefix, Queue: filter.Queue, Max: most})
		if page.err == nil && len(names) > 0 {
			page.found, page.err = s.store.Find(ctx, names)
		}
		pages <- page
	}()
	return pages
}
