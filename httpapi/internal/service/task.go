package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strconv"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

// A task is a job of a queue, without a schedule. The API keeps nothing of it: its ID contains the collection and the collection's creation, so a caller
// finds the tasks of its own collection only, and not those of an earlier collection of that name. The collection decides at the time of the request which
// jobs are allowed and which queue they use. Later changes of the collection, and its deletion, do not change its tasks.

// A TaskReceipt is the result for one task.
type TaskReceipt struct {
	ID       string // the client's, or one from the server
	Queue    string
	Existing bool   // a task with this ID existed, or Once barred it: nothing was added
	State    string // of the existing task; empty: it has ended, or was not read
}

// AddTasks adds tasks to their queues: all of them, or after a problem none. After an error of the store some may be added; the same call with IDs or with
// the same key, which may be empty, adds the others. For 24 hours the same key gives the same tasks.
func (s *Service) AddTasks(ctx context.Context, name string, tasks []*resource.Task, key string) ([]TaskReceipt, error) {
	c, limits, err := s.taskCollection(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case c.State == collection.Deleted:
		return nil, deleting(name)
	case c.State == collection.Disabled:
		return nil, problem.New(problem.CollectionDisabled, "collection %s is disabled and takes no tasks: enable the collection first", name)
	}
	adding := taskAddition{service: s, collection: c, limits: limits, queue: s.queueOf(limits), key: key, alone: len(tasks) == 1,
		permitted: map[[2]string]bool{}, grouped: map[string]bool{}, held: map[heldTask]int64{}}
	items, err := adding.items(ctx, tasks)
	if err != nil {
		return nil, err
	}
	if err := s.makeUse(ctx, c, 0, adding.held); err != nil {
		if repeated, failed := s.wereAccepted(ctx, adding.held); failed != nil || !repeated {
			return nil, cmp.Or(failed, err)
		}
	}
	added, err := s.enqueuer.EnqueueMany(ctx, items)
	if err != nil {
		return nil, tasksRefused(err)
	}
	receipts := make([]TaskReceipt, len(added))
	for i, r := range added {
		id, _ := taskid.Parse(r.ID) // it was built by adding
		receipts[i] = TaskReceipt{ID: id.Task, Queue: r.Queue, Existing: r.Existing, State: taskState(r.State)}
	}
	return receipts, nil
}

// tasksRefused converts what the queue refuses to a problem.
func tasksRefused(err error) error {
	if errors.Is(err, chime.ErrGroupFull) {
		return problem.New(problem.GroupFull, "a group has as many jobs waiting as its rule allows; other tasks of the request may be stored: "+
			"when some have begun, repeat the request if it has an Idempotency-Key or each task an id; else tasks may be stored twice")
	}
	return groupError(err, "")
}

