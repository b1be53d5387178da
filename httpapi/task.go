package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A request may wait for a task for maxWait. Then it reads the task within lastRead, so that its answer is written within writeTimeout.
const (
	maxWait  = 25 * time.Second
	lastRead = 4 * time.Second
)

var waitForm = regexp.MustCompile(`^([0-9]|1[0-9]|2[0-5])s$`) // 0s to maxWait

// tasksOfWrite is the number of tasks that count as one write of their principal.
const tasksOfWrite = 50

// A taskReceipt is the result for one task in an answer.
type taskReceipt struct {
	ID       string `json:"id"`
	Queue    string `json:"queue"`
	Existing bool   `json:"existing,omitempty"`
	State    string `json:"state,omitempty"`
	Location string `json:"location"`
}

// postTasks adds one task, or up to 500 of them.
func postTasks(ctx context.Context, c *call) (*answer, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return nil, err
	}
	tasks, many, mistakes := resource.ReadTasks(c.text)
	if err := asError(problem.Invalid(mistakes)); err != nil {
		return nil, err
	}
	c.tasks = len(tasks)
	if err := c.charge(parts(len(tasks), tasksOfWrite) - c.parts); err != nil {
		return nil, err
	}
	added, err := c.api.service.AddTasks(ctx, c.name.Collection, tasks, key)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(added))
	for i, r := range added {
		entries[i] = encode(taskReceipt{r.ID, r.Queue, r.Existing, r.State, c.taskURL(r.ID, r.Queue)})
	}
	if many {
		return c.list("", entries, ""), nil
	}
	c.task = added[0].ID
	return &answer{status: http.StatusOK, body: entries[0]}, nil
}

// charge counts the request as further writes of its principal, because it costs as much as several.
func (c *call) charge(writes int) error {
	for range max(writes, 0) {
		if c.principal.unlimited {
			break
		}
		if wait := c.api.writes.take(c.principal.Name, time.Now()); wait > 0 {
			p := problem.New(problem.TooMany, "this principal sends too many tasks: %d tasks or %d bytes count as one write; wait for the time in Retry-After", tasksOfWrite, c.api.options.maxBody())
			p.RetryAfter = wait
			return p
		}
	}
	return nil
}

// parts is the number of parts of a size that n needs.
func parts(n, size int) int { return (n + size - 1) / size }

// taskURL is the absolute URL of a task. It names the queue, because the collection's queue may change.
func (c *call) taskURL(id, queue string) string {
	query := url.Values{"queue": {queue}}
	if version := c.query.Get("api-version"); version != "" && c.prefix != "" {
		query.Set("api-version", version)
	}
	at, _, _ := strings.Cut(c.url(c.taskPath(id)), "?")
	return at + "?" + query.Encode()
}

func (c *call) taskPath(id string) string { return c.collectionPath() + "/tasks/" + id }

func (c *call) taskName() resource.TaskName {
	return resource.TaskName{Collection: c.name.Collection, Task: c.task}
}

// getTask returns a task, with the parameter wait when it has ended.
func getTask(ctx context.Context, c *call) (*answer, error) {
	var bad []problem.Mistake
	queue := c.queueParameter(&bad)
	wait := c.waitParameter(&bad)
	if err := asError(problem.Invalid(bad)); err != nil {
		return nil, err
	}
	if wait > 0 {
		if err := c.await(wait, queue); err != nil {
			return nil, err
		}
		again, cancel := context.WithTimeout(c.r.Context(), lastRead) // ctx may have ended
		defer cancel()
		ctx = again
	}
	found, err := c.api.service.GetTask(ctx, c.taskName(), queue)
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusOK, body: found.Append(nil)}, nil
}

// await returns when the task has ended, the wait is over, or the server is shutting down.
func (c *call) await(wait time.Duration, queue string) error {
	leave, ok := c.api.waiters.enter(&c.principal)
	if !ok {
		p := problem.New(problem.TooMany, "this principal waits for %d tasks at once, the maximum: wait for the time in Retry-After, or read without wait", maxWaiters)
		p.RetryAfter = time.Second
		return p
	}
	defer leave()
	ctx, cancel := context.WithTimeout(c.r.Context(), wait)
	defer cancel()
	stop := context.AfterFunc(c.api.waiters.closing, cancel)
	defer stop()
	c.api.service.AwaitTask(ctx, c.taskName(), queue)
	if c.r.Context().Err() != nil {
		return problem.New(problem.StoreUnavailable, "the client has disconnected") // nobody reads it, and the store is not the reason
	}
	return nil
}

// deleteTask ends a task.
func deleteTask(ctx context.Context, c *call) (*answer, error) {
	var bad []problem.Mistake
	queue := c.queueParameter(&bad)
	if err := asError(problem.Invalid(bad)); err != nil {
		return nil, err
	}
	existed, err := c.api.service.DeleteTask(ctx, c.taskName(), queue)
	switch {
	case err != nil:
		return nil, err
	case !existed:
		return &answer{status: http.StatusNoContent}, nil
	}
	return &answer{status: http.StatusOK, body: c.deleted(c.taskPath(c.task))}, nil
}

// queueParameter is the queue of a task; empty: the collection's.
func (c *call) queueParameter(bad *[]problem.Mistake) string {
	queue := c.one(bad, "queue", "queue")
	if queue != "" && !queueName.MatchString(queue) {
		*bad = append(*bad, problem.Mistake{Code: "queue", Field: "queue", Value: cut(queue, 100), Detail: "want 1 to 100 of A-Z a-z 0-9 _ . : -"})
	}
	return queue
}

// waitParameter is the time for which the request waits; 0: not at all.
func (c *call) waitParameter(bad *[]problem.Mistake) time.Duration {
	given := c.one(bad, "wait", "wait_range")
	if given == "" {
		return 0
	}
	if !waitForm.MatchString(given) {
		*bad = append(*bad, problem.Mistake{Code: "wait_range", Field: "wait", Value: cut(given, 100), Detail: "want whole seconds, 0s to 25s"})
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(given, "s")) // has waitForm
	return time.Duration(n) * time.Second
}
