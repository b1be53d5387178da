package seal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// Options of a Store.
type Options struct {
	Namespace string // of the store: a value opens in no other one
	Required  bool   // jobs that are not sealed are refused in Work, and are not sealed later
	Renew     bool   // schedules that another key has sealed are sealed again when they are declared
}

// A Store seals the secrets in calls to a store, and opens those in its answers. What it cannot open it passes on sealed, with the reason. It does not
// change the memory of a call, because the caller may send the call again.
type Store struct {
	protocol.Store
	sealer
	renew bool
}

// New returns a store that seals.
func New(store protocol.Store, codec Codec, options Options) *Store {
	return &Store{Store: store, sealer: sealer{codec, options.Namespace, options.Required}, renew: options.Renew}
}

// Job seals a job before it is enqueued, so that an error of the codec refuses it.
func (s *Store) Job(queue, id string, job *wire.Envelope) error {
	return s.sealJob(holderOf(queue, id), job)
}

// ArgsID returns the digest of which the ID of a job is made.
func (s *Store) ArgsID(data []byte) ([]byte, error) {
	if by, ok := s.codec.(argsIDer); ok {
		if digest, ok := by.ArgsID(data); ok && len(digest) >= minDigest {
			return digest, nil
		}
	}
	return nil, protocol.Because(protocol.Invalid("option", "ArgsID", "a codec with a key of IDs, or the option ID"), "has no key: without one the ID would show to whoever guesses the arguments that they are right")
}

// Enqueue seals bodies that are not sealed yet.
func (s *Store) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	calls = slices.Clone(calls)
	for i := range calls {
		items, queue := calls[i].Items, calls[i].Partition.Queue
		if !slices.ContainsFunc(items, func(item protocol.EnqueueItem) bool { return !isSealed(item.Body) }) {
			continue
		}
		items = slices.Clone(items)
		for j := range items {
			var err error
			if items[j].Body, err = s.sealBody(holderOf(queue, items[j].ID), items[j].Body); err != nil {
				return failed(len(calls), func(a *protocol.EnqueueAnswer) { a.Err = err })
			}
		}
		calls[i].Items = items
	}
	return s.Store.Enqueue(ctx, calls)
}

// failed returns the answers to calls that were not sent.
func failed[A any](n int, set func(*A)) []A {
	answers := make([]A, n)
	for i := range answers {
		set(&answers[i])
	}
	return answers
}

// Replace seals the new job.
func (s *Store) Replace(ctx context.Context, call protocol.ReplaceCall) (protocol.Replaced, error) {
	body, err := s.sealBody(holderOf(call.Partition.Queue, call.Item.ID), call.Item.Body)
	if err != nil {
		return 0, err
	}
	call.Item.Body = body
	return s.Store.Replace(ctx, call)
}

// Backfill seals the jobs.
func (s *Store) Backfill(ctx context.Context, backfilling protocol.Backfilling) (protocol.BackfillAnswer, error) {
	found, err := s.Store.Find(ctx, []string{backfilling.Name}) // the queue that they are placed on
	if err != nil {
		return protocol.BackfillAnswer{}, err
	}
	queue := found[0].Partition.Queue
	backfilling.Jobs = slices.Clone(backfilling.Jobs)
	for i := range backfilling.Jobs {
		job := &backfilling.Jobs[i]
		if job.Body, err = s.sealBody(holderOf(queue, job.ID), job.Body); err != nil {
			return protocol.BackfillAnswer{}, err
		}
	}
	return s.Store.Backfill(ctx, backfilling)
}

