package tick

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const maxRecounts = 4 // a schedule whose occurrence is placed or taken meanwhile is counted again

// Declare creates and changes schedules. Where the recurrence itself changes, the store first answers with the old one: what that has
// missed until then is counted here, because the store cannot compute it, and is written with the change, in one step.
func Declare(ctx context.Context, store protocol.ScheduleStore, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := store.Declare(ctx, declarations)
	for range maxRecounts {
		var changed []protocol.Declaration
		var which []int
		for i := range answers {
			if answers[i].Err == nil && answers[i].Recount {
				d := declarations[i]
				d.Change = recount(&answers[i])
				changed, which = append(changed, d), append(which, i)
			}
		}
		if len(changed) == 0 {
			return answers
		}
		for j, answer := range store.Declare(ctx, changed) {
			answers[which[j]] = answer
		}
	}
	for i := range answers {
		if answers[i].Err == nil && answers[i].Recount {
			answers[i].Err = fmt.Errorf("declare schedule %q: its occurrences were placed or taken all the while", declarations[i].Name)
		}
	}
	return answers
}

// recount counts what the old recurrence has missed. One that cannot be computed here has missed nothing that anybody knows of.
func recount(a *protocol.DeclareAnswer) *protocol.Change {
	change := &protocol.Change{Revision: a.Revision, Cursor: a.Cursor, Until: a.Now.Truncate(time.Second)}
	if old, err := schedule.Compile(a.Old); err == nil {
		change.Missed = old.MissedUntil(a.Cursor, change.Until)
	}
	return change
}
