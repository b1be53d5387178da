package chime

import "time"

// Spread makes each occurrence due at its planned instant plus a part of d, which the schedule's name decides and [Schedule.Offset] shows:
// so schedules of one rule, "every hour" for each of a thousand tenants, do not begin at the same moment. The part is whole milliseconds, less
// than d, and the same for ever; the run at creation has it too. Planned, and with it the occurrence's ID, stays the instant of the rule;
// lateness and grace, and what is missed or caught up, count from the instant at which it is due.
//
// d is 1 ms to the rule's period: the shortest time between two occurrences, of its first hundred and by UTC, where no clock is set
// forward; and a year at most. 0, as without the option: each is due when it is planned. What [Schedules.Trigger] runs is not spread.
func Spread(d time.Duration) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.spread = d }) // checked with the rule
}