// Work seals what ended jobs leave, and opens the jobs that are taken.
func (s *Store) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	sent := withoutShapes(calls)
	for i := range calls {
		if !slices.ContainsFunc(calls[i].Settle, hasSecrets) {
			continue
		}
		settle, err := s.settlements(calls[i].Partition.Queue, calls[i].Settle)
		if err != nil {
			return failed(len(calls), func(a *protocol.WorkAnswer) { a.Err = err })
		}
		if &sent[0] == &calls[0] {
			sent = slices.Clone(calls)
		}
		sent[i].Settle = settle
	}
	answers := s.Store.Work(ctx, sent)
	for i := range answers {
		for j := range answers[i].Taken {
			s.openTaken(calls[i].Partition.Queue, &answers[i].Taken[j])
		}
	}
	return answers
}

// plain returns why something that is not sealed is refused; nil: it is not.
func (s *sealer) plain() *protocol.SealedError {
	if !s.required {
		return nil
	}
	return &protocol.SealedError{Plain: true}
}

func hasSecrets(settled protocol.Settlement) bool {
	return len(settled.Body) > 0 || settled.Follower != nil || settled.Result != nil || settled.Run != nil
}

// settlements returns a copy with everything sealed.
func (s *Store) settlements(queue string, settled []protocol.Settlement) ([]protocol.Settlement, error) {
	settled = slices.Clone(settled)
	for i := range settled {
		one := &settled[i]
		at := holderOf(queue, one.ID)
		var err error
		if one.Body, err = s.sealBody(at, one.Body); err != nil {
			return nil, err
		}
		if one.Follower, err = s.follower(queue, one.ID, one.Follower); err != nil {
			return nil, err
		}
		if one.Result, err = s.keptResult(place{queue, one.ID}, one.Result); err != nil {
			return nil, err
		}
		if one.Run, err = s.sealRun(one.Run, one.ID); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// follower returns a copy of the job that follows another one, sealed.
func (s *Store) follower(queue, id string, f *protocol.Follower) (*protocol.Follower, error) {
	if f == nil {
		return nil, nil
	}
	sealed := *f
	var err error
	sealed.Body, err = s.sealBody(followerOf(cmp.Or(f.Queue, queue), id), f.Body)
	return &sealed, err
}

func (s *Store) keptResult(at place, result *protocol.Result) (*protocol.Result, error) {
	if result == nil {
		return nil, nil
	}
	sealed := *result
	var err error
	sealed.Body, err = s.sealResult(at, result.Body)
	return &sealed, err
}

// openTaken opens a job that a worker has taken.
func (s *Store) openTaken(queue string, taken *protocol.TakenJob) {
	var err error
	sealed := false
	if len(taken.Body) > 0 {
		sealed = isSealed(taken.Body)
		var body []byte
		if body, err = s.openBody(holderOf(queue, taken.ID), taken.Body); err == nil {
			taken.Body = body
		}
	} else if len(taken.Definition) > 0 {
		name, _, _ := schedule.SplitOccurrence(taken.ID)
		taken.Definition, sealed, err = s.openDefinition(name, taken.Definition)
	}
	if taken.Refused = s.refused(err); !sealed {
		taken.Refused = s.plain()
	}
}

// Report seals the progress of handlers.
func (s *Store) Report(ctx context.Context, reports []protocol.ProgressReport) error {
	reports = slices.Clone(reports)
	for i := range reports {
		r := &reports[i]
		sealed, err := s.seal(kindProgress, place{r.Partition.Queue, r.ID}, r.Progress)
		if err != nil {
			return err
		}
		r.Progress = wire.SealedProgress(sealed)
	}
	return s.Store.Report(ctx, reports)
}

// Sweep opens the definitions of expired occurrences, whose jobs have to be sealed for the queue. Other jobs are buried as they are.
func (s *Store) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) []protocol.SweepAnswer {
	answers := s.Store.Sweep(ctx, partitions, unless)
	for i := range answers {
		for j := range answers[i].Expired {
			job := &answers[i].Expired[j]
			if len(job.Body) > 0 || len(job.Definition) == 0 {
				continue
			}
			name, _, _ := schedule.SplitOccurrence(job.ID)
			if plain, sealed, err := s.openDefinition(name, job.Definition); err == nil && sealed {
				job.Opened = plain
			}
		}
	}
	return answers
}

// Bury seals the jobs that were made of an opened definition. Other jobs are not opened: what is sealed in them is sealed still. A job in clear remains
// so, with what follows it: otherwise it would run where only sealed jobs run.
func (s *Store) Bury(ctx context.Context, partition protocol.Partition, burials []protocol.Burial) (int, error) {
	burials = slices.Clone(burials)
	for i := range burials {
		b := &burials[i]
		if len(b.Opened) == 0 {
			continue
		}
		var err error
		if b.Dead, err = s.sealBody(holderOf(partition.Queue, b.ID), b.Dead); err != nil {
			return 0, err
		}
		if b.Follower, err = s.follower(partition.Queue, b.ID, b.Follower); err != nil {
			return 0, err
		}
	}
	return s.Store.Bury(ctx, partition, burials)
}

// CancelJob seals the result that is kept.
func (s *Store) CancelJob(ctx context.Context, queue, id string, result *protocol.Result) (protocol.CancelResult, error) {
	sealed, err := s.keptResult(place{queue, id}, result)
	if err != nil {
		return 0, err
	}
	return s.Store.CancelJob(ctx, queue, id, sealed)
}

// RequeueJobs seals the new bodies of dead jobs. A job in clear remains so, as in Bury.
func (s *Store) RequeueJobs(ctx context.Context, queue string, jobs []protocol.RequeuedJob) ([]protocol.Changed, error) {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		if read := jobs[i].Read; len(read) > 0 && !isSealed(read) {
			continue
		}
		var err error
		if jobs[i].Body, err = s.sealBody(holderOf(queue, jobs[i].ID), jobs[i].Body); err != nil {
			return nil, err
		}
	}
	return s.Store.RequeueJobs(ctx, queue, jobs)
}

