package change

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/definition"
	"github.com/chimejobs/chime/recurrence"
)

// Runs are counted from the creation of the schedule.
func TestARuleThatTakesLongToComputeIsLeft(t *testing.T) {
	ctx, stop := context.WithDeadline(t.Context(), time.Unix(0, 0)) // the deadline has passed
	defer stop()
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	d := &draft{definition: &definition.Definition{}, rule: recurrence.Recurrence{Frequency: recurrence.Second, Count: 2_000_000_000}}
	p, err := d.preview(ctx, &chime.Schedule{Created: now.AddDate(-10, 0, 0)}, now, shownRuns)
	if err != nil || len(p.Runs) != 0 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "takes longer than 1s") {
		t.Errorf("got %+v, %v", p, err)
	}
}
