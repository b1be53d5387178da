// Package service makes collections and jobs of schedules: what the API does to the store, without HTTP.
//
// Every error for a client is a *problem.Problem; any other one is the store's.
package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// Options are what a Service works with; all but Store may be zero.
type Options struct {
	Store     chime.Store
	Queues    []string        // what a collection may name; the first is the default; nil: "default"
	Secrets   *action.Ring    // nil: bodies with secrets are refused
	Egress    action.Egress   // where requests may go
	OpenPFX   action.OpenPFX  // nil: PKCS #12 is refused
	Limits    resource.Limits // of bodies
	Retention time.Duration   // how long jobs that have ended are kept, 0: 60 days
	Logger    *slog.Logger
}

// A Service is the collections and jobs of a store.
type Service struct{ options Options }

// New makes a Service. It does no I/O.
func New(options Options) *Service { return &Service{options: options} }

// Run finishes what disabling, enabling and deleting collections began, and sweeps, until ctx ends.
func (s *Service) Run(ctx context.Context) error { panic("not made yet") }

// A Condition is what a client wants to be true of what he changes.
type Condition struct {
	Match []int64 // If-Match: one of these revisions
	Any   bool    // If-Match: *: it exists
	None  bool    // If-None-Match: *: it does not exist
}

// A Collection is a collection as it is stored.
type Collection struct {
	Name     string
	Revision int64
	State    string // Enabled, Disabled, Deleted
	*resource.Collection
}

// A Page is where a page of a list begins and how long it is.
type Page struct {
	After string // the last name of the page before; empty: none
	Skip  int
	Top   int
	State string // the state that is wanted in lower case; empty: all
}

// ListCollections returns a page of the collections that may says the caller may read, and the name to go on after; empty: that was the last one.
func (s *Service) ListCollections(ctx context.Context, page Page, may func(name string) bool) (found []*Collection, next string, err error) {
	panic("not made yet")
}

// GetCollection returns a collection.
func (s *Service) GetCollection(ctx context.Context, name string) (*Collection, error) {
	panic("not made yet")
}

// PutCollection stores what edit makes of the collection as it is, which is nil if there is none; edit may be called again after a conflict.
func (s *Service) PutCollection(ctx context.Context, name string, when Condition, edit func(*Collection) (*resource.Collection, error)) (c *Collection, created bool, err error) {
	panic("not made yet")
}

// DeleteCollection deletes a collection and its jobs. Existed is false if there was none; done is false if the work goes on in the background.
func (s *Service) DeleteCollection(ctx context.Context, name string, when Condition) (existed, done bool, err error) {
	panic("not made yet")
}

// SetCollectionState enables or disables a collection and its jobs. Done is false if the work goes on in the background.
func (s *Service) SetCollectionState(ctx context.Context, name, state string) (c *Collection, done bool, err error) {
	panic("not made yet")
}

// A Job is a job as it is stored. The ID of its view is empty: the handler knows it.
type Job struct {
	Revision int64
	resource.JobView
}

// ListJobs returns a page of a collection's jobs, and the name to go on after; empty: that was the last one. It looks at 1,000 names at most.
func (s *Service) ListJobs(ctx context.Context, collection string, page Page) (found []*Job, next string, err error) {
	panic("not made yet")
}

// GetJob returns a job.
func (s *Service) GetJob(ctx context.Context, n resource.JobName) (*Job, error) {
	panic("not made yet")
}

// PutJob stores what edit makes of the job as it is, which is nil if there is none; edit may be called again after a conflict. Patched says that a
// state in what edit returns always counts.
func (s *Service) PutJob(ctx context.Context, n resource.JobName, when Condition, patched bool, edit func(*Job) (*resource.Job, error)) (j *Job, created bool, err error) {
	panic("not made yet")
}

// DeleteJob deletes a job with all of its occurrences that wait.
func (s *Service) DeleteJob(ctx context.Context, n resource.JobName, when Condition) (existed bool, err error) {
	panic("not made yet")
}

// RunJob runs a job once now, and returns the occurrence's ID. The same key, which may be empty, gives the same run for 24 hours.
func (s *Service) RunJob(ctx context.Context, n resource.JobName, key string) (id string, err error) {
	panic("not made yet")
}

// NextOf returns the next instants of a job, and its rule in words.
func (s *Service) NextOf(ctx context.Context, n resource.JobName, count int) (next []time.Time, text string, err error) {
	panic("not made yet")
}

// Preview checks a job as PutJob would, but for its collection, and returns its first instants and its rule in words. It stores nothing.
func (s *Service) Preview(ctx context.Context, j *resource.Job, count int) (next []time.Time, text string, err error) {
	panic("not made yet")
}

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

// HistoryPage is where a page of a history begins and how long it is.
type HistoryPage struct {
	Before int64 // fences below this one; 0: from the newest
	Skip   int
	Top    int
	Status string // the status that is wanted in lower case; empty: all
}

// History returns a page of the executions of a job, the newest first, and the fence to go on before; 0: that was the last one.
func (s *Service) History(ctx context.Context, n resource.JobName, page HistoryPage) (found []Execution, next int64, err error) {
	panic("not made yet")
}

// Rekey seals the secrets of all jobs with the first key of the ring, and returns how many it has changed.
func (s *Service) Rekey(ctx context.Context) (changed int, err error) { panic("not made yet") }
