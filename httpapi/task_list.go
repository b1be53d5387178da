package httpapi

import (
	"context"
	"encoding/base64"
	"net/url"
	"regexp"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// taskToken is the form of the place of a task in a list.
var taskToken = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const (
	maxTaskFilter = 2048 // bytes
	maxTaskToken  = 4000 // bytes
)

// listTasks lists the tasks of a collection on one queue.
func listTasks(ctx context.Context, c *call) (*answer, error) {
	var bad []problem.Mistake
	q := service.TaskQuery{
		Queue: c.queueParameter(&bad), Filter: c.one(&bad, "filter", "filter"), Order: chime.JobOrder(c.one(&bad, "order", "order")), Top: c.number(&bad, "$top", "top", 1, maxTop, maxTop),
		Arguments: c.principal.may(Write, c.name.Collection),
	}
	if q.Order != "" && q.Order != chime.NewestFirst && q.Order != chime.OldestFirst {
		bad = append(bad, problem.Mistake{Code: "order", Field: "order", Value: cut(string(q.Order), 100), Detail: "want newest or oldest"})
	}
	if len(q.Filter) > maxTaskFilter {
		bad = append(bad, problem.Mistake{Code: "filter", Field: "filter", Value: cut(q.Filter, 100), Detail: "want at most 2048 bytes"})
	}
	if given := c.one(&bad, "$skiptoken", "skiptoken"); given != "" {
		after, err := base64.RawURLEncoding.DecodeString(given)
		if q.After = string(after); err != nil || len(q.After) > maxTaskToken || !taskToken.MatchString(q.After) {
			bad = append(bad, problem.Mistake{Code: "skiptoken", Field: "$skiptoken", Value: cut(given, 100), Detail: "want the value from a nextLink"})
		}
	}
	if err := asError(problem.Invalid(bad)); err != nil {
		return nil, err
	}
	found, next, err := c.api.service.ListTasks(ctx, c.name.Collection, q)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(found))
	for i, task := range found {
		entries[i] = task.Append(nil)
	}
	return c.list(c.collectionPath()+"/tasks", entries, next), nil
}

// keptParameters are the parameters of a list that its next page has too.
var keptParameters = []string{"$top", "$filter", "filter", "order", "queue", "api-version"}

// kept are the parameters of the request for the next page.
func (c *call) kept(query url.Values) {
	for _, name := range keptParameters {
		if given := c.query.Get(name); given != "" {
			query.Set(name, given)
		}
	}
}
