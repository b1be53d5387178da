package service

import (
	"context"
	"errors"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
)

// A Page is the start and the size of a page of a list.
type Page struct {
	After string // the last name of the page before; empty: none
	Skip  int    // number of entries to skip; jobs are skipped by rank, without reading them
	Top   int
	State string // the wanted state in lower case; empty: all
}

const maxLooked = 1000 // maximum jobs to read for a page

// ListJobs returns a page of a collection's jobs, and the name to continue after; empty: this is the last page. It reads at most 1,000 names.
func (s *Service) ListJobs(ctx context.Context, collection string, page Page) (found []*Job, next string, err error) {
	c, err := s.collection(ctx, collection)
	if err != nil {
		return nil, "", err
	}
	after, more, err := s.skip(ctx, collection, page)
	if err != nil || !more {
		return nil, "", err
	}
	filter := chime.ScheduleFilter{Prefix: prefixOf(collection)}
	if after != "" {
		filter.After = filter.Prefix + after
	}
	looked, last := 0, after
	for {
		filter.Limit = page.Top + 1 - len(found) // one more shows whether there is a next page
		if page.State != "" {
			filter.Limit = 100 // only some of them have the state
		}
		read := 0
		for schedule, err := range s.schedules.List(ctx, filter) {
			if schedule == nil {
				return nil, "", err
			}
			read, filter.After = read+1, schedule.Name
			if err != nil {
				s.log.WarnContext(ctx, "httpapi: a schedule cannot be read; a list omits it", "event", "schedule.unreadable", "schedule", schedule.Name, "error", err)
				continue
			}
			m, ours := metaOf(schedule)
			if !ours || m.Collection != c.Creation {
				continue
			}
			if looked == maxLooked || len(found) == page.Top {
				return found, last, nil
			}
			looked, last = looked+1, jobOf(schedule.Name).Job
			if page.State != "" && string(stateOf(schedule)) != page.State {
				continue
			}
			j, err := s.view(ctx, schedule)
			if errors.Is(err, ErrUnreadable) {
				s.log.WarnContext(ctx, "httpapi: a job cannot be read; a list omits it", "event", "schedule.unreadable", "schedule", schedule.Name, "error", err)
				continue
			}
			if err != nil {
				return nil, "", err
			}
			found = append(found, j)
		}
		if read < filter.Limit {
			return found, "", nil
		}
	}
}

// skip returns the job after which a page begins, by the rank among the collection's names; more is false if there are fewer names. A job that is being
// created or deleted may have two names for a moment.
func (s *Service) skip(ctx context.Context, of string, page Page) (after string, more bool, err error) {
	if page.Skip == 0 {
		return page.After, true, nil
	}
	names, _, err := s.collections.Names(ctx, of, collection.NameFilter{After: afterJob(page.After), Offset: page.Skip - 1, Limit: 1})
	if errors.Is(err, chime.ErrNotFound) {
		return "", false, noCollection(of)
	}
	if err != nil || len(names) == 0 {
		return "", false, err
	}
	return reservedName(names[0]).job(), true, nil
}
