package tick

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const maxRecounts = 4 // if a schedule's occurrence is placed or taken meanwhile, it is counted again, this often at most

// Declare creates and changes schedules. If the recurrence itself changes, the store first answers with the old one. Its missed instants are
// counted here, because the store cannot compute them. They are written together with the change, in one step. Waiting occurrences of unchanged
// schedules that were planned with other time zone data are withdrawn.
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
			replanDeclared(ctx, store, declarations, answers)
			return answers
		}
		for j, answer := range store.Declare(ctx, changed) {
			answers[which[j]] = answer
		}
	}
	for i := range answers {
		if answers[i].Err == nil && answers[i].Recount {
			answers[i].Err = fmt.Errorf("declare schedule %q: its occurrences were placed or taken during every attempt", declarations[i].Name)
		}
	}
	return answers
}

// Resume resumes a schedule. If the gap is to be skipped, the store first answers with the definition. The missed instants are counted here, and
// are written together with the change, in one step.
func Resume(ctx context.Context, store protocol.ScheduleStore, p protocol.Pausing) (protocol.PauseAnswer, error) {
	for range maxRecounts + 1 {
		answer, err := store.PauseSchedule(ctx, p)
		if err != nil || !answer.Recount {
			return answer, err
		}
		p.Change = recount(&protocol.DeclareAnswer{Old: answer.Definition, Revision: answer.Revision, Cursor: answer.Cursor, Now: answer.Now})
		p.Change.Why = fmt.Sprintf("%d instants until %s were skipped when the schedule was resumed", p.Change.Missed, p.Change.Until.UTC().Format(time.RFC3339))
		p.Change.Note = answer.Note.Text
		if by := answer.Note.By; by != "" {
			p.Change.Note = strings.TrimSpace(p.Change.Note + " (" + by + ")")
		}
	}
	return protocol.PauseAnswer{}, fmt.Errorf("resume schedule %q: it was changed during every attempt", p.Name)
}

// recount counts the instants that the old recurrence has missed. A recurrence that cannot be computed here has missed none that are known.
func recount(a *protocol.DeclareAnswer) *protocol.Change {
	change := &protocol.Change{Revision: a.Revision, Cursor: a.Cursor, Until: a.Now.Truncate(time.Second)}
	if old, err := schedule.Compile(a.Old); err == nil {
		change.Missed, change.Until = old.Gap(a.Cursor, a.Now)
		if change.Missed > 0 {
			change.First = old.After(a.Cursor)
		}
	}
	return change
}
