package httpapi

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// The statuses of an execution that a filter accepts.
var historyStatuses = []string{"completed", "failed", "postponed"}

var fenceForm = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)

const executionType = "Microsoft.Scheduler/jobCollections/jobs/history"

// An execution is one entry of a history in the answer.
type execution struct {
	ID         string              `json:"id"`
	Type       string              `json:"type"`
	Name       string              `json:"name"` // collection/job/fence
	Properties executionProperties `json:"properties"`
}

type executionProperties struct {
	Start    *time.Time     `json:"startTime,omitempty"`
	End      *time.Time     `json:"endTime,omitempty"`
	Expected *time.Time     `json:"expectedExecutionTime,omitempty"`
	Action   string         `json:"actionName"`
	Status   string         `json:"status"`
	Message  string         `json:"message,omitempty"`
	Retries  int            `json:"retryCount"`
	Chime    executionChime `json:"chime"`
}

// An executionChime has the fields that Azure's history did not have.
type executionChime struct {
	Occurrence string `json:"occurrence"`
	Fence      int64  `json:"fence"`
	Outcome    string `json:"outcome"`
	HTTPStatus int    `json:"httpStatus,omitempty"`
	DurationMS int64  `json:"durationMs"`
	Manual     bool   `json:"manual"`
}

func getHistory(ctx context.Context, c *call) (*answer, error) {
	p, err := c.page("status", historyStatuses, fenceForm)
	if err != nil {
		return nil, err
	}
	before, _ := strconv.ParseInt(p.after, 10, 64) // has fenceForm, or is empty
	found, next, err := c.api.service.History(ctx, c.name, service.HistoryPage{Before: before, Skip: p.skip, Top: p.top, Status: p.only})
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(found))
	for i, e := range found {
		entries[i] = encode(c.execution(&e))
	}
	behind := ""
	if next > 0 {
		behind = strconv.FormatInt(next, 10)
	}
	return c.list(c.jobPath()+"/history", entries, behind), nil
}

func (c *call) execution(e *service.Execution) execution {
	fence := strconv.FormatInt(e.Fence, 10)
	shown := execution{
		ID: c.resource(c.jobPath() + "/history/" + fence), Type: executionType, Name: c.name.Collection + "/" + c.name.Job + "/" + fence,
		Properties: executionProperties{
			Start: shownTime(e.Start), End: shownTime(e.End), Expected: shownTime(e.Expected),
			Action: e.Action, Status: e.Status, Message: e.Message, Retries: e.Retry,
			Chime: executionChime{Occurrence: e.Occurrence, Fence: e.Fence, Outcome: string(e.Outcome), HTTPStatus: e.HTTPStatus, Manual: e.Manual},
		},
	}
	if !e.Start.IsZero() && !e.End.IsZero() {
		shown.Properties.Chime.DurationMS = e.End.Sub(e.Start).Milliseconds()
	}
	return shown
}

// shownTime is an instant in UTC; nil for the zero time.
func shownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// An outlook is the next runs of a job.
type outlook struct {
	Value []time.Time `json:"value"`
	Text  string      `json:"text"` // the rule in words
}

func getNext(ctx context.Context, c *call) (*answer, error) {
	count, err := c.count()
	if err != nil {
		return nil, err
	}
	next, text, err := c.api.service.NextOf(ctx, c.name, count)
	return c.outlook(next, text, err)
}

// preview returns when a job would run, and stores nothing.
func preview(ctx context.Context, c *call) (*answer, error) {
	count, err := c.count()
	if err != nil {
		return nil, err
	}
	read, err := c.readJob(resource.JobName{})
	if err != nil {
		return nil, err
	}
	next, text, err := c.api.service.Preview(ctx, read, count)
	return c.outlook(next, text, err)
}

func (c *call) outlook(next []time.Time, text string, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	shown := outlook{Value: make([]time.Time, len(next)), Text: text}
	for i, t := range next {
		shown.Value[i] = t.UTC()
	}
	return &answer{status: http.StatusOK, body: encode(shown)}, nil
}
