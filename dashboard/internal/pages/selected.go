package pages

import (
	"context"
	"net/url"

	"github.com/chimejobs/chime"
)

const maxSelected = 100_000 // maximum number of schedules that are read for a change: this takes some seconds

// Selected are the schedules that match a filter.
type Selected struct {
	Names  []string // those to change, in order
	Others int      // number of those that are not changed
	More   bool     // there are, or may be, more than were read
	Words  string   // describes the filter, such as "that are failing, of queue mail"; empty: all
}

// SelectSchedules returns the schedules that match a filter, which has the form of the address of their list. It returns at most the given number of
// schedules for which concerns returns true. It reads the current schedules, because the list may be some seconds old. If a schedule cannot be read,
// concerns gets it without a State.
func (s *Site) SelectSchedules(ctx context.Context, filter url.Values, most int, concerns func(*chime.Schedule) bool) (Selected, error) {
	query, err := (&Request{Query: filter}).scheduleQuery()
	if err != nil {
		return Selected{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return Selected{}, err
	}
	selected, looked := Selected{Words: query.words()}, 0
	for one, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: query.Prefix, Queue: query.Queue}) {
		if one == nil {
			return selected, err
		}
		if looked == maxSelected || len(selected.Names) == most {
			selected.More = true
			break
		}
		looked++
		listed := ListedSchedule{one, err}
		switch {
		case !query.fits(&listed) || !query.means(scheduleState(&listed, standing.Now()).Word):
		case concerns(one):
			selected.Names = append(selected.Names, one.Name)
		default:
			selected.Others++
		}
	}
	return selected, nil
}
