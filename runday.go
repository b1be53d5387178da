package chime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A RunDay counts what became of the occurrences of a schedule that were planned for one day, whenever that was. Manual runs are not among them.
type RunDay struct {
	Day     time.Time `json:"day"`               // its beginning, 00:00 UTC
	Done    int       `json:"done,omitempty"`    // occurrences that ended well
	Failed  int       `json:"failed,omitempty"`  // attempts that failed, the last one too
	Skipped int       `json:"skipped,omitempty"` // occurrences dropped because another one was running
	Missed  int       `json:"missed,omitempty"`  // occurrences passed over by the misfire policy when they were taken
}

// MarshalJSON encodes the day in UTC.
func (d RunDay) MarshalJSON() ([]byte, error) {
	type fields RunDay // without methods
	d.Day = d.Day.UTC()
	return json.Marshal(fields(d))
}

// Days returns how the last days of a schedule went, at most 35, the oldest first. From the first day of which something is known to the last one for
// which an occurrence ended none is left out; of days before and after them nothing is known. They are kept with the schedule's history: with
// KeepRuns(0) there are none, and neither the rule's own text nor the runs that [Schedules.Runs] still tells of limit them. What was missed
// while no worker ran, and was passed over without an occurrence of its own, is in [ScheduleCounters] alone. ErrNotFound if there is no schedule of that name.
func (s *Schedules) Days(ctx context.Context, name string) ([]RunDay, error) {
	if err := s.check(ctx, name); err != nil {
		return nil, fmt.Errorf("chime: list the days of schedule %.200q: %w", name, err)
	}
	found, records, err := s.store.Days(ctx, name)
	if err == nil && found.Name == "" {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("chime: list the days of schedule %q: %w", name, err)
	}
	days := make([]RunDay, len(records))
	for i, r := range records {
		days[i] = RunDay{Day: r.Day, Done: r.Done, Failed: r.Failed, Skipped: r.Skipped, Missed: r.Missed}
	}
	return days, nil
}