// FindJobs opens the jobs.
func (s *Store) FindJobs(ctx context.Context, queue string, ids []string) ([]protocol.FoundJob, error) {
	found, err := s.Store.FindJobs(ctx, queue, ids)
	for i := range found {
		s.openFound(queue, &found[i])
	}
	return found, err
}

// PageJobs opens the jobs. The store cannot leave out jobs by their errors, because it would leave out all sealed ones.
func (s *Store) PageJobs(ctx context.Context, call protocol.JobPageCall) (protocol.JobPage, error) {
	call.Error = ""
	page, err := s.Store.PageJobs(ctx, call)
	for i := range page.Jobs {
		s.openFound(cmp.Or(page.Jobs[i].Queue, call.Queue), &page.Jobs[i])
	}
	return page, err
}

// openFound opens a job for people. Each part that cannot be opened remains sealed; Refused is the reason for one of them.
func (s *Store) openFound(queue string, f *protocol.FoundJob) {
	reader := s.sealer
	reader.required = false
	note := func(err error) {
		if err != nil {
			f.Refused = s.refused(err)
		}
	}
	if isSealed(f.Body) {
		body, err := reader.openBody(holderOf(queue, f.ID), f.Body)
		f.Opened = body
		note(err)
	}
	if len(f.Body) == 0 && len(f.Definition) > 0 {
		name, _, _ := schedule.SplitOccurrence(f.ID)
		plain, sealed, err := s.openDefinition(name, f.Definition)
		f.Definition = plain
		note(err)
		if !sealed {
			f.Refused = s.plain()
		}
	}
	if sealed, ok := wire.CutSealedProgress(f.Progress); ok {
		plain, err := s.open(kindProgress, place{queue, f.ID}, sealed)
		if err == nil {
			f.Progress = plain
		}
		note(err)
	}
	if len(f.Result) > 0 {
		body, err := s.openResult(place{queue, f.ID}, f.Result)
		if err == nil {
			f.Result = body
		}
		note(err)
	}
}
