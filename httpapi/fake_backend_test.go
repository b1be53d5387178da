package httpapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// A fakeBackend keeps collections and jobs in maps. It checks conditions like the service, and runs nothing.
type fakeBackend struct {
	mu          sync.Mutex
	revision    int64
	collections map[string]*service.Collection
	jobs        map[resource.JobName]*service.Job
	history     []service.Execution // the newest first
	unfinished  bool                // enable, disable and delete of collections leave work in the background

	calls   int                             // to anything
	err     error                           // the error of every call, if it is not nil
	hook    func(ctx context.Context) error // instead of err
	key     string                          // of the last RunJob
	when    service.Condition               // of the last change
	page    service.Page                    // of the last list
	tasks   map[resource.TaskName]*resource.TaskView
	batches map[resource.BatchName]*resource.BatchView
	wait    func(ctx context.Context) // AwaitTask; nil: the task has ended
	known   map[resource.JobName]*resource.AcknowledgementView
	query   service.TaskQuery   // of the last list of tasks
	past    service.HistoryPage // of the last history
}

func newFakeBackend(collections ...string) *fakeBackend {
	f := &fakeBackend{collections: map[string]*service.Collection{}, jobs: map[resource.JobName]*service.Job{}, tasks: map[resource.TaskName]*resource.TaskView{}, batches: map[resource.BatchName]*resource.BatchView{}, known: map[resource.JobName]*resource.AcknowledgementView{}}
	for _, name := range collections {
		f.collections[name] = &service.Collection{Name: name, Revision: f.next(), State: "Enabled", Collection: readCollection()}
	}
	return f
}

func (f *fakeBackend) next() int64 {
	f.revision++
	return f.revision
}

// addJob adds a job without a rule.
func (f *fakeBackend) addJob(collection, job string) {
	n := resource.JobName{Collection: collection, Job: job}
	f.jobs[n] = &service.Job{Revision: f.next(), JobView: resource.JobView{Name: n, State: resource.Enabled, Job: readJob(n)}}
}

// addTask adds a task that waits.
func (f *fakeBackend) addTask(collection, task string) {
	f.tasks[resource.TaskName{Collection: collection, Task: task}] = &resource.TaskView{ID: task, Queue: "default", State: "waiting"}
}

func readCollection() *resource.Collection {
	read, mistakes := resource.ReadCollection([]byte("{}"), "")
	if len(mistakes) > 0 {
		panic(mistakes)
	}
	return read
}

func readJob(n resource.JobName) *resource.Job {
	read, mistakes := resource.ReadJob([]byte(sampleJob), n)
	if len(mistakes) > 0 {
		panic(mistakes)
	}
	return read
}

// enter begins a call.
func (f *fakeBackend) enter(ctx context.Context) (leave func(), err error) {
	f.mu.Lock()
	f.calls++
	if f.hook != nil {
		return f.mu.Unlock, f.hook(ctx)
	}
	return f.mu.Unlock, f.err
}

func (f *fakeBackend) check(when service.Condition, revision int64) error {
	f.when = when
	switch {
	case when.None && revision != 0:
		return problem.New(problem.Exists, "it exists")
	case (when.Any || len(when.Match) > 0) && revision == 0, len(when.Match) > 0 && !slices.Contains(when.Match, revision):
		return problem.New(problem.Changed, "it is at revision %d", revision)
	}
	return nil
}

func (f *fakeBackend) Run(ctx context.Context) error {
	<-ctx.Done()
	return f.err
}

func (f *fakeBackend) Rekey(context.Context) (service.Rekeyed, error) {
	return service.Rekeyed{Changed: len(f.jobs)}, f.err
}

func (f *fakeBackend) ListCollections(ctx context.Context, page service.Page, sight service.Sight) (found []*service.Collection, next string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	f.page = page
	for _, name := range slices.Sorted(maps.Keys(f.collections)) {
		switch {
		case name <= page.After || !sight.May(name) || page.State != "" && page.State != strings.ToLower(f.collections[name].State):
		case page.Skip > 0:
			page.Skip--
		case len(found) == page.Top:
			return found, found[len(found)-1].Name, err
		default:
			found = append(found, f.collections[name])
		}
	}
	return found, "", err
}

