package dashboard

import (
	"fmt"
	"testing"

	"github.com/chimejobs/chime"
)

func TestTheCalendarShowsWhenHowMuchRuns(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		wants(t, "no schedule", send(newDashboard(t, store, operator), "GET", "/calendar"), 200, "No schedule runs", "chime schedules put report", "New schedule")
		put(t, store, "alone", "30 2 * * *")
		wants(t, "one schedule", send(newDashboard(t, store, Options{}), "GET", "/calendar"), 200, "7 occurrences are planned", "No two schedules run at the same instant.", `class="chart bars"`)

		for _, name := range hostileNames {
			put(t, store, name, "0 5 * * *")
		}
		put(t, store, "stopped", "0 5 * * *", chime.Paused(chime.Note{}))
		got := send(newDashboard(t, store, Options{}), "GET", "/calendar?zone=Asia/Kathmandu")
		wants(t, "all", got, 200, fmt.Sprintf("%d occurrences are planned", 7+7*len(hostileNames)), "1 Jan 10:45:00 +0545", fmt.Sprintf(`class="num">%d</td>`, len(hostileNames)), " and 5 more",
			"One schedule is paused or has completed.", "Asia/Kathmandu", "chime.Spread")
		lacks(t, "all", got, "<script>alert")
	})
}
