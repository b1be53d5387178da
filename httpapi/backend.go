package httpapi

import (
	"context"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// A backend is what the handler calls: a *service.Service. Every error for a client is a *problem.Problem; every other error is the store's.
type backend interface {
	Run(ctx context.Context) error
	Rekey(ctx context.Context) (service.Rekeyed, error)

	ListCollections(ctx context.Context, page service.Page, sight service.Sight) (found []*service.Collection, next string, err error)
	GetCollection(ctx context.Context, name string) (*service.Collection, error)
	PutCollection(ctx context.Context, name string, when service.Condition, edit func(*service.Collection) (*resource.Collection, error)) (c *service.Collection, created bool, err error)
	DeleteCollection(ctx context.Context, name string, when service.Condition) (existed, done bool, err error)
	SetCollectionState(ctx context.Context, name, state string) (c *service.Collection, done bool, err error)

	ListJobs(ctx context.Context, collection string, page service.Page) (found []*service.Job, next string, err error)
	GetJob(ctx context.Context, n resource.JobName) (*service.Job, error)
	PutJob(ctx context.Context, n resource.JobName, when service.Condition, patched bool, edit func(*service.Job) (*resource.Job, error)) (j *service.Job, created bool, err error)
	DeleteJob(ctx context.Context, n resource.JobName, when service.Condition) (existed bool, err error)
	CheckVerb(ctx context.Context, schedule string, do service.Verb) (job bool, err error)
	RunJob(ctx context.Context, n resource.JobName, key string) (id string, err error)
	History(ctx context.Context, n resource.JobName, page service.HistoryPage) (found []service.Execution, next int64, err error)
	NextOf(ctx context.Context, n resource.JobName, count int) (next []time.Time, text string, err error)
	AddTasks(ctx context.Context, collection string, tasks []*resource.Task, key string) ([]service.TaskReceipt, error)
	ListTasks(ctx context.Context, collection string, q service.TaskQuery) (found []*resource.TaskView, next string, err error)
	AwaitTask(ctx context.Context, n resource.TaskName, queue string)
	GetTask(ctx context.Context, n resource.TaskName, queue string) (*resource.TaskView, error)
	DeleteTask(ctx context.Context, n resource.TaskName, queue string) (existed bool, err error)
	Acknowledge(ctx context.Context, n resource.JobName, by string, a resource.Acknowledgement) (*resource.AcknowledgementView, error)
	Acknowledgements(ctx context.Context, collection string) ([]*resource.AcknowledgementView, error)
	EndAcknowledgement(ctx context.Context, n resource.JobName) (existed bool, err error)
	AddBatch(ctx context.Context, collection string, b *resource.Batch) (*resource.BatchView, error)
	ListBatches(ctx context.Context, collection, state string, skip, top int, after string) (found []*resource.BatchView, next string, err error)
	GetBatch(ctx context.Context, n resource.BatchName) (*resource.BatchView, error)
	CancelBatch(ctx context.Context, n resource.BatchName) (*resource.BatchView, error)
	DeleteBatch(ctx context.Context, n resource.BatchName) (existed bool, err error)
	Preview(ctx context.Context, j *resource.Job, count int) (next []time.Time, text string, err error)
}
