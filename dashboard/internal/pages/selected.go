package pages

import (
	"context"
	"net/url"

	"github.com/chimejobs/chime"
)

const maxSelected = 100_000 // schedules that are looked at for a change: some seconds

// Selected are schedules that a filter means.
type Selected struct {
	Names  []string // those that a change concerns, in order
	Others int      // that it does not concern
	More   bool     // there are more, or may be, than were looked at
	Words  string   // which the filter means, as "that are failing, of queue mail"; empty: all
}

// SelectSchedules returns the schedules that a filter means, as the address of their list has it; of these, at most so many that a change concerns. It
// reads them as they are now: their list may be some seconds old. Of a schedule that cannot be read, concerns gets one without a State.
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