func (f *fakeBackend) collection(name string) (*service.Collection, error) {
	if c := f.collections[name]; c != nil {
		return c, nil
	}
	return nil, problem.New(problem.NotFound, "there is no collection %s: PUT /jobCollections/%s with {} creates it", name, name)
}

func (f *fakeBackend) GetCollection(ctx context.Context, name string) (*service.Collection, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return nil, err
	}
	return f.collection(name)
}

func (f *fakeBackend) PutCollection(ctx context.Context, name string, when service.Condition, edit func(*service.Collection) (*resource.Collection, error)) (*service.Collection, bool, error) {
	leave, err := f.enter(ctx)
	defer leave()
	old, revision := f.collections[name], int64(0)
	if old != nil {
		revision = old.Revision
	}
	if err == nil {
		err = f.check(when, revision)
	}
	if err != nil {
		return nil, false, err
	}
	made, err := edit(old)
	if err != nil {
		return nil, false, err
	}
	f.collections[name] = &service.Collection{Name: name, Revision: f.next(), State: "Enabled", Collection: made}
	return f.collections[name], old == nil, nil
}

func (f *fakeBackend) DeleteCollection(ctx context.Context, name string, when service.Condition) (existed, done bool, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	old := f.collections[name]
	switch {
	case err != nil:
		return false, false, err
	case old == nil:
		return false, true, f.check(when, 0)
	}
	if err := f.check(when, old.Revision); err != nil {
		return true, false, err
	}
	delete(f.collections, name)
	maps.DeleteFunc(f.jobs, func(n resource.JobName, _ *service.Job) bool { return n.Collection == name })
	return true, !f.unfinished, nil
}

func (f *fakeBackend) SetCollectionState(ctx context.Context, name, state string) (*service.Collection, bool, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return nil, false, err
	}
	c, err := f.collection(name)
	if err != nil {
		return nil, false, err
	}
	c.State, c.Revision = state, f.next()
	return c, !f.unfinished, nil
}

func (f *fakeBackend) ListJobs(ctx context.Context, collection string, page service.Page) (found []*service.Job, next string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	f.page = page
	if err == nil {
		_, err = f.collection(collection)
	}
	if err != nil {
		return nil, "", err
	}
	names := slices.SortedFunc(maps.Keys(f.jobs), func(a, b resource.JobName) int { return strings.Compare(a.Job, b.Job) })
	for _, n := range names {
		switch {
		case n.Collection != collection || n.Job <= page.After || page.State != "" && page.State != string(f.jobs[n].State):
		case page.Skip > 0:
			page.Skip--
		case len(found) == page.Top:
			return found, found[len(found)-1].Name.Job, nil
		default:
			found = append(found, f.jobs[n])
		}
	}
	return found, "", nil
}

func (f *fakeBackend) job(n resource.JobName) (*service.Job, error) {
	if _, err := f.collection(n.Collection); err != nil {
		return nil, err
	}
	if j := f.jobs[n]; j != nil {
		return j, nil
	}
	return nil, problem.New(problem.NotFound, "there is no job %s in collection %s", n.Job, n.Collection)
}

func (f *fakeBackend) GetJob(ctx context.Context, n resource.JobName) (*service.Job, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return nil, err
	}
	return f.job(n)
}

func (f *fakeBackend) PutJob(ctx context.Context, n resource.JobName, when service.Condition, _ bool, edit func(*service.Job) (*resource.Job, error)) (*service.Job, bool, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(n.Collection)
	}
	old, revision := f.jobs[n], int64(0)
	if old != nil {
		revision = old.Revision
	}
	if err == nil {
		err = f.check(when, revision)
	}
	if err != nil {
		return nil, false, err
	}
	// This simulates a conflict: the value that the first call returned is changed on its way to the store.
	if spoilt, err := edit(old); err == nil {
		*spoilt.Action = action.Action{Type: "spoilt"}
	}
	made, err := edit(old)
	if err != nil {
		return nil, false, err
	}
	if made.Action.Type == "spoilt" {
		return nil, false, errors.New("edit returned the same action twice")
	}
	f.jobs[n] = &service.Job{Revision: f.next(), JobView: resource.JobView{Name: n, State: resource.Enabled, Job: made}}
	return f.jobs[n], old == nil, nil
}

