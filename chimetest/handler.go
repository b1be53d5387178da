package chimetest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/testjob"
	"github.com/chimejobs/chime/internal/wire"
)

// NewJob returns a job as its handler would receive it in the first attempt if the item were enqueued now. Settings that the item does not have get
// chime's own defaults, because there is no handler and no worker yet. The test may change the job: its Attempt, its Schedule and Planned, its
// LastError, its Batch, its BatchInfo. Neither a store nor Run is needed.
//
// The test ends if Enqueue would refuse the item.
func NewJob(t testing.TB, item chime.Item) *chime.Job {
	t.Helper()
	sent := new(sentJob)
	enqueuer := chime.NewEnqueuer(sent, chime.EnqueuerOptions{Logger: slog.New(slog.DiscardHandler)})
	receipt, err := enqueuer.Enqueue(context.Background(), item.Name, item.Args, item.Options...)
	if err == nil && len(sent.body) == 0 {
		err = errors.New("it was not sent")
	}
	var message wire.Envelope
	if err == nil {
		message, err = wire.DecodeEnvelope(sent.body)
	}
	if err != nil {
		t.Fatalf("chimetest: NewJob(%v): %v", item, err)
	}
	job := &chime.Job{
		ID: receipt.ID, Name: message.Name, Queue: receipt.Queue, Schedule: message.Schedule, Planned: message.Planned,
		Attempt: 1, MaxAttempts: cmp.Or(message.MaxAttempts, defaultMaxAttempts), Fence: 1,
		Timeout: cmp.Or(message.Timeout, defaultTimeout), Payload: message.Payload,
	}
	if job.Started = time.Now(); job.Started.Before(job.Planned) {
		job.Started = job.Planned // nothing runs early
	}
	if message.Details != nil {
		job.Header, job.Group, job.Batch = maps.Clone(message.Details.Header), message.Details.Group, message.Details.Batch
	}
	return job
}

// These are package chime's defaults; a test compares them with what its worker passes to a handler.
const (
	defaultMaxAttempts = 25
	defaultTimeout     = 30 * time.Minute
)

// A sentJob is a store that keeps the body of the job that an enqueuer sends.
type sentJob struct {
	protocol.Store // nil: the enqueuer calls nothing else
	body           []byte
}

func (s *sentJob) Protocol() protocol.Store                        { return s }
func (s *sentJob) Check(context.Context) error                     { return nil }
func (s *sentJob) Partitions(context.Context, string) (int, error) { return 1, nil }

func (s *sentJob) CheckUse(context.Context, protocol.Use, []string) error { return nil }

func (s *sentJob) Enqueue(_ context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	answers := make([]protocol.EnqueueAnswer, len(calls))
	for i := range calls {
		for j := range calls[i].Items {
			s.body = append([]byte(nil), calls[i].Items[j].Body...) // copied: the original belongs to the enqueuer
		}
		answers[i].Now = time.Now()
	}
	return answers
}

// GrowBatch, FillBatch and ReportBatches are called for an item with chime.InBatch.
func (s *sentJob) GrowBatch(context.Context, string, string, protocol.Partition) (protocol.BatchRecord, error) {
	return protocol.BatchRecord{State: protocol.BatchRunning}, nil
}

func (s *sentJob) FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	answers := make([]protocol.FillAnswer, len(calls))
	for i := range calls {
		s.Enqueue(ctx, []protocol.EnqueueCall{{Items: calls[i].Items}})
	}
	return answers
}

func (s *sentJob) ReportBatches(_ context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	return make([]protocol.ReportAnswer, len(reports))
}

// Worked is the result of a handler.
type Worked struct {
	chime.Outcome        // what its error means: Action, Delay, Delayed, Err
	Value         []byte // the value that it passed to job.Return, encoded; see chime.Decode. Nil: none
	Progress      []byte // the value of its last call of job.Progress, encoded. Nil: none
	Note          string // the text that it passed to job.Note
}

// Work calls a handler with a job, as a worker does: its ctx ends with the test or after the job's Timeout, chime.JobFrom(ctx) returns the job, and a
// panic is a failure with a *chime.PanicError. It returns when the handler does. Inside Run, the handler runs under fake time too.
//
// Work does not retry the job: the outcome of a failed attempt is Retried, even if it is the last one.
func Work(t testing.TB, handler chime.Handler, job *chime.Job) Worked {
	t.Helper()
	switch {
	case job == nil:
		t.Fatal("chimetest: Work: the job is nil: create one with NewJob")
	case handler == nil:
		t.Fatalf("chimetest: Work(%v): the handler is nil", job)
	}
	ctx := t.Context()
	if job.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, job.Timeout, chime.ErrTimeout)
		defer cancel()
		ctx = limited
	}
	err := call(testjob.Begin(ctx, job), handler, job)
	said := testjob.Of(job)
	return Worked{Outcome: chime.OutcomeOf(err), Value: said.Value, Progress: said.Progress, Note: said.Note}
}

// WorkMany calls a handler of several jobs, as a worker does: its ctx ends with the test or after the Timeout of the first job, and a panic is a failure of
// each job. It returns what each job got, in the order of jobs. Like [Work] it retries nothing.
func WorkMany(t testing.TB, handler chime.ManyHandler, jobs ...*chime.Job) []Worked {
	t.Helper()
	switch {
	case len(jobs) == 0 || slices.Contains(jobs, nil):
		t.Fatal("chimetest: WorkMany: there is no job, or one is nil: create them with NewJob")
	case handler == nil:
		t.Fatalf("chimetest: WorkMany(%v): the handler is nil", jobs)
	}
	ctx := t.Context()
	if timeout := jobs[0].Timeout; timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, timeout, chime.ErrTimeout)
		defer cancel()
		ctx = limited
	}
	for _, job := range jobs {
		_ = testjob.Begin(ctx, job) // the handler's ctx has no job
	}
	err := call(ctx, func(ctx context.Context, _ *chime.Job) error { return handler(ctx, slices.Clone(jobs)) }, nil)
	worked := make([]Worked, len(jobs))
	for i, outcome := range chime.OutcomesOf(err, jobs) {
		said := testjob.Of(jobs[i])
		worked[i] = Worked{Outcome: outcome, Value: said.Value, Progress: said.Progress, Note: said.Note}
	}
	return worked
}

// maxStack is how many bytes of a stack a worker keeps.
const maxStack = 4 << 10

func call(ctx context.Context, handler chime.Handler, job *chime.Job) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil { // else the handler has ended the test
			stack := debug.Stack()
			err = &chime.PanicError{Value: v, Stack: stack[:min(len(stack), maxStack)]}
		}
	}()
	err = handler(ctx, job)
	returned = true
	return err
}
