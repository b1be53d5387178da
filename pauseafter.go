package chime

import (
	"fmt"
	"strconv"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// PauseAfter pauses the schedule once n occurrences in a row have ended dead, 1 to 100: the step that gives up the last of them withdraws the
// next one, as [Schedules.Pause] does, and leaves a [Note] by "chime" in [Schedule.Note] that says so. [Schedules.Resume] lets it go on. 0, as
// without the option: never.
//
// Those count that were planned after the last change, pause or resume, in the order in which they end; the run at creation counts too. One that
// is done begins the count anew; one that was missed, skipped, cancelled or superseded changes nothing. An occurrence is dead when its last
// attempt has failed, its handler has discarded it, or its worker has vanished too often; one that no worker could run for a week counts
// for nothing, for none has tried it. Manual runs and what [OnDeath] adds do not count, nor does what ends in a queue that the schedule has left.
func PauseAfter(n int) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.pauseAfter = n
		if n < 0 || n > schedule.MaxPauseAfter {
			s.refuse(protocol.Invalid("pause after", strconv.Itoa(n), fmt.Sprintf("0 to %d", schedule.MaxPauseAfter)))
		}
	})
}