// taskCollection reads a collection and its limits.
func (s *Service) taskCollection(ctx context.Context, name string) (*collection.Record, *resource.Collection, error) {
	c, err := s.collection(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	limits, err := resource.DecodeCollection(c.Data)
	return c, limits, err
}

// queueOf is the queue of a collection's jobs that name none.
func (s *Service) queueOf(limits *resource.Collection) string {
	return cmp.Or(limits.Queue, s.options.Queues[0])
}

// A taskAddition checks the tasks of one request and builds their jobs.
type taskAddition struct {
	service    *Service
	collection *collection.Record
	limits     *resource.Collection
	queue      string // of tasks that name none
	key        string // of the request; empty: none
	batch      string // to which the tasks belong; empty: none
	alone      bool   // the request has one task
	permitted  map[[2]string]bool
	grouped    map[string]bool    // queues that may have groups
	held       map[heldTask]int64 // the checked tasks and their bytes
}

// items checks all tasks and seals their secrets. Mistakes in their content are returned together.
func (t *taskAddition) items(ctx context.Context, tasks []*resource.Task) ([]chime.Item, error) {
	var mistakes []problem.Mistake
	for _, task := range tasks {
		mistakes = append(mistakes, t.prepare(ctx, task)...)
	}
	if len(mistakes) > 0 {
		return nil, problem.Invalid(mistakes[:min(len(mistakes), problem.MaxMistakes)])
	}
	items := make([]chime.Item, len(tasks))
	for i, task := range tasks {
		if err := t.check(ctx, task); err != nil {
			return nil, at(task.Prefix, err)
		}
		var err error
		if items[i], err = t.item(task, i); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// at adds the place of one of several tasks to a problem.
func at(prefix string, err error) error {
	if p := (*problem.Problem)(nil); errors.As(err, &p) && prefix != "" {
		p.Detail = strings.TrimSuffix(prefix, ".") + ": " + p.Detail
	}
	return err
}

// prepare converts a task's action to the stored form, and returns its mistakes.
func (t *taskAddition) prepare(ctx context.Context, task *resource.Task) (mistakes []problem.Mistake) {
	if t.key != "" && task.ID != "" {
		mistakes = append(mistakes, problem.Mistake{Code: "conflict", Field: task.Prefix + "id", Value: task.ID, Detail: "the Idempotency-Key identifies the task: omit the header or the id"})
	}
	a := task.Action
	if !t.alone && hasPFX(a) {
		return append(mistakes, problem.Mistake{Code: "pfx", Field: task.Prefix + "action", Detail: "one of several tasks may not have a pfx: give certificate and key in PEM, or send the task alone"})
	}
	found := append(a.Prepare(ctx, t.service.options.OpenPFX), a.Keep(nil)...)
	found = append(found, a.Validate(t.service.rules())...)
	for _, m := range found {
		if task.Plain { // the client has sent the content of action.job
			m.Field = strings.TrimPrefix(m.Field, "action.")
		}
		m.Field = task.Prefix + m.Field
		mistakes = append(mistakes, m)
	}
	return mistakes
}

// hasPFX reports whether the action or its error action has a client certificate that has to be converted.
func hasPFX(a *action.Action) bool {
	for ; a != nil; a = a.ErrorAction {
		if a.Request != nil && a.Request.Authentication != nil && !a.Request.Authentication.PFX.IsZero() {
			return true
		}
	}
	return false
}

// check returns the reason why the collection does not allow a task.
func (t *taskAddition) check(ctx context.Context, task *resource.Task) error {
	for _, target := range jobTargets(task.Action, cmp.Or(targetQueue(task.Action), t.queue)) {
		at := [2]string{target.Name, target.Queue}
		if _, known := t.permitted[at]; !known {
			t.permitted[at] = target.Permitted(t.limits.Jobs, t.queue)
		}
		if !t.permitted[at] {
			return targetForbidden(t.collection.Name, target, t.queue)
		}
	}
	if err := groupForbidden(t.collection.Name, t.limits, task.Group); err != nil {
		return err
	}
	if queue, group := cmp.Or(targetQueue(task.Action), t.queue), t.group(task); group != "" && !t.grouped[queue] {
		if err := t.service.checkGroupQueue(ctx, group, queue, task.Prefix); err != nil {
			return err
		}
		t.grouped[queue] = true
	}
	if t.limits.SKU == resource.FreeSKU && authenticates(task.Action) {
		return problem.New(problem.QuotaAuthentication, "tasks of collection %s may not have authentication: its sku is %s", t.collection.Name, resource.FreeSKU)
	}
	if task.Action.HasSecrets() && t.service.options.Secrets == nil {
		return noKeys()
	}
	return nil
}

// targetQueue is the queue that a job action names; empty: none.
func targetQueue(a *action.Action) string {
	if a.Job == nil {
		return ""
	}
	return a.Job.Queue
}

// group is the group of a task's job; empty: none.
func (t *taskAddition) group(task *resource.Task) string {
	return groupOf(task.Group, cmp.Or(targetQueue(task.Action), t.queue), t.limits, t.queue)
}

// item is the job of a checked task. i is its place in the request.
func (t *taskAddition) item(task *resource.Task, i int) (chime.Item, error) {
	id := taskid.ID{Collection: t.collection.Name, Creation: t.collection.Creation, Task: task.ID}
	switch {
	case t.key != "":
		id.Task = "key-" + numbered(t.key, i)
	case t.batch != "" && task.ID == "": // the request may be repeated
		id.Task = "batch-" + numbered(t.batch, i)
	case task.ID == "":
		id.Task = strings.ToLower(rand.Text())
	}
	// A release before this one does not know tasks and cannot open their secrets, so they always have the newest form.
	ring := t.service.options.Secrets.Sealing(newestSeal, t.service.options.Sealed)
	if err := task.Action.Seal(ring, action.PlaceOf(id.String()), nil); err != nil {
		return chime.Item{}, err
	}
	item, err := task.Action.Item(inGroup(t.group(task))...)
	if err != nil {
		return chime.Item{}, err
	}
	if task.Plain {
		item.Options = nil
		for _, option := range inGroup(t.group(task)) {
			item.Options = append(item.Options, option)
		}
	}
	queue := cmp.Or(targetQueue(task.Action), t.queue)
	t.held[heldTask{queue, id.String()}] = taskBytes(task)
	item.Options = append(item.Options, chime.Queue(queue), chime.ID(id.String()))
	item.Options = append(item.Options, t.options(task)...)
	return item, nil
}

// options are the options of a task's job that the client has given.
func (t *taskAddition) options(task *resource.Task) (options []chime.EnqueueOption) {
	switch {
	case !task.At.IsZero():
		options = append(options, chime.At(task.At))
	case task.In > 0:
		options = append(options, chime.In(task.In))
	}
	once := task.Once
	if t.key != "" {
		once = runOnce
	}
	if once > 0 {
		options = append(options, chime.Once(once))
	}
	if task.Keep > 0 {
		options = append(options, chime.Keep(task.Keep))
	}
	if task.Expire > 0 {
		options = append(options, chime.Expire(task.Expire))
	}
	for name, value := range task.Headers {
		options = append(options, chime.Header(name, value))
	}
	return options
}

// numbered is the end of the ID of a task of a request with a key, or of a batch: the request has the same tasks whenever it is repeated.
func numbered(key string, i int) string {
	sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(i)))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}

// DeleteTask ends a task: one that waits is removed, and a worker that holds it is asked to end it. It reports whether there was one. A kept result
// remains. It also lifts Once. queue may be empty: the collection's.
func (s *Service) DeleteTask(ctx context.Context, n resource.TaskName, queue string) (existed bool, err error) {
	id, queue, err := s.taskJob(ctx, n, queue)
	if p := (*problem.Problem)(nil); errors.As(err, &p) && p.Code == problem.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	result, err := s.jobs.Cancel(ctx, queue, id)
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		return false, err
	}
	if err == nil && result != chime.CancelTooLate {
		return true, nil
	}
	removed, err := s.jobs.Delete(ctx, chime.JobFilter{Queue: queue, IDs: []string{id}}, nil)
	if errors.Is(err, chime.ErrNotFound) { // there is no such queue
		return false, nil
	}
	return removed.Changed > 0, err
}

// taskJob is the ID and the queue of a task's job, which need not exist.
func (s *Service) taskJob(ctx context.Context, n resource.TaskName, queue string) (id, of string, err error) {
	c, limits, err := s.taskCollection(ctx, n.Collection)
	if err != nil {
		return "", "", err
	}
	return taskid.ID{Collection: c.Name, Creation: c.Creation, Task: n.Task}.String(), cmp.Or(queue, s.queueOf(limits)), nil
}
