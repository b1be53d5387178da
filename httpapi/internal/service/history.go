package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// An Execution is one entry of a job's history.
type Execution struct {
	Fence      int64
	Start, End time.Time
	Expected   time.Time
	Action     string // MainAction or ErrorAction
	Status     string // Completed, Failed or Postponed
	Message    string
	Retry      int // attempt less one
	Occurrence string
	Outcome    chime.RunOutcome
	HTTPStatus int // 0: there was no answer
	Manual     bool
}

// HistoryPage is the start and the size of a page of a history.
type HistoryPage struct {
	Before int64 // only fences below this one; 0: from the newest
	Skip   int
	Top    int
	Status string // the wanted status in lower case; empty: all
}

// The status of an execution, in the words of Azure's service. Other outcomes are not executions.
var statuses = map[chime.RunOutcome]string{
	chime.RunDone:   "Completed",
	chime.RunFailed: "Failed", chime.RunDead: "Failed", chime.RunCrashed: "Failed", chime.RunCancelled: "Failed", chime.RunExpired: "Failed",
	chime.RunSnoozed: "Postponed", chime.RunMissed: "Postponed", chime.RunSuperseded: "Postponed",
}

const (
	maxMessage     = 2048     // bytes
	maxMessages    = 64 << 10 // bytes of a job's messages together
	errorActionTag = "#dead-" // in the IDs of error actions
)

// History returns a page of the executions of a job, the newest first, and the fence to continue before; 0: this is the last page.
func (s *Service) History(ctx context.Context, n resource.JobName, page HistoryPage) (found []Execution, next int64, err error) {
	schedule, _, _, err := s.find(ctx, n)
	if err != nil {
		return nil, 0, err
	}
	all, err := s.executions(ctx, schedule.Name)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range all {
		if page.Before != 0 && e.Fence >= page.Before || page.Status != "" && strings.ToLower(e.Status) != page.Status {
			continue
		}
		if page.Skip > 0 {
			page.Skip--
			continue
		}
		if len(found) == page.Top {
			if len(found) > 0 {
				next = found[len(found)-1].Fence
			}
			break
		}
		found = append(found, e)
	}
	return found, next, nil
}

// executions returns all stored entries of a schedule in the order of their starts, the newest first, with the messages up to the limit of a job.
func (s *Service) executions(ctx context.Context, schedule string) ([]Execution, error) {
	var all []Execution
	for run, err := range s.schedules.Runs(ctx, schedule) {
		if errors.Is(err, chime.ErrNotFound) {
			return nil, noJob(jobOf(schedule))
		}
		if err != nil {
			return nil, err
		}
		if statuses[run.Outcome] != "" && time.Since(run.Ended) < s.options.Retention {
			e := newExecution(run)
			if redact := s.options.RedactError; redact != nil && e.Message != "" {
				e.Message = redact(schedule, e.Message)
			}
			e.Message = cutText(e.Message, maxMessage)
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Execution) int { return cmp.Compare(b.Fence, a.Fence) })
	size := 0
	for i := range all {
		if i > 0 && all[i].Fence >= all[i-1].Fence {
			all[i].Fence = all[i-1].Fence - 1 // two entries without an attempt ended at the same time
		}
		if size += len(all[i].Message); size > maxMessages {
			all[i].Message = ""
		}
	}
	return all, nil
}

func newExecution(run *chime.RunInfo) Execution {
	e := Execution{
		Fence: run.Fence, Start: run.Started, End: run.Ended, Expected: run.Planned, Action: "MainAction", Status: statuses[run.Outcome],
		Message: cmp.Or(run.Note, run.Error), Retry: max(run.Attempt-1, 0), Occurrence: run.ID, Outcome: run.Outcome,
		HTTPStatus: action.NoteStatus(run.Note), Manual: run.Manual,
	}
	if e.Fence == 0 { // it had no attempt; fences are microseconds of the store's clock, or a little more
		e.Fence = run.Ended.UnixMicro()
	}
	if strings.Contains(strings.TrimPrefix(run.ID, run.Schedule), errorActionTag) {
		e.Action = "ErrorAction"
	}
	return e
}

// cutText shortens a text to a number of bytes, without splitting a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