func (f *fakeBackend) DeleteJob(ctx context.Context, n resource.JobName, when service.Condition) (existed bool, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return false, err
	}
	old := f.jobs[n]
	if old == nil {
		return false, f.check(when, 0)
	}
	if err := f.check(when, old.Revision); err != nil {
		return true, err
	}
	delete(f.jobs, n)
	return true, nil
}

func (f *fakeBackend) CheckVerb(context.Context, string, service.Verb) (bool, error) {
	return false, nil
}

func (f *fakeBackend) RunJob(ctx context.Context, n resource.JobName, key string) (string, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return "", err
	}
	f.key = key
	_, err = f.job(n)
	return n.Schedule() + "#1", err
}

func (f *fakeBackend) History(ctx context.Context, n resource.JobName, page service.HistoryPage) (found []service.Execution, next int64, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	f.past = page
	if err == nil {
		_, err = f.job(n)
	}
	if err != nil {
		return nil, 0, err
	}
	for _, e := range f.history {
		switch {
		case page.Before != 0 && e.Fence >= page.Before || page.Status != "" && page.Status != strings.ToLower(e.Status):
		case page.Skip > 0:
			page.Skip--
		case len(found) == page.Top:
			return found, found[len(found)-1].Fence, nil
		default:
			found = append(found, e)
		}
	}
	return found, 0, nil
}

func (f *fakeBackend) NextOf(ctx context.Context, n resource.JobName, count int) (next []time.Time, text string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil {
		return nil, "", err
	}
	_, err = f.job(n)
	return instants(count), "every day", err
}

func (f *fakeBackend) Preview(ctx context.Context, _ *resource.Job, count int) (next []time.Time, text string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	return instants(count), "every day", err
}

// instants returns one instant for each of a number of days, in a zone that is not UTC.
func instants(count int) []time.Time {
	days := make([]time.Time, count)
	for i := range days {
		days[i] = time.Date(2027, 3, 1+i, 10, 0, 0, 0, time.FixedZone("two hours east", 2*3600))
	}
	return days
}

func (f *fakeBackend) AddTasks(ctx context.Context, collection string, tasks []*resource.Task, key string) (added []service.TaskReceipt, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	f.key = key
	if err == nil {
		_, err = f.collection(collection)
	}
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		n := resource.TaskName{Collection: collection, Task: cmp.Or(task.ID, "made")}
		_, existing := f.tasks[n]
		f.tasks[n], f.revision = &resource.TaskView{ID: n.Task, Queue: "default", State: "waiting"}, f.revision+1
		added = append(added, service.TaskReceipt{ID: n.Task, Queue: "default", Existing: existing})
	}
	return added, nil
}

func (f *fakeBackend) AwaitTask(ctx context.Context, _ resource.TaskName, _ string) {
	if f.wait != nil {
		f.wait(ctx)
	}
}

func (f *fakeBackend) ListTasks(ctx context.Context, collection string, q service.TaskQuery) (found []*resource.TaskView, next string, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(collection)
	}
	if f.query = q; err != nil {
		return nil, "", err
	}
	for n, v := range f.tasks {
		if n.Collection == collection && v.ID > q.After {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *resource.TaskView) int { return strings.Compare(a.ID, b.ID) })
	if len(found) > q.Top {
		return found[:q.Top], found[q.Top-1].ID, nil
	}
	return found, "", nil
}

func (f *fakeBackend) GetTask(ctx context.Context, n resource.TaskName, queue string) (*resource.TaskView, error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err == nil {
		_, err = f.collection(n.Collection)
	}
	switch {
	case err != nil:
		return nil, err
	case f.tasks[n] == nil || queue != "" && queue != f.tasks[n].Queue:
		return nil, problem.New(problem.NotFound, "there is no task %s", n.Task)
	}
	return f.tasks[n], nil
}

func (f *fakeBackend) DeleteTask(ctx context.Context, n resource.TaskName, _ string) (existed bool, err error) {
	leave, err := f.enter(ctx)
	defer leave()
	if err != nil || f.tasks[n] == nil {
		return false, err
	}
	delete(f.tasks, n)
	return true, nil
}
